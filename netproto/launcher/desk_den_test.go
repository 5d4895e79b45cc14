package launcher_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/netproto/den"
	"collet/netproto/dentest"
	"collet/netproto/launcher"
)

// TestDeskWithReferenceDevice: what released devices do, over the real transport.
func TestDeskWithReferenceDevice(t *testing.T) {
	b := newDeskBench(t, launcher.DeskOptions{}, story[0])
	data := t.TempDir()
	tree{"a.txt": "jello\n", "old.txt": "x"}.write(t, data)
	c := b.reference(dentest.ClientOptions{Root: data, Name: "Lab"})
	b.untilConnected(1)
	b.until("profiles", func(devices []launcher.DeviceInfo) bool {
		return slices.Equal(devices[0].Profiles, []string{"Default", "Low"}) && devices[0].DefaultProfile == "Default"
	})
	for n, files := range story {
		b.become(files)
		before := c.FileBytes()
		b.push(launcher.PushOptions{})
		expectTree(t, data, files)
		if sent := c.FileBytes() - before; n == 1 && sent > 80_000 {
			t.Errorf("%d bytes for a change of one byte in a block of 60 KiB", sent)
		}
	}
	before := c.FileBytes()
	if again := b.push(launcher.PushOptions{}).Devices[0]; again.Written+again.Deleted+again.Blocks > 0 || c.FileBytes() != before {
		t.Errorf("an unchanged push: %+v", again)
	}
	if c.Largest() > 64<<10 {
		t.Errorf("a message of %d bytes", c.Largest())
	}
	if c.Crashed() {
		t.Error("the desk did what ends a released device")
	}
}

