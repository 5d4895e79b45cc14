package desk_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"collet/netproto/den"
	"collet/netproto/launcher/desk"
	"collet/netproto/launcher/device"
	"collet/netproto/launcher/wire"
)

// tree is what lies in a folder, by path.
type tree map[string]string

// big is content that is not the same twice.
func big(seed uint64, size int) string {
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	data := make([]byte, size)
	_, _ = random.Read(data)
	return string(data)
}

func (tr tree) write(t *testing.T, root string) {
	t.Helper()
	for path, text := range tr {
		name := filepath.Join(root, filepath.FromSlash(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// expectTree compares a folder with what should lie in it.
func expectTree(t *testing.T, root string, want tree) {
	t.Helper()
	got := tree{}
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == wire.StateFolder {
			return fs.SkipDir
		}
		if err != nil {
			return err
		}
		if e.IsDir() {
			return nil
		}
		data, err := os.ReadFile(name)
		path, _ := filepath.Rel(root, name)
		got[filepath.ToSlash(path)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if text, there := got[path]; !there || text != want[path] {
			t.Errorf("%q: there %v, %d bytes, want %d", path, there, len(text), len(want[path]))
		}
		delete(got, path)
	}
	if len(got) > 0 {
		t.Errorf("too much: %v", slices.Sorted(maps.Keys(got)))
	}
}

// deskBench is a desk on a loopback socket.
type deskBench struct {
	t    *testing.T
	desk *desk.Desk
	root string
	addr netip.AddrPort
	stop func() // of serving
}

func newDeskBench(t *testing.T, o desk.Options, files tree) *deskBench {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	b := &deskBench{t: t, root: t.TempDir()}
	files.write(t, b.root)
	o.Root = b.root
	b.serve(o, "127.0.0.1:0")
	return b
}

func (b *deskBench) serve(o desk.Options, address string) {
	b.t.Helper()
	listener, err := den.Listen(address, desk.Transport(den.Options{}))
	if err != nil {
		b.t.Fatal(err)
	}
	desk, err := desk.New(o)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	served := make(chan error, 1)
	go func() { served <- desk.Serve(ctx, listener) }()
	b.desk, b.addr = desk, listener.Addr()
	stopped := false
	b.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := errors.Join(<-served, listener.Close(), desk.Close()); err != nil {
			b.t.Error(err)
		}
	}
	b.t.Cleanup(b.stop)
}

// until waits for a state of the devices.
func (b *deskBench) until(what string, is func([]desk.DeviceInfo) bool) []desk.DeviceInfo {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 20*time.Second)
	defer cancel()
	for range b.desk.Changes(ctx) {
		if devices := b.desk.Devices(); is(devices) {
			return devices
		}
	}
	b.t.Fatalf("never: %s: %+v", what, b.desk.Devices())
	return nil
}

func (b *deskBench) untilConnected(n int) []desk.DeviceInfo {
	b.t.Helper()
	return b.until("connected", func(devices []desk.DeviceInfo) bool {
		connected := 0
		for _, d := range devices {
			if d.Connected {
				connected++
			}
		}
		return connected == n
	})
}

// push pushes and wants every device to have everything.
func (b *deskBench) push(o desk.PushOptions) desk.PushResult {
	b.t.Helper()
	result, err := b.desk.Push(b.t.Context(), o)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, d := range result.Devices {
		if d.Err != nil {
			b.t.Fatalf("%s: %v", d.Device, d.Err)
		}
	}
	return result
}

// released connects a device of ours that knows no other mode than released ones do; the function ends it.
func (b *deskBench) released(root, name string, l device.Launcher) func() {
	b.t.Helper()
	return b.own(device.Options{Root: root, Name: name, Launcher: l}, den.ProtocolRelease)
}

// own connects a device of ours; the function ends it.
func (b *deskBench) own(o device.Options, protocols ...uint16) func() {
	b.t.Helper()
	d, err := device.New(o)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	ran := make(chan error, 1)
	dial := device.DialDesk(b.addr.String(), den.Options{Protocols: protocols})
	go func() { ran <- d.Run(ctx, dial) }()
	ended := false
	end := func() {
		if !ended {
			ended = true
			cancel()
			<-ran
			if err := d.Close(); err != nil {
				b.t.Error(err)
			}
		}
	}
	b.t.Cleanup(end)
	return end
}

var story = []tree{
	{"a.txt": "hello\n", "empty.dat": "", "sub/part.bin": big(1, 1500), "big.pak": big(2, 300_000), "x/y/z": "1"},
	{"a.txt": "HELLO\n", "sub/part.bin": big(1, 1500), "big.pak": big(2, 300_000)[:299_999] + "!", "x": "now a file", "new": ""},
}

// become changes the working copy to the next part of the story.
func (b *deskBench) become(files tree) {
	b.t.Helper()
	entries, err := os.ReadDir(b.root)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(b.root, e.Name())); err != nil {
			b.t.Fatal(err)
		}
	}
	files.write(b.t, b.root)
}
