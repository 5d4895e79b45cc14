package device_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto/den"
	"collet/netproto/launcher/device"
	"collet/netproto/launcher/launchertest"
	"collet/netproto/launcher/wire"
	"collet/platform/faultfs"
)

// bubble runs a test in a bubble of time, with a device on a volume in memory.
func bubble(t *testing.T, o setting, test func(t *testing.T, o setting)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.fsys = faultfs.New(faultfs.Config{}).Open(faultfs.Options{})
		if o.name == "" {
			o.name = "Lab"
		}
		test(t, o)
	})
}

// link links the run state as a desk does, with its initial value, and returns the value the device shares.
func (d *deskEnd) link() *den.State {
	d.conn.mu.Lock()
	defer d.conn.mu.Unlock()
	return d.conn.accept([]byte{wire.LinkRunState})
}

func TestGreeting(t *testing.T) {
	bubble(t, setting{}, func(t *testing.T, o setting) {
		desk := connectDevice(t, o)
		if m := expectMessage[*wire.ConnectRequest](desk); *m != (wire.ConnectRequest{Name: "Lab"}) {
			t.Errorf("the device greets with %+v", m)
		}
		desk.say(&wire.KeepAlive{}, &wire.RequestFileLayout{})
		if m := desk.hearAny(2 * time.Minute); m != nil {
			t.Errorf("before it was accepted the device says %T", m)
		}
		if s := desk.device.Status(); s.Connection != device.ConnectionGreeting {
			t.Errorf("status %+v", s)
		}
		desk.say(&wire.ConnectAccepted{}, &wire.RequestFileLayout{})
		expectMessage[*wire.ResponseFileLayout](desk)
		if s := desk.device.Status(); s.Connection != device.ConnectionUp || s.Desk != "127.0.0.1:3413" || s.Own {
			t.Errorf("status %+v", s)
		}
	})
}

func TestGreetingOfAnotherProgram(t *testing.T) {
	for name, answer := range map[string]string{"another signature": "\x02DERemLaunchSrv-1\x00\x00\x00\x00", "too short": "\x02DERemLaunchSrv-0"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setting{}, func(t *testing.T, o setting) {
				desk := connectDevice(t, o)
				expectMessage[*wire.ConnectRequest](desk)
				desk.conn.toDevice <- []byte(answer)
				<-desk.conn.over
				synctest.Wait()
				if s := desk.device.Status(); s.Connection == device.ConnectionUp || !strings.Contains(s.Problem, "no remote launcher desk") {
					t.Errorf("status %+v", s)
				}
			})
		})
	}
}

func TestGreetingWithoutAnswer(t *testing.T) {
	bubble(t, setting{}, func(t *testing.T, o setting) {
		desk := connectDevice(t, o)
		begun := time.Now()
		<-desk.conn.over
		if took := time.Since(begun); took != 3*time.Minute {
			t.Errorf("the device waited for %v", took)
		}
	})
}

// TestFeatures: our own mode needs the transport, the dialect and both features.
func TestFeatures(t *testing.T) {
	for _, c := range []struct {
		protocol uint16
		dialect  wire.Dialect
		want     wire.Features
	}{
		{den.ProtocolRelease, wire.Released, 0},
		{den.ProtocolCollet, wire.Released, wire.FeatureCollet},
		{den.ProtocolCollet, wire.Draft, 0},
	} {
		bubble(t, setting{protocol: c.protocol, dialect: c.dialect}, func(t *testing.T, o setting) {
			desk := connectDevice(t, o)
			if m := expectMessage[*wire.ConnectRequest](desk); m.SupportedFeatures != c.want {
				t.Errorf("%+v: features %x", c, m.SupportedFeatures)
			}
			desk.say(&wire.ConnectAccepted{EnabledFeatures: 1<<32 - 1})
			synctest.Wait()
			if own := desk.device.Status().Own; own != (c.want != 0) {
				t.Errorf("%+v: own mode %v", c, own)
			}
		})
	}
}

