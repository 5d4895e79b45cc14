package desk_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/netproto/den"
	"collet/netproto/launcher/desk"
	"collet/netproto/launcher/device"
	"collet/netproto/launcher/launchertest"
	"collet/netproto/launcher/wire"
	"collet/platform/testlevel"
	"collet/platform/testwait"
)

// TestDeskWithOwnDevice in our own mode, and with our device as a released one.
func TestDeskWithOwnDevice(t *testing.T) {
	for name, protocols := range map[string][]uint16{"own": nil, "released": {den.ProtocolRelease}} {
		t.Run(name, func(t *testing.T) {
			b := newDeskBench(t, desk.Options{}, story[0])
			data := t.TempDir()
			tree{"a.txt": "jello\n", "old.txt": "x"}.write(t, data)
			b.own(device.Options{Root: data, Name: "Own", Launcher: &launchertest.FakeLauncher{}}, protocols...)
			if got := b.untilConnected(1)[0].Own; got != (name == "own") {
				t.Errorf("own mode: %v", got)
			}
			b.until("profiles", func(devices []desk.DeviceInfo) bool {
				return slices.Equal(devices[0].Profiles, []string{"Default", "Low"}) && devices[0].DefaultProfile == "Default"
			})
			for _, files := range story {
				b.become(files)
				b.push(desk.PushOptions{})
				expectTree(t, data, files)
			}
			if again := b.push(desk.PushOptions{}).Devices[0]; again.Written+again.Deleted+again.Blocks > 0 {
				t.Errorf("an unchanged push: %+v", again)
			}
		})
	}
}

// TestDraftOverDen: both ends speak the dialect Draft.
func TestDraftOverDen(t *testing.T) {
	b := newDeskBench(t, desk.Options{Dialect: wire.Draft}, story[0])
	data := t.TempDir()
	b.own(device.Options{Root: data, Name: "Draft", Dialect: wire.Draft})
	b.untilConnected(1)
	for _, files := range story {
		b.become(files)
		b.push(desk.PushOptions{})
		expectTree(t, data, files)
	}
}

// TestStartStopAndLogs as released devices do it: run state, lines, and a start that leads nowhere.
func TestStartStopAndLogs(t *testing.T) {
	testlevel.Slow(t)
	b := newDeskBench(t, desk.Options{Times: desk.Times{Start: 5 * time.Second, Stop: 100 * time.Millisecond}}, nil)
	l := &launchertest.FakeLauncher{Stubborn: true, Says: []device.Line{{Level: wire.LevelError, Source: "Game", Text: "starting"}}}
	b.released(t.TempDir(), "Lab", l)
	id := b.untilConnected(1)[0].ID
	ctx, cancel := context.WithCancel(t.Context())
	lines := b.desk.Logs(ctx, "Lab")
	outcome := func(outcomes []desk.Outcome, err error) error {
		t.Helper()
		if err != nil || len(outcomes) != 1 || outcomes[0].Device != id {
			t.Fatalf("%+v %v", outcomes, err)
		}
		return outcomes[0].Err
	}
	if err := outcome(b.desk.Start(ctx, desk.StartOptions{GameConfig: "<degame/>", Profile: "Low"})); err != nil {
		t.Fatal(err)
	}
	if line := <-lines; line.Text != "starting" || line.Level != wire.LevelError || line.Source != "Game" || line.Device != id {
		t.Errorf("%+v", line)
	}
	if err := outcome(b.desk.Start(ctx, desk.StartOptions{})); !errors.Is(err, desk.ErrRunning) {
		t.Errorf("a second start: %v", err)
	}
	if err := outcome(b.desk.Start(ctx, desk.StartOptions{Restart: true})); err != nil {
		t.Fatal(err)
	}
	if err := outcome(b.desk.Stop(ctx, desk.StopOptions{Devices: []string{id}})); err != nil {
		t.Fatal(err)
	}
	l.Hang()
	var late *desk.StartTimeoutError
	if err := outcome(b.desk.Start(ctx, desk.StartOptions{})); !errors.As(err, &late) || len(late.Lines) == 0 || late.Lines[len(late.Lines)-1].Text != "starting" {
		t.Errorf("a start that leads nowhere: %v", err)
	}
	cancel()
	for range lines { // it is closed
	}
	if l.Starts() != 3 || len(b.desk.LogTail(id)) < 3 {
		t.Errorf("%d starts, log %v", l.Starts(), b.desk.LogTail(id))
	}
}

// TestSeveralDevices of one name and both modes: each gets everything.
func TestSeveralDevices(t *testing.T) {
	testlevel.Slow(t)
	files := tree{}
	for n := range 40 {
		files["f"+strings.Repeat("x", n)] = big(uint64(n), 20_000)
	}
	b := newDeskBench(t, desk.Options{}, files)
	var roots []string
	for n := range 3 {
		roots = append(roots, t.TempDir())
		if n == 0 {
			b.own(device.Options{Root: roots[n], Name: "Same"})
			continue
		}
		b.released(roots[n], "Same", nil)
	}
	devices := b.untilConnected(3)
	if devices[0].ID != "Same@127.0.0.1" || devices[2].ID != "Same@127.0.0.1#3" {
		t.Errorf("%+v", devices)
	}
	result := b.push(desk.PushOptions{})
	for _, root := range roots {
		expectTree(t, root, files)
	}
	if len(result.Devices) != 3 || result.Files != len(files) || result.Bytes != 40*20_000 {
		t.Errorf("%+v", result)
	}
	if _, err := b.desk.Push(t.Context(), desk.PushOptions{Devices: []string{"Other"}}); !errors.Is(err, desk.ErrNoDevice) {
		t.Errorf("a push without devices: %v", err)
	}
}

