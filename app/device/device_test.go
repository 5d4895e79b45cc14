package device

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/app/splash"
	"collet/app/supervise"
	"collet/assets"
	"collet/netproto/launcher/device"
	"collet/netproto/launcher/wire"
	"collet/platform"
	"collet/runtime/abi"
)

func TestLinkOfADevice(t *testing.T) {
	for _, test := range []struct {
		s    device.Status
		want splash.RemoteLink
	}{
		{device.Status{Connection: device.ConnectionDialing}, splash.RemoteDialing},
		{device.Status{Connection: device.ConnectionAway, Problem: "x"}, splash.RemoteAway},
		{device.Status{Connection: device.ConnectionDialing, Problem: "x"}, splash.RemoteAway},
		{device.Status{Connection: device.ConnectionGreeting, Problem: "x"}, splash.RemoteGreeting},
		{device.Status{Connection: device.ConnectionUp, Problem: "x"}, splash.RemoteConnected},
		{device.Status{Connection: device.ConnectionStopped}, splash.RemoteEnding},
	} {
		if got := linkOf(test.s); got != test.want {
			t.Errorf("%+v: %s, want %s", test.s, got, test.want)
		}
	}
}

// lines are log lines with these texts, each its own.
func lines(texts ...string) (log []device.Line) {
	for i, text := range texts {
		log = append(log, device.Line{Time: time.Unix(int64(i), 0), Text: text})
	}
	return log
}

func TestFreshLinesOfALog(t *testing.T) {
	var c lineCounter
	all := lines("a", "b", "c", "d", "e", "f")
	for i, test := range []struct {
		log  []device.Line
		want int
		seen uint64
	}{
		{nil, 0, 0}, {all[:2], 2, 2}, {all[:2], 0, 2}, {all[:4], 2, 4}, {all[2:5], 1, 5}, {all[5:], 1, 6}, {all[5:], 0, 6},
	} {
		if fresh := c.count(test.log); len(fresh) != test.want || c.seen != test.seen {
			t.Errorf("step %d: %d fresh, %d seen; want %d, %d", i, len(fresh), c.seen, test.want, test.seen)
		}
	}
}

func TestRateOfBytes(t *testing.T) {
	var m rateMeter
	begin := time.Unix(1000, 0)
	for _, step := range []struct {
		after time.Duration
		bytes uint64
		want  int64
	}{
		{0, 0, 0}, {500 * time.Millisecond, 1000, 0}, {time.Second, 4000, 4000}, {1500 * time.Millisecond, 9000, 4000}, {3 * time.Second, 8000, 2000},
		{4 * time.Second, 0, 0}, // the next push counts anew
	} {
		if got := m.of(step.bytes, begin.Add(step.after)); got != step.want {
			t.Errorf("after %s: %d, want %d", step.after, got, step.want)
		}
	}
}

// stillDevice is a device in which nothing happens.
type stillDevice struct{ status device.Status }

func (d stillDevice) Status() device.Status { return d.status }
func (d stillDevice) Watch(context.Context) <-chan struct{} {
	ticks := make(chan struct{})
	close(ticks)
	return ticks
}
func (d stillDevice) shown() (name, address string) { return "Box", "desk:1" }

func TestStatusForTheWindow(t *testing.T) {
	w := &watcher{now: time.Now, device: stillDevice{device.Status{
		Connection: device.ConnectionUp, Activity: device.ActivityReceiving, File: "a", FileDone: 1, FileTotal: 2, Files: 3, FilesTotal: 4, Bytes: 5,
		BytesTotal: 6, Run: device.PhaseRunning, RunSince: time.Unix(9, 0), Log: []device.Line{{Level: 9, Source: "Game", Text: "x"}},
	}}}
	got := w.Status()
	if got.Name != "Box" || got.Desk != "desk:1" || got.File != "a" || got.Done != 1 || got.Size != 2 || got.Files != 3 || got.FilesAll != 4 || got.Bytes != 5 ||
		got.BytesAll != 6 || got.Run != splash.RemoteRunning || got.Checking || got.Seen != 1 || !slices.Equal(got.Lines, []splash.RemoteLine{{Level: splash.RemoteError, Source: "Game", Text: "x"}}) {
		t.Errorf("got %+v", got)
	}
	if _, open := <-w.Watch(t.Context()); open {
		t.Error("the device's own ticks are not passed on")
	}
}

