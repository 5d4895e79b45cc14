package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto/launcher/desk"
	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
)

// heard are the events of a request, shortened: kind, device and what matters of the rest.
type heard struct{ events []Event }

func (h *heard) add(e Event) { h.events = append(h.events, e) }

func (h *heard) short() (lines []string) {
	for _, e := range h.events {
		line := string(e.Kind)
		if e.Device != "" {
			line += " " + e.Device
		}
		switch {
		case e.Info != nil:
			line += fmt.Sprintf(" connected=%v running=%v", e.Info.Connected, e.Info.Running)
		case e.Result != nil:
			line += fmt.Sprintf(" %s ok=%v", e.Result.Do, e.Result.OK)
		case e.Log != nil:
			line += " " + e.Log.Level + " " + e.Log.Source + " " + e.Log.Text
		}
		lines = append(lines, line)
	}
	return lines
}

func (h *heard) has(t *testing.T, want ...string) {
	t.Helper()
	for _, line := range want {
		if !slices.Contains(h.short(), line) {
			t.Errorf("not heard: %s\nbut:\n%s", line, strings.Join(h.short(), "\n"))
		}
	}
}

// faultIs checks how a request ended.
func faultIs(t *testing.T, err error, want Fault, text string) {
	t.Helper()
	var f *Failure
	if want == FaultNone {
		if err != nil {
			t.Errorf("failed: %v", err)
		}
		return
	}
	if !errors.As(err, &f) || f.Fault != want || !strings.Contains(f.Text, text) {
		t.Errorf("got %v, want %s with %q", err, want, text)
	}
}

func TestPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := newFake(t, "a", "b")
		var h heard
		faultIs(t, s.Do(t.Context(), Request{Do: VerbPush}, h.add), FaultNone, "")
		h.has(t, "desk", "device a@10.0.0.1 connected=true running=false", "result a@10.0.0.1 push ok=true", "result b@10.0.0.1 push ok=true", "pushed push ok=true")
		if got := d.calls(); !slices.Equal(got, []string{"push a@10.0.0.1 b@10.0.0.1"}) {
			t.Errorf("did %q", got)
		}
	})
}

func TestPushToOneOfTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := newFake(t, "a", "b")
		faultIs(t, s.Do(t.Context(), Request{Do: VerbPush, Devices: []string{"b"}}, func(Event) {}), FaultNone, "")
		if got := d.calls(); !slices.Equal(got, []string{"push b@10.0.0.1"}) {
			t.Errorf("did %q", got)
		}
	})
}

func TestPushThatFailsOnOneDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := newFake(t, "a", "b")
		d.pushed = func(desk.PushOptions) (desk.PushResult, error) {
			return desk.PushResult{
				Devices:  []desk.DeviceResult{{Device: "a@10.0.0.1"}, {Device: "b@10.0.0.1", Err: errors.New("disk full")}},
				Problems: []tree.PathProblem{{Path: "link", Err: errors.New("leads out")}},
			}, nil
		}
		var h heard
		faultIs(t, s.Do(t.Context(), Request{Do: VerbPush}, h.add), FaultDevice, "did not reach b@10.0.0.1")
		h.has(t, "problem", "result a@10.0.0.1 push ok=true", "result b@10.0.0.1 push ok=false", "pushed push ok=false")
	})
}

// A game that was started with a push is followed until it has ended, with its last words.
func TestPushStartsAndFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := newFake(t, "a", "b")
		go func() {
			time.Sleep(time.Minute)
			d.log("a@10.0.0.1", "late")
			d.run("a@10.0.0.1", false)
			time.Sleep(time.Minute)
			d.run("b@10.0.0.1", false)
			d.log("b@10.0.0.1", "last words")
		}()
		var h heard
		faultIs(t, s.Do(t.Context(), Request{Do: VerbPush, Launch: &Launch{}, Follow: true}, h.add), FaultNone, "")
		h.has(t, "device a@10.0.0.1 connected=true running=true", "log a@10.0.0.1 warning Game late", "log b@10.0.0.1 warning Game last words",
			"device b@10.0.0.1 connected=true running=false")
	})
}

