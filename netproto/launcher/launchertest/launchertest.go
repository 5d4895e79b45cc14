// Package launchertest has shared helpers for the tests of the remote launcher's packages: folders with files, the
// recorded messages, and a fake launcher.
package launchertest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"collet/netproto/launcher/device"
	"collet/netproto/launcher/wire"
	"collet/platform"
	"collet/platform/faultfs"
)

// Plant writes files below a folder. A value that begins with "->" is a symbolic link.
func Plant(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		full := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, link := strings.CutPrefix(content, "->"); link {
			err = os.Symlink(target, full)
		} else {
			err = os.WriteFile(full, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Open opens a folder until the end of the test.
func Open(t testing.TB, root string) *platform.Dir {
	t.Helper()
	dir, err := platform.OpenDir(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Watched is a folder that records opened names, and can inject failures.
type Watched struct {
	platform.FS
	mu     sync.Mutex
	opened []string
	Fail   func(name string) error
}

// OpenFile records the name.
func (w *Watched) OpenFile(name string, flag int, perm fs.FileMode) (platform.File, error) {
	w.mu.Lock()
	w.opened = append(w.opened, name)
	w.mu.Unlock()
	if w.Fail != nil {
		if err := w.Fail(name); err != nil {
			return nil, err
		}
	}
	return w.FS.OpenFile(name, flag, perm)
}

// Take returns the names opened since the last call, sorted.
func (w *Watched) Take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := w.opened
	w.opened = nil
	slices.Sort(names)
	return names
}

// Listing is the expected layout of files with these contents.
func Listing(files map[string]string) []wire.File {
	list := []wire.File{}
	for path, content := range files {
		list = append(list, wire.File{Path: path, Size: uint64(len(content)), Hash: sha256.Sum256([]byte(content))})
	}
	slices.SortFunc(list, func(a, b wire.File) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// Expect compares a layout with that of files with these contents.
func Expect(t testing.TB, layout *wire.Layout, files map[string]string) {
	t.Helper()
	if got, want := layout.Files(), Listing(files); !slices.Equal(got, want) {
		t.Errorf("layout\n got %v\nwant %v", got, want)
	}
}

// BlocksOf hashes the blocks one by one with the standard library.
func BlocksOf(data string, size int) (list []wire.Hash) {
	for {
		n := min(size, len(data))
		list = append(list, sha256.Sum256([]byte(data[:n])))
		if data = data[n:]; data == "" {
			return list
		}
	}
}

// Before is what Planted puts on a volume.
var Before = map[string]string{"a": "old a", "dir/b": "old b", "gone/x": "x", "big": strings.Repeat("0123456789", 30), "same": "same"}

// Planted is a volume with the files of Before.
func Planted(t testing.TB) *faultfs.Disk {
	t.Helper()
	disk := faultfs.New(faultfs.Config{Capacity: 1 << 20})
	for name, content := range Before {
		if err := disk.Plant(name, content); err != nil {
			t.Fatal(err)
		}
	}
	disk.Settle()
	return disk
}

// Vector is one file of testdata/vectors: header lines, an empty line, hex.
type Vector struct {
	Name string
	Head map[string]string
	Data []byte
}

// Dialect is the dialect of the message.
func (v Vector) Dialect(t testing.TB) wire.Dialect {
	d, err := wire.ParseDialect(v.Head["dialect"])
	if err != nil {
		t.Fatalf("%s: %v", v.Name, err)
	}
	return d
}

// From is the side that sent it.
func (v Vector) From() wire.Side {
	if v.Head["from"] == "device" {
		return wire.FromDevice
	}
	return wire.FromDesk
}

// Vectors reads the files below a folder, which is testdata/vectors of package wire.
func Vectors(t testing.TB, folder string) (list []Vector) {
	t.Helper()
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		list = append(list, parseVector(t, folder, name, string(text)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 90 {
		t.Fatalf("%d vectors, there should be more", len(list))
	}
	return list
}

func parseVector(t testing.TB, folder, name, text string) Vector {
	t.Helper()
	head, body, found := strings.Cut(text, "\n\n")
	if !found {
		t.Fatalf("%s: no empty line", name)
	}
	v := Vector{Name: filepath.ToSlash(name), Head: map[string]string{}}
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		v.Head[key] = value
	}
	var err error
	if v.Data, err = hex.DecodeString(strings.Join(strings.Fields(body), "")); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// Fields are the fields of a message as JSON.
func Fields(t *testing.T, m wire.Message) string {
	t.Helper()
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(text.String())
}

// FakeLauncher starts fake applications, which run until they are ended.
type FakeLauncher struct {
	mu       sync.Mutex
	Refuse   error
	Requests []device.StartRequest
	Apps     []*App
	Says     []device.Line
	Stubborn bool // does not close when asked to
	Slow     bool // Start waits until it is stopped
}

// App is an application that FakeLauncher started.
type App struct {
	stubborn bool
	Out      func(device.Line)
	once     sync.Once
	closed   chan struct{}
	how      wire.RunEnd
	Asked    int
}

// Profiles implements device.Launcher.
func (l *FakeLauncher) Profiles() ([]string, string) { return []string{"Default", "Low"}, "Default" }

// Start implements device.Launcher.
func (l *FakeLauncher) Start(ctx context.Context, r device.StartRequest, out func(device.Line)) (device.Application, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Requests = append(l.Requests, r)
	if l.Slow {
		for _, line := range l.Says {
			out(line)
		}
		l.mu.Unlock()
		<-ctx.Done()
		l.mu.Lock()
		return nil, ctx.Err()
	}
	if l.Refuse != nil {
		return nil, l.Refuse
	}
	app := &App{closed: make(chan struct{}), Out: out, stubborn: l.Stubborn}
	l.Apps = append(l.Apps, app)
	for _, line := range l.Says {
		out(line)
	}
	return app, nil
}

// Last is the application that was started last.
func (l *FakeLauncher) Last() *App {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Apps[len(l.Apps)-1]
}

// Starts counts the calls of Start.
func (l *FakeLauncher) Starts() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.Requests)
}

// Hang makes later starts wait until they are stopped.
func (l *FakeLauncher) Hang() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Slow = true
}

// Done implements device.Application.
func (a *App) Done() <-chan struct{} { return a.closed }

// End implements device.Application.
func (a *App) End() wire.RunEnd { return a.how }

// Finish ends the application.
func (a *App) Finish(exit int, text string) {
	a.once.Do(func() { a.how = wire.RunEnd{Exit: exit, Text: text}; close(a.closed) })
}

// Ask implements device.Application.
func (a *App) Ask() error {
	a.Asked++
	if !a.stubborn {
		a.Finish(0, "closed")
	}
	return nil
}

// Kill implements device.Application.
func (a *App) Kill() error { a.Finish(-1, "killed"); return nil }