// TestOneFileThatCantBeWritten on a released device: it is named, and all others arrive.
func TestOneFileThatCantBeWritten(t *testing.T) {
	files := tree{}
	for n := range 60 {
		files[fmt.Sprintf("f%02d", n)] = big(uint64(n), n*3000)
	}
	b := newDeskBench(t, launcher.DeskOptions{}, files)
	data := t.TempDir()
	if err := os.MkdirAll(filepath.Join(data, "f31", "empty"), 0o755); err != nil { // which no layout lists
		t.Fatal(err)
	}
	b.reference(dentest.ClientOptions{Root: data, Name: "Lab"})
	b.untilConnected(1)
	result, err := b.desk.Push(t.Context(), launcher.PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var fault *launcher.DeviceError
	if got := result.Devices[0].Err; !errors.As(got, &fault) || fault.Path != "f31" || strings.Contains(got.Error(), "\n") {
		t.Errorf("failed with %v", got)
	}
	delete(files, "f31")
	if err := os.RemoveAll(filepath.Join(data, "f31")); err != nil {
		t.Fatal(err)
	}
	expectTree(t, data, files)
}

// TestDeskWithOwnDevice in our own mode, and with our device as a released one.
func TestDeskWithOwnDevice(t *testing.T) {
	for name, protocols := range map[string][]uint16{"own": nil, "released": {den.ProtocolRelease}} {
		t.Run(name, func(t *testing.T) {
			b := newDeskBench(t, launcher.DeskOptions{}, story[0])
			data := t.TempDir()
			tree{"a.txt": "jello\n", "old.txt": "x"}.write(t, data)
			b.own(launcher.DeviceOptions{Root: data, Name: "Own"}, protocols...)
			if got := b.untilConnected(1)[0].Own; got != (name == "own") {
				t.Errorf("own mode: %v", got)
			}
			for _, files := range story {
				b.become(files)
				b.push(launcher.PushOptions{})
				expectTree(t, data, files)
			}
			if again := b.push(launcher.PushOptions{}).Devices[0]; again.Written+again.Deleted+again.Blocks > 0 {
				t.Errorf("an unchanged push: %+v", again)
			}
		})
	}
}

// TestDraftOverDen: both ends in the dialect of seed 003.
func TestDraftOverDen(t *testing.T) {
	b := newDeskBench(t, launcher.DeskOptions{Dialect: launcher.Draft}, story[0])
	data := t.TempDir()
	b.own(launcher.DeviceOptions{Root: data, Name: "Draft", Dialect: launcher.Draft})
	b.untilConnected(1)
	for _, files := range story {
		b.become(files)
		b.push(launcher.PushOptions{})
		expectTree(t, data, files)
	}
}

// TestStartStopAndLogs with a released device: run state, lines, and a start that leads nowhere.
func TestStartStopAndLogs(t *testing.T) {
	b := newDeskBench(t, launcher.DeskOptions{Times: launcher.DeskTimes{Start: 500 * time.Millisecond, Stop: 100 * time.Millisecond}}, nil)
	starts := 0
	c := b.reference(dentest.ClientOptions{Root: t.TempDir(), Name: "Lab",
		Start: func(c *dentest.ReferenceClient, _ dentest.Message) {
			c.Log(2, "Game", "starting")
			if starts++; starts < 3 {
				c.SetRunning(true)
			}
		},
		Stop: func(c *dentest.ReferenceClient, mode byte) {
			if mode == 1 { // it does not listen to requests
				c.SetRunning(false)
			}
		}})
	id := b.untilConnected(1)[0].ID
	ctx, cancel := context.WithCancel(t.Context())
	lines := b.desk.Logs(ctx, "Lab")
	outcome := func(outcomes []launcher.Outcome, err error) error {
		t.Helper()
		if err != nil || len(outcomes) != 1 || outcomes[0].Device != id {
			t.Fatalf("%+v %v", outcomes, err)
		}
		return outcomes[0].Err
	}
	if err := outcome(b.desk.Start(ctx, launcher.StartOptions{GameConfig: "<degame/>", Profile: "Low"})); err != nil {
		t.Fatal(err)
	}
	if line := <-lines; line.Text != "starting" || line.Level != launcher.LevelError || line.Source != "Game" || line.Device != id {
		t.Errorf("%+v", line)
	}
	if err := outcome(b.desk.Start(ctx, launcher.StartOptions{})); !errors.Is(err, launcher.ErrRunning) {
		t.Errorf("a second start: %v", err)
	}
	if err := outcome(b.desk.Start(ctx, launcher.StartOptions{Restart: true})); err != nil {
		t.Fatal(err)
	}
	if err := outcome(b.desk.Stop(ctx, launcher.StopOptions{Devices: []string{id}})); err != nil {
		t.Fatal(err)
	}
	var late *launcher.StartTimeoutError
	if err := outcome(b.desk.Start(ctx, launcher.StartOptions{})); !errors.As(err, &late) || len(late.Lines) != 1 {
		t.Errorf("a start that leads nowhere: %v", err)
	}
	cancel()
	for range lines { // it is closed
	}
	if len(c.Starts()) != 3 || len(b.desk.LogTail(id)) < 3 {
		t.Errorf("%d starts, log %v", len(c.Starts()), b.desk.LogTail(id))
	}
}

// TestSeveralDevices at their own pace: a slow one does not hold up the others, and each gets everything.
func TestSeveralDevices(t *testing.T) {
	files := tree{}
	for n := range 40 {
		files["f"+strings.Repeat("x", n)] = big(uint64(n), 20_000)
	}
	b := newDeskBench(t, launcher.DeskOptions{}, files)
	var roots []string
	for n := range 3 {
		roots = append(roots, t.TempDir())
		if n == 0 {
			b.own(launcher.DeviceOptions{Root: roots[n], Name: "Same"})
			continue
		}
		b.reference(dentest.ClientOptions{Root: roots[n], Name: "Same", Slow: n == 2})
	}
	devices := b.untilConnected(3)
	if devices[0].ID != "Same@127.0.0.1" || devices[2].ID != "Same@127.0.0.1#3" {
		t.Errorf("%+v", devices)
	}
	result := b.push(launcher.PushOptions{})
	for _, root := range roots {
		expectTree(t, root, files)
	}
	if len(result.Devices) != 3 || result.Files != len(files) || result.Bytes != 40*20_000 {
		t.Errorf("%+v", result)
	}
	if _, err := b.desk.Push(t.Context(), launcher.PushOptions{Devices: []string{"Other"}}); !errors.Is(err, launcher.ErrNoDevice) {
		t.Errorf("a push to nobody: %v", err)
	}
}

// TestComesBack: a device that vanishes in the middle of a push and comes back gets the rest by itself.
func TestComesBack(t *testing.T) {
	files := tree{"a": big(1, 3<<20), "b": big(2, 3<<20), "c": "small"}
	for _, own := range []bool{false, true} {
		b := newDeskBench(t, launcher.DeskOptions{}, files)
		data := t.TempDir()
		var away, back func()
		if own {
			end := b.own(launcher.DeviceOptions{Root: data, Name: "Lab"})
			away, back = end, func() { b.own(launcher.DeviceOptions{Root: data, Name: "Lab"}) }
		} else {
			c := b.reference(dentest.ClientOptions{Root: data, Name: "Lab"})
			away = c.Drop
			back = func() {
				if err := c.Connect(t.Context(), b.addr.String()); err != nil {
					t.Error(err)
				}
			}
		}
		b.untilConnected(1)
		pushed := make(chan launcher.PushResult, 1)
		go func() {
			result, err := b.desk.Push(t.Context(), launcher.PushOptions{})
			if err != nil {
				t.Error(err)
			}
			pushed <- result
		}()
		b.until("half", func(devices []launcher.DeviceInfo) bool {
			return len(devices) > 0 && devices[0].Push.Bytes > 1<<20
		})
		away()
		back()
		result := <-pushed
		if len(result.Devices) != 1 || result.Devices[0].Err != nil {
			t.Errorf("own %v: %+v", own, result)
		}
		expectTree(t, data, files)
		b.stop()
	}
}

// TestDeskIsKilled in the middle of a push: the next desk's push ends with the same trees.
func TestDeskIsKilled(t *testing.T) {
	files := tree{"a": big(1, 3<<20), "b": big(2, 3<<20)}
	b := newDeskBench(t, launcher.DeskOptions{}, files)
	data, other := t.TempDir(), t.TempDir()
	c := b.reference(dentest.ClientOptions{Root: data, Name: "Lab"})
	b.own(launcher.DeviceOptions{Root: other, Name: "Own"})
	b.untilConnected(2)
	ctx, cancel := context.WithCancel(t.Context())
	pushed := make(chan error, 1)
	go func() {
		_, err := b.desk.Push(ctx, launcher.PushOptions{})
		pushed <- err
	}()
	b.until("begun", func(devices []launcher.DeviceInfo) bool {
		return slices.ContainsFunc(devices, func(d launcher.DeviceInfo) bool { return d.Push.Bytes > 100_000 })
	})
	cancel()
	if err := <-pushed; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	b.stop()
	c.Drop()
	b.serve(launcher.DeskOptions{Root: b.root}, b.addr.String())
	if err := c.Connect(t.Context(), b.addr.String()); err != nil {
		t.Fatal(err)
	}
	b.untilConnected(2)
	b.push(launcher.PushOptions{})
	expectTree(t, data, files)
	expectTree(t, other, files)
}

// TestHungDevice: one that answers nothing gets a new connection and another try, and then the push says what was awaited.
func TestHungDevice(t *testing.T) {
	b := newDeskBench(t, launcher.DeskOptions{Times: launcher.DeskTimes{Layout: 200 * time.Millisecond, Return: 5 * time.Second}}, tree{"a": "1"})
	greeting, err := launcher.Encode(launcher.Released, &launcher.ConnectRequest{Name: "mute"})
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
	result, err := b.desk.Push(t.Context(), launcher.PushOptions{})
	var wait *launcher.WaitError
	if err != nil || !errors.As(result.Devices[0].Err, &wait) || wait.For != "file layout" {
		t.Errorf("%+v %v", result, err)
	}
	cancel()
	if n := <-ended; n < 2 {
		t.Errorf("%d connections", n)
	}
}

// TestAdmission: who is not let in is told nothing.
func TestAdmission(t *testing.T) {
	asked := make(chan string, 10)
	b := newDeskBench(t, launcher.DeskOptions{Admit: func(_ context.Context, name string, address netip.AddrPort) launcher.Decision {
		asked <- name
		if name == "good" && address.Addr().IsLoopback() {
			return launcher.Admit
		}
		return launcher.Refuse
	}}, tree{"secret": "x"})
	data := t.TempDir()
	bad := b.reference(dentest.ClientOptions{Root: data, Name: "bad"})
	if name := <-asked; name != "bad" {
		t.Errorf("asked about %q", name)
	}
	b.reference(dentest.ClientOptions{Root: t.TempDir(), Name: "good"})
	b.untilConnected(1)
	b.push(launcher.PushOptions{})
	expectTree(t, data, tree{})
	if bad.FileBytes() != 0 {
		t.Error("a device that was not let in got files")
	}
}

// TestTooManyDevices: those above the cap are turned away, and may come when there is room.
func TestTooManyDevices(t *testing.T) {
	b := newDeskBench(t, launcher.DeskOptions{MaxDevices: 2}, nil)
	first := b.reference(dentest.ClientOptions{Root: t.TempDir(), Name: "1"})
	b.reference(dentest.ClientOptions{Root: t.TempDir(), Name: "2"})
	b.untilConnected(2)
	b.reference(dentest.ClientOptions{Root: t.TempDir(), Name: "3"})
	b.push(launcher.PushOptions{})
	if devices := b.desk.Devices(); len(devices) != 2 || devices[0].Name != "1" || devices[1].Name != "2" {
		t.Errorf("%+v", devices)
	}
	first.Disconnect()
	b.untilConnected(1)
	b.reference(dentest.ClientOptions{Root: t.TempDir(), Name: "4"})
	b.untilConnected(2)
}