func TestGameThatEndsBadly(t *testing.T) {
	for _, test := range []struct {
		end   wire.RunEnd
		fault Fault
	}{
		{wire.RunEnd{Exit: 1, Text: "crashed after 1s"}, FaultGame}, {wire.RunEnd{Exit: -1, Text: "was stopped"}, FaultNone}, {wire.RunEnd{}, FaultNone},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, d := newFake(t, "a", "b")
			d.end = test.end
			go func() {
				time.Sleep(time.Minute)
				d.run("a@10.0.0.1", false)
				d.change(func(infos []desk.DeviceInfo) []desk.DeviceInfo { infos[1].Running = false; return infos })
			}()
			err := s.Do(t.Context(), Request{Do: VerbPush, Launch: &Launch{}, Follow: true}, func(Event) {})
			faultIs(t, err, test.fault, "did not end well on a@10.0.0.1: it crashed after 1s;")
		})
	}
}

func TestInterruptedPushStopsWhatItStarted(t *testing.T) {
	for _, stop := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, d := newFake(t, "a")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var h heard
			err := s.Do(ctx, Request{Do: VerbPush, Launch: &Launch{}, Follow: true, StopAtEnd: stop}, h.add)
			faultIs(t, err, FaultNone, "") // all that was asked for has been done
			if got := slices.Contains(d.calls(), "stop a@10.0.0.1"); got != stop {
				t.Errorf("stopped %v, want %v", got, stop)
			}
			h.has(t, "note")
			if stop {
				h.has(t, "result a@10.0.0.1 stop ok=true", "device a@10.0.0.1 connected=true running=false")
			}
		})
	}
}

// An interrupt is a failure where something was left undone.
func TestInterruptedBeforeTheEnd(t *testing.T) {
	for name, test := range map[string]struct {
		push, stop error
		want       Fault
	}{
		"while files are sent": {push: context.Canceled, want: FaultCancelled},
		"a game that hangs":    {stop: errors.New("it hangs"), want: FaultDevice},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, d := newFake(t, "a")
				d.stopped = func(string) error { return test.stop }
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if test.push != nil {
					d.pushed = func(desk.PushOptions) (desk.PushResult, error) {
						cancel()
						return desk.PushResult{Devices: []desk.DeviceResult{{Device: "a@10.0.0.1", Err: test.push}}}, test.push
					}
				}
				err := s.Do(ctx, Request{Do: VerbPush, Launch: &Launch{}, Follow: true, StopAtEnd: true}, func(Event) {})
				faultIs(t, err, test.want, "")
			})
		})
	}
}

func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := newFake(t, "a", "b")
		d.started = func(id string) error {
			if id == "b@10.0.0.1" {
				return &desk.StartTimeoutError{Device: id, After: time.Second, Lines: []desk.LogLine{{Text: "no module"}}}
			}
			return nil
		}
		var h heard
		faultIs(t, s.Do(t.Context(), Request{Do: VerbStart, Launch: &Launch{Profile: "p"}}, h.add), FaultNotStarted, "did not start on b@10.0.0.1")
		h.has(t, "result a@10.0.0.1 start ok=true", "result b@10.0.0.1 start ok=false")
	})
}

func TestFaultsOfDevices(t *testing.T) {
	for err, want := range map[error]Fault{
		&desk.StartTimeoutError{}: FaultNotStarted, &desk.DeviceError{Op: "start"}: FaultNotStarted, desk.ErrRunning: FaultNotStarted,
		context.Canceled: FaultCancelled, &desk.DeviceError{Op: "write"}: FaultDevice, desk.ErrDeviceGone: FaultDevice,
	} {
		if got := faultOf(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := newFake(t, "a", "b")
		d.stopped = func(id string) error {
			if id == "b@10.0.0.1" {
				return errors.New("it hangs")
			}
			return nil
		}
		faultIs(t, s.Do(t.Context(), Request{Do: VerbStop}, func(Event) {}), FaultDevice, "may still run on b@10.0.0.1")
	})
}

