package desk_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/netproto/launcher/desk"
	"collet/netproto/launcher/launchertest"
	"collet/platform/testlevel"
	"collet/platform/testwait"
)

// TestWatch pushes after changes, to devices that come, and not for what is left out; a game is started again.
func TestWatch(t *testing.T) {
	testlevel.Slow(t)
	b := newDeskBench(t, desk.Options{}, tree{"a": "1", ".colletignore": "tmp/\n"})
	type push struct {
		desk.PushResult
		err error
	}
	pushes := make(chan push, 100)
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan error, 1)
	go func() {
		watched <- b.desk.Watch(ctx, desk.WatchOptions{Settle: 100 * time.Millisecond, Push: desk.PushOptions{Start: &desk.StartOptions{}},
			Each: func(r desk.PushResult, err error) { pushes <- push{r, err} }})
	}()
	if p := <-pushes; !errors.Is(p.err, desk.ErrNoDevice) {
		t.Errorf("without devices: %+v", p)
	}
	data, other := t.TempDir(), t.TempDir()
	one, two := &launchertest.FakeLauncher{}, &launchertest.FakeLauncher{}
	b.released(data, "one", one)
	if p := <-pushes; p.err != nil || len(p.Devices) != 1 || p.Devices[0].Written != 1 || !p.Devices[0].Started {
		t.Fatalf("a device came: %+v", p)
	}
	leave := b.released(other, "two", two)
	if p := <-pushes; p.err != nil || len(p.Devices) != 1 || p.Devices[0].Device != "two@127.0.0.1" {
		t.Fatalf("another came: %+v", p)
	}
	want := tree{"a": "1"}
	for n := range 3 {
		next, at := t.TempDir(), "new/deep"+strings.Repeat("/dd", n)
		for i := range 20 {
			name := string(rune('a' + i))
			want[at+"/"+name] = strings.Repeat("x", n+i)
			tree{name: want[at+"/"+name]}.write(t, next)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(b.root, at)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, filepath.Join(b.root, at)); err != nil { // all at once: one push
			t.Fatal(err)
		}
		for !sameTree(data, want) || !sameTree(other, want) {
			if p := <-pushes; p.err != nil || len(p.Devices) != 2 {
				t.Fatalf("files changed: %+v", p)
			}
		}
	}
	starts := one.Starts()
	if starts < 4 || two.Starts() < 4 {
		t.Errorf("%d and %d starts", starts, two.Starts())
	}
	starts = one.Starts()
	leave() // and comes back: the game of the other is left alone, since it has everything
	tree{"b": "2"}.write(t, b.root)
	if p := <-pushes; p.err != nil || len(p.Devices) == 0 || p.Devices[0].Err != nil || p.Devices[0].Written != 1 {
		t.Fatalf("one of them went away: %+v", p)
	}
	b.until("gone", func(devices []desk.DeviceInfo) bool { return len(devices) == 1 })
	b.released(other, "two", two)
	back := func(d desk.DeviceResult) bool { return d.Device == "two@127.0.0.1" && d.Err == nil }
	for p := <-pushes; !slices.ContainsFunc(p.Devices, back); {
		p = <-pushes
	}
	if !sameTree(other, tree{"b": "2"}) {
		t.Error("the other came back, and lacks what changed meanwhile")
	}
	if got := one.Starts(); got != starts+1 {
		t.Errorf("the other came back, and the game of this one was started %d times more", got-starts)
	}
	before := time.Now()
	tree{"tmp/x": "1", "a": "1"}.write(t, b.root)
	testwait.Until(t, func() bool { return b.desk.LastScan().After(before) }, "the working copy is scanned")
	tree{"c": "3"}.write(t, b.root) // the next push is of this file: there was none for what is left out, or did not change
	p := <-pushes
	if p.err != nil || len(p.Devices) != 2 || !sameTree(data, tree{"c": "3"}) {
		t.Errorf("a push after nothing had changed: %+v", p)
	}
	for _, device := range p.Devices {
		if device.Written != 1 {
			t.Errorf("a push after nothing had changed: %+v", device)
		}
	}
	for _, root := range []string{data, other} {
		if _, err := os.Stat(filepath.Join(root, "tmp")); !os.IsNotExist(err) {
			t.Errorf("what is left out was pushed: %v", err)
		}
	}
	cancel()
	if err := <-watched; err != nil {
		t.Error(err)
	}
}

func sameTree(root string, want tree) bool {
	for path, text := range want {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
		if err != nil || !bytes.Equal(data, []byte(text)) {
			return false
		}
	}
	return true
}