func TestDeviceInATerminal(t *testing.T) {
	d := &session{opt: Options{Texts: assets.TextsFor("en"), Name: "Box", Desk: "desk:1"}, copy: "/copy"}
	for _, form := range []bool{false, true} {
		var out bytes.Buffer
		now := time.Unix(0, 0).UTC()
		p := &terminal{device: d, out: &out, json: form, now: func() time.Time { return now }}
		p.begin()
		s := device.Status{Connection: device.ConnectionUp, Run: device.PhaseStopped}
		p.show(s)
		p.show(s) // the same again is not told
		for i := range 50 {
			s.Activity, s.File, s.Files = device.ActivityReceiving, strings.Repeat("x", i+1), i
			now = now.Add(100 * time.Millisecond)
			p.show(s)
		}
		s.Log = lines("hello")
		s.Activity, s.Run = device.ActivityNone, device.PhaseRunning
		p.show(s)
		printed := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(printed) > 10 {
			t.Errorf("%d lines:\n%s", len(printed), &out)
		}
		if !form {
			if !strings.Contains(out.String(), "Device Box of the desk at desk:1; the working copy is in /copy") || !strings.Contains(out.String(), "hello") || !strings.Contains(out.String(), "The game runs") {
				t.Errorf("printed:\n%s", &out)
			}
			continue
		}
		for _, object := range printed {
			var l line
			if err := json.Unmarshal([]byte(object), &l); err != nil || l.Time.IsZero() {
				t.Errorf("%s: %v", object, err)
			}
		}
		if !strings.Contains(out.String(), `"log":{"level":"info","source":"","text":"hello"}`) || !strings.Contains(out.String(), `"run":"running"`) {
			t.Errorf("printed:\n%s", &out)
		}
	}
}

func TestLookingForADeskIsToldOnce(t *testing.T) {
	var out bytes.Buffer
	p := &terminal{device: &session{opt: Options{Texts: assets.TextsFor("en"), Desk: "desk:1"}}, out: &out, now: time.Now}
	for range 20 {
		p.show(device.Status{Connection: device.ConnectionDialing, Problem: "no answer", Run: device.PhaseStopped})
		p.show(device.Status{Connection: device.ConnectionAway, Problem: "no answer", Run: device.PhaseStopped})
	}
	if n := strings.Count(out.String(), "\n"); n != 1 {
		t.Errorf("%d lines:\n%s", n, &out)
	}
}

func TestEndsOfRuns(t *testing.T) {
	result := func(kind abi.ResultKind, success bool) *abi.Result { return &abi.Result{Kind: kind, Success: success} }
	for _, test := range []struct {
		exit  supervise.Exit
		want  wire.RunEnd
		crash string
	}{
		{supervise.Exit{Result: result(abi.Shutdown, true), Loaded: true, Ran: 1500 * time.Millisecond, ProcessEnd: platform.ProcessEnd{Code: supervise.ExitServed}},
			wire.RunEnd{Exit: runWell, Text: "shut down after 1.5s"}, ""},
		{supervise.Exit{Result: result(abi.Shutdown, false), Loaded: true, ProcessEnd: platform.ProcessEnd{Code: supervise.ExitServed}},
			wire.RunEnd{Exit: runBadly, Text: "shut down without success after 0s"}, ""},
		{supervise.Exit{Result: result(abi.FatalError, false), Loaded: true, Ready: true, ProcessEnd: platform.ProcessEnd{Code: supervise.ExitServed}},
			wire.RunEnd{Exit: runBadly, Text: "reported a fatal error after 0s"}, "the game reported a fatal error"},
		{supervise.Exit{Loaded: true, Ready: true, Ran: time.Second, ProcessEnd: platform.ProcessEnd{Code: -1, Signal: "SIGSEGV", Meaning: "segmentation fault"}},
			wire.RunEnd{Exit: runBadly, Text: "crashed after 1s"}, "the game crashed: it ended by signal SIGSEGV (segmentation fault)"},
		{supervise.Exit{Loaded: true, Ready: true, Ran: time.Second, ProcessEnd: platform.ProcessEnd{Code: -1, Killed: true}},
			wire.RunEnd{Exit: runUnknown, Text: "was stopped after 1s"}, ""},
	} {
		end, crash := endOf(test.exit)
		if end != test.want || crash != test.crash {
			t.Errorf("got %+v, %q; want %+v, %q", end, crash, test.want, test.crash)
		}
	}
}

func TestDescriptionOfAnEarlierProcess(t *testing.T) {
	d := &session{own: t.TempDir(), opt: Options{Log: zerolog.Nop()}}
	if got := d.lastConfig(); got != "" {
		t.Errorf("no run yet, and it is %q", got)
	}
	putFile(t, filepath.Join(d.own, gameConfigFile), []byte("<degame/>"))
	if got := d.lastConfig(); got != "<degame/>" {
		t.Errorf("got %q", got)
	}
	if err := os.Truncate(filepath.Join(d.own, gameConfigFile), wire.MaxText+1); err != nil {
		t.Fatal(err)
	}
	if got := d.lastConfig(); got != "" {
		t.Errorf("one that is too long is %d bytes", len(got))
	}
}

func putFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