// A start without a description takes that of the working copy.
func TestStartMakesADescription(t *testing.T) {
	s, _ := newFake(t, "a")
	r := Request{Do: VerbStart, Launch: &Launch{}}
	if err := s.describe(&r); err != nil || !strings.Contains(r.Launch.Config, "<degame>") {
		t.Errorf("got %q, %v", r.Launch.Config, err)
	}
	r.Launch = &Launch{Config: "mine"}
	if err := s.describe(&r); err != nil || r.Launch.Config != "mine" {
		t.Errorf("got %q, %v", r.Launch.Config, err)
	}
}

func TestWaitingForDevices(t *testing.T) {
	tests := []struct {
		name  string
		r     Request
		comes []string // one a second
		fault Fault
		text  string
	}{
		{"one comes", Request{Wait: 5 * time.Second}, []string{"a"}, FaultNone, ""},
		{"none connects", Request{Wait: 5 * time.Second}, nil, FaultNoDevice, "no device came to"},
		{"no waiting", Request{}, []string{"a"}, FaultNoDevice, "no device came"},
		{"the named one comes", Request{Wait: 5 * time.Second, Devices: []string{"b"}}, []string{"a", "b"}, FaultNone, ""},
		{"another one comes", Request{Wait: 5 * time.Second, Devices: []string{"b"}}, []string{"a"}, FaultNoDevice, "not every device came of b"},
		{"one of two", Request{Wait: 5 * time.Second, Devices: []string{"a", "b"}}, []string{"a"}, FaultNoDevice, "there are only a@10.0.0.1"},
		{"two", Request{Wait: 5 * time.Second, AtLeast: 2}, []string{"a", "b"}, FaultNone, ""},
		{"not two", Request{Wait: 5 * time.Second, AtLeast: 2}, []string{"a"}, FaultNoDevice, "not enough devices"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, d := newFake(t)
				go func() {
					for _, name := range test.comes {
						time.Sleep(time.Second)
						d.change(func(infos []desk.DeviceInfo) []desk.DeviceInfo {
							return append(infos, desk.DeviceInfo{ID: name + "@10.0.0.1", Name: name, Connected: true})
						})
					}
				}()
				test.r.Do = VerbPush
				faultIs(t, s.Do(t.Context(), test.r, func(Event) {}), test.fault, test.text)
				time.Sleep(time.Minute) // for late devices
			})
		})
	}
}

// A desk that lives for one request waits for further devices before it begins.
func TestOwnDeskGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := newFake(t, "a")
		s.options.Own = true
		go func() {
			time.Sleep(gather / 2)
			d.change(func(infos []desk.DeviceInfo) []desk.DeviceInfo {
				return append(infos, desk.DeviceInfo{ID: "b@10.0.0.1", Name: "b", Connected: true})
			})
		}()
		faultIs(t, s.Do(t.Context(), Request{Do: VerbPush, Wait: time.Minute}, func(Event) {}), FaultNone, "")
		if got := d.calls(); !slices.Equal(got, []string{"push a@10.0.0.1 b@10.0.0.1"}) {
			t.Errorf("did %q", got)
		}
	})
}

func TestWatch(t *testing.T) {
	for _, test := range []struct {
		name string
		r    Request
		want []string
	}{
		{"push only", Request{}, []string{"push a@10.0.0.1", "push a@10.0.0.1", "push a@10.0.0.1"}},
		{"start once", Request{Launch: &Launch{}, StopAtEnd: true},
			[]string{"push a@10.0.0.1", "start a@10.0.0.1", "push a@10.0.0.1", "push a@10.0.0.1", "stop a@10.0.0.1"}},
		{"restart", Request{Launch: &Launch{}, Restart: true}, []string{"push a@10.0.0.1", "push a@10.0.0.1", "push a@10.0.0.1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, d := newFake(t, "a")
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					for range 2 {
						time.Sleep(time.Minute)
						d.changes <- struct{}{}
					}
					time.Sleep(time.Minute)
					cancel()
				}()
				test.r.Do = VerbWatch
				err := s.Do(ctx, test.r, func(Event) {})
				faultIs(t, err, FaultCancelled, "interrupted")
				if got := d.calls(); !slices.Equal(got, test.want) {
					t.Errorf("did %q, want %q", got, test.want)
				}
			})
		})
	}
}