// TestKeepAlive: ten seconds after the last message of the desk, whatever the device says itself.
func TestKeepAlive(t *testing.T) {
	bubble(t, setting{}, func(t *testing.T, o setting) {
		desk := greeted(t, o)
		begun := time.Now()
		next := func() time.Duration {
			for {
				if _, is := desk.hearAny(time.Hour).(*wire.KeepAlive); is {
					return time.Since(begun)
				}
			}
		}
		for want := 10 * time.Second; want < time.Minute; want += 10 * time.Second {
			if at := next(); at != want {
				t.Errorf("keep-alive after %v, want %v", at, want)
			}
		}
		time.Sleep(4 * time.Second)
		desk.say(&wire.KeepAlive{})
		desk.device.Say(device.Line{Text: "own words do not count"})
		begun = time.Now()
		if at := next(); at != 10*time.Second {
			t.Errorf("keep-alive %v after a message", at)
		}
	})
}

// TestReconnect: for ever, and never more than two seconds apart.
func TestReconnect(t *testing.T) {
	bubble(t, setting{}, func(t *testing.T, o setting) {
		dev, err := device.New(device.Options{FS: o.fsys, Name: "d"})
		if err != nil {
			t.Fatal(err)
		}
		desk := &deskEnd{t: t, device: dev}
		var at []time.Time
		conns := make(chan *memConn, 1)
		away := errors.New("the desk is away")
		desk.runWith(func(context.Context) (device.Conn, error) {
			if at = append(at, time.Now()); len(at)%8 != 0 {
				return nil, away
			}
			conn := newMemConn(0)
			conns <- conn
			return conn, nil
		})
		for range 3 {
			desk.conn = <-conns
			desk.greet()
			time.Sleep(time.Minute)
			if s := dev.Status(); s.Connection != device.ConnectionUp || s.Problem != "" {
				t.Errorf("status %+v", s)
			}
			desk.conn.Abort()
			time.Sleep(time.Second / 2)
			if s := dev.Status(); s.Connection != device.ConnectionAway || s.Problem == "" {
				t.Errorf("status %+v", s)
			}
		}
		if err := dev.Run(t.Context(), nil); !errors.Is(err, device.ErrBusy) {
			t.Errorf("a second Run: %v", err)
		}
		desk.stop()
		for i := 1; i < len(at); i++ {
			if pause := at[i].Sub(at[i-1]); pause > 2*time.Second && i%8 != 0 {
				t.Errorf("attempt %d came after %v", i, pause)
			}
		}
		if first := at[1].Sub(at[0]); first > 100*time.Millisecond {
			t.Errorf("the second attempt came after %v", first)
		}
		if s := dev.Status(); s.Connection != device.ConnectionStopped {
			t.Errorf("status %+v", s)
		}
	})
}

// TestRunState: the link tells the truth after linkUp, after each change, and again.
func TestRunState(t *testing.T) {
	apps := &launchertest.FakeLauncher{Says: []device.Line{{Source: "FakeApp", Text: "log line 0"}}}
	bubble(t, setting{launcher: apps}, func(t *testing.T, o setting) {
		desk := greeted(t, o)
		state := desk.link()
		value := func() uint64 { return state.Get(0).Unsigned(0) }
		settle := func() { time.Sleep(5 * time.Second) }
		if settle(); value() != 0 {
			t.Error("stopped is not 0")
		}
		desk.say(&wire.StartApplication{GameConfig: "<degame/>", ProfileName: "Low", Arguments: "-x 1"})
		if m, is := desk.hearAny(time.Second).(*wire.Logs); !is || m.Source != "FakeApp" || m.Message != "log line 0" || m.Level != wire.LevelInfo {
			t.Errorf("the line is %+v", m)
		}
		if settle(); value() != 1 {
			t.Error("running is not 1")
		}
		if want := []device.StartRequest{{GameConfig: "<degame/>", Profile: "Low", Arguments: "-x 1"}}; !reflect.DeepEqual(apps.Requests, want) {
			t.Errorf("started %+v", apps.Requests)
		}
		again := desk.link() // the desk's initial value 0 overwrote ours
		if settle(); again.Get(0).Unsigned(0) != 1 {
			t.Error("a new link does not learn that it runs")
		}
		state = again
		desk.say(&wire.StartApplication{})
		if settle(); len(apps.Requests) != 1 {
			t.Error("a second application was started")
		}
		desk.say(&wire.StopApplication{Mode: wire.StopAsk})
		if settle(); value() != 0 || apps.Last().Asked != 1 {
			t.Errorf("after stop the value is %d", value())
		}
		apps.Stubborn = true
		desk.say(&wire.StartApplication{})
		settle()
		desk.say(&wire.StopApplication{Mode: wire.StopAsk})
		if settle(); value() != 1 || desk.device.Status().Run != device.PhaseStopping {
			t.Errorf("a stubborn one: value %d, %s", value(), desk.device.Status().Run)
		}
		desk.say(&wire.StopApplication{Mode: wire.StopKill})
		if settle(); value() != 0 || desk.device.Status().Run != device.PhaseStopped {
			t.Error("a killed one runs")
		}
	})
}