// TestComesBack: a device that disconnects during a push gets the rest after it reconnects.
func TestComesBack(t *testing.T) {
	testlevel.Slow(t)
	files := tree{"a": big(1, 3<<20), "b": big(2, 3<<20), "c": "small"}
	for name, protocols := range map[string][]uint16{"own": nil, "released": {den.ProtocolRelease}} {
		b := newDeskBench(t, desk.Options{}, files)
		data := t.TempDir()
		away := b.own(device.Options{Root: data, Name: "Lab"}, protocols...)
		b.untilConnected(1)
		pushed := make(chan desk.PushResult, 1)
		go func() {
			result, err := b.desk.Push(t.Context(), desk.PushOptions{})
			if err != nil {
				t.Error(err)
			}
			pushed <- result
		}()
		b.until("half", func(devices []desk.DeviceInfo) bool {
			return len(devices) > 0 && devices[0].Push.Bytes > 1<<20
		})
		away()
		b.own(device.Options{Root: data, Name: "Lab"}, protocols...)
		result := <-pushed
		if len(result.Devices) != 1 || result.Devices[0].Err != nil {
			t.Errorf("%s: %+v", name, result)
		}
		expectTree(t, data, files)
		b.stop()
	}
}

// TestDeskIsKilled in the middle of a push: the next desk's push ends with the same trees.
func TestDeskIsKilled(t *testing.T) {
	testlevel.Slow(t)
	files := tree{"a": big(1, 3<<20), "b": big(2, 3<<20)}
	b := newDeskBench(t, desk.Options{}, files)
	data, other := t.TempDir(), t.TempDir()
	b.released(data, "Lab", nil)
	b.own(device.Options{Root: other, Name: "Own"})
	b.untilConnected(2)
	for err, n := error(nil), uint64(3); err == nil; n += 2 { // until the desk ends before its push
		ctx, cancel := context.WithCancel(t.Context())
		pushed, began := make(chan error, 1), time.Now()
		go func() {
			_, err := b.desk.Push(ctx, desk.PushOptions{})
			pushed <- err
		}()
		testwait.Until(t, func() bool {
			return len(pushed) > 0 || slices.ContainsFunc(b.desk.Devices(), func(d desk.DeviceInfo) bool {
				return d.Push.Began.After(began) && d.Push.Bytes > 100_000
			})
		}, "the push does not begin")
		cancel()
		if err = <-pushed; err == nil {
			files = tree{"a": big(n, 3<<20), "b": big(n+1, 3<<20)}
			b.become(files)
		} else if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	b.stop()
	b.serve(desk.Options{Root: b.root}, b.addr.String())
	b.untilConnected(2)
	b.push(desk.PushOptions{})
	expectTree(t, data, files)
	expectTree(t, other, files)
}

// TestHungDevice: a device that does not answer gets a new connection and another attempt; then the push names the missing answer.
func TestHungDevice(t *testing.T) {
	testlevel.Slow(t)
	b := newDeskBench(t, desk.Options{Times: desk.Times{Layout: 200 * time.Millisecond}}, tree{"a": "1"})
	greeting, err := wire.Encode(wire.Released, &wire.ConnectRequest{Name: "mute"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		connections := 0
		for ctx.Err() == nil {
			conn, err := den.Dial(ctx, b.addr.String(), den.Options{Protocols: []uint16{den.ProtocolRelease}})
			if err != nil {
				break
			}
			connections++
			if err = conn.Send(ctx, greeting); err == nil {
				select {
				case <-conn.Done():
				case <-ctx.Done():
				}
			}
			conn.Abort()
		}
		ended <- connections
	}()
	b.untilConnected(1)
	result, err := b.desk.Push(t.Context(), desk.PushOptions{})
	var wait *desk.WaitError
	if err != nil || !errors.As(result.Devices[0].Err, &wait) || wait.For != "file layout" {
		t.Errorf("%+v %v", result, err)
	}
	cancel()
	if n := <-ended; n < 2 {
		t.Errorf("%d connections", n)
	}
}

// TestAdmission: a rejected device gets no information.
func TestAdmission(t *testing.T) {
	asked := make(chan string, 1)
	b := newDeskBench(t, desk.Options{Admit: func(_ context.Context, name string, address netip.AddrPort) desk.Decision {
		select {
		case asked <- name:
		default: // it comes again and again
		}
		if name == "good" && address.Addr().IsLoopback() {
			return desk.Admit
		}
		return desk.Refuse
	}}, tree{"secret": "x"})
	data := t.TempDir()
	b.released(data, "bad", nil)
	if name := <-asked; name != "bad" {
		t.Errorf("asked about %q", name)
	}
	b.released(t.TempDir(), "good", nil)
	b.untilConnected(1)
	b.push(desk.PushOptions{})
	expectTree(t, data, tree{})
}

// TestTooManyDevices: devices above the cap are rejected, and accepted once there is room.
func TestTooManyDevices(t *testing.T) {
	b := newDeskBench(t, desk.Options{MaxDevices: 2}, nil)
	first := b.released(t.TempDir(), "1", nil)
	b.untilConnected(1)
	b.released(t.TempDir(), "2", nil)
	b.untilConnected(2)
	b.released(t.TempDir(), "3", nil)
	b.push(desk.PushOptions{})
	if devices := b.desk.Devices(); len(devices) != 2 || devices[0].Name != "1" || devices[1].Name != "2" {
		t.Errorf("%+v", devices)
	}
	first()
	b.until("room for another", func(devices []desk.DeviceInfo) bool {
		return slices.ContainsFunc(devices, func(d desk.DeviceInfo) bool { return d.Name == "3" && d.Connected })
	})
}