// A device that comes while a watch goes on gets everything, too, and its game is started once.
func TestWatchServesWhoComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := newFake(t, "a")
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Minute)
			d.change(func(infos []desk.DeviceInfo) []desk.DeviceInfo {
				return append(infos, desk.DeviceInfo{ID: "b@10.0.0.1", Name: "b", Connected: true})
			})
			for range 2 {
				d.changes <- struct{}{}
				time.Sleep(time.Minute)
			}
			cancel()
		}()
		faultIs(t, s.Do(ctx, Request{Do: VerbWatch, Launch: &Launch{}, StopAtEnd: true}, func(Event) {}), FaultCancelled, "interrupted")
		want := []string{"push a@10.0.0.1", "start a@10.0.0.1", "push a@10.0.0.1 b@10.0.0.1", "start b@10.0.0.1", "push a@10.0.0.1 b@10.0.0.1", "stop a@10.0.0.1 b@10.0.0.1"}
		if got := d.calls(); !slices.Equal(got, want) {
			t.Errorf("did %q, want %q", got, want)
		}
	})
}

func TestLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := newFake(t, "a")
		for i := range 5 {
			d.tail = append(d.tail, desk.LogLine{Device: "a@10.0.0.1", Source: "Game", Text: fmt.Sprint(i)})
		}
		var h heard
		faultIs(t, s.Do(t.Context(), Request{Do: VerbLogs, Tail: 2}, h.add), FaultNone, "")
		if got := h.short(); !slices.Equal(got, []string{"desk", "log a@10.0.0.1 info Game 3", "log a@10.0.0.1 info Game 4"}) {
			t.Errorf("heard %q", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() {
			time.Sleep(time.Second)
			d.log("a@10.0.0.1", "new")
			d.change(func([]desk.DeviceInfo) []desk.DeviceInfo { return nil })
		}()
		faultIs(t, s.Do(ctx, Request{Do: VerbLogs, Follow: true}, h.add), FaultOther, "deadline")
		h.has(t, "log a@10.0.0.1 warning Game new", "device a@10.0.0.1 connected=false running=false")
	})
}

func TestDevices(t *testing.T) {
	s, _ := newFake(t, "a", "b")
	var h heard
	faultIs(t, s.Do(t.Context(), Request{Do: VerbDevices}, h.add), FaultNone, "")
	if len(h.events) != 3 || h.events[1].Info.Name != "a" || h.events[2].Info.Name != "b" {
		t.Errorf("heard %q", h.short())
	}
}

func TestRequestsThatMakeNoSense(t *testing.T) {
	s, _ := newFake(t, "a")
	for _, test := range []struct {
		r    Request
		want string
	}{
		{Request{Do: "dance"}, `does not know "dance"`}, {Request{Do: VerbPush, Root: "/elsewhere"}, "and not /elsewhere"},
		{Request{Do: VerbStart}, "does not say how"},
	} {
		faultIs(t, s.Do(t.Context(), test.r, func(Event) {}), FaultUsage, test.want)
	}
}

func TestIsLocal(t *testing.T) {
	for address, want := range map[string]bool{
		"localhost": true, "LOCALHOST:1": true, "127.0.0.1": true, "127.9.9.9:3413": true, "[::1]:3413": true, "::1": true,
		"": false, "*": false, "0.0.0.0": false, ":3413": false, "192.168.1.7:3413": false, "desk.example": false, "[::]:1": false,
		"localhost.example:1": false,
	} {
		if got := IsLocal(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
	home, err := OpenHome(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(Options{Root: t.TempDir(), Home: home, Address: "0.0.0.0:0"})
	faultIs(t, err, FaultUsage, "--network")
}