// TestStartThatFails shows in the log, and the run state stays.
func TestStartThatFails(t *testing.T) {
	apps := &launchertest.FakeLauncher{Refuse: errors.New("no pathConfig: add it to the game")}
	for _, l := range []device.Launcher{apps, nil} {
		bubble(t, setting{launcher: l}, func(t *testing.T, o setting) {
			desk := greeted(t, o)
			state := desk.link()
			desk.say(&wire.StartApplication{})
			m, is := desk.hearAny(time.Second).(*wire.Logs)
			if !is || m.Level != wire.LevelError || !strings.HasPrefix(m.Message, "start: ") {
				t.Errorf("told as %+v", m)
			}
			if time.Sleep(time.Second); state.Get(0).Unsigned(0) != 0 {
				t.Error("it runs")
			}
		})
	}
}

// TestStopByHand asks, and kills after five seconds; the end of the device does so, too.
func TestStopByHand(t *testing.T) {
	apps := &launchertest.FakeLauncher{Stubborn: true}
	bubble(t, setting{launcher: apps}, func(t *testing.T, o setting) {
		desk := greeted(t, o)
		for _, stop := range []func(){desk.device.Stop, desk.stop} {
			if err := desk.device.Start(device.StartRequest{Profile: "Low"}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := desk.device.Start(device.StartRequest{}); !errors.Is(err, device.ErrBusy) {
				t.Errorf("a second one: %v", err)
			}
			begun := time.Now()
			stop()
			<-apps.Last().Done()
			if took := time.Since(begun); took != 5*time.Second || apps.Last().Asked != 1 {
				t.Errorf("ended after %v, asked %d times", took, apps.Last().Asked)
			}
			synctest.Wait()
		}
		if r, known := desk.device.LastStart(); !known || r.Profile != "Low" {
			t.Errorf("last start %+v", r)
		}
		if err := desk.device.Start(device.StartRequest{}); err == nil {
			t.Error("a device that ended starts something")
		}
	})
}

// TestKillByHand ends what runs at once, and leaves what does not run alone.
func TestKillByHand(t *testing.T) {
	apps := &launchertest.FakeLauncher{Stubborn: true}
	bubble(t, setting{launcher: apps}, func(t *testing.T, o setting) {
		desk := greeted(t, o)
		desk.device.Kill()
		desk.device.Stop()
		if err := desk.device.Start(device.StartRequest{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		desk.device.Kill()
		synctest.Wait()
		if s := desk.device.Status(); s.Run != device.PhaseStopped || apps.Last().Asked != 0 {
			t.Errorf("%s, asked %d times", s.Run, apps.Last().Asked)
		}
	})
}

// TestStopWhileStarting gives the attempt up, and says so.
func TestStopWhileStarting(t *testing.T) {
	bubble(t, setting{launcher: &launchertest.FakeLauncher{Slow: true}}, func(t *testing.T, o setting) {
		desk := greeted(t, o)
		desk.say(&wire.StartApplication{}, &wire.StopApplication{})
		if m, is := desk.hearAny(time.Second).(*wire.Logs); !is || m.Message != "start: it was stopped before it ran: start it again" {
			t.Errorf("told as %+v", m)
		}
	})
}
