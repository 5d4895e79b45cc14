package server_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/server"
)

// socketPath is a path for a socket: the folders of tests have names that are too long for one.
func socketPath(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "collet")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return filepath.Join(folder, "control")
}

// controlled serves a control socket until the test ends.
func controlled(t *testing.T, path string, reload func(context.Context) error) {
	t.Helper()
	listener, err := server.ListenControl(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.ServeControl(ctx, listener, reload, zerolog.Nop()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		serving.Wait()
		if _, err := os.Lstat(path); err == nil {
			t.Error("the socket is left behind")
		}
	})
}

func TestControlReloads(t *testing.T) {
	set := settings(t)
	h := start(t, set)
	path := socketPath(t)
	controlled(t, path, func(ctx context.Context) error { return h.Reload(ctx, set) })
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("permissions %v, %v", info.Mode(), err)
	}
	put(t, filepath.Join(set.Baking.ClientResources, "Added.zip"), "added")
	before := h.Catalogue()
	if err := server.AskReload(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if h.Catalogue() == before {
		t.Error("the catalogue is the old one")
	}
	set.Baking.ClientResourceEntries = []string{"Missing", "Lost"}
	err := server.AskReload(t.Context(), path)
	var fault *server.ControlError
	if !errors.As(err, &fault) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"Missing.zip", "Lost.zip", "what was offered before stays"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
}

func TestControlSocketFaults(t *testing.T) {
	path := socketPath(t)
	expect := func(err error, want string) {
		t.Helper()
		var fault *server.ControlError
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want …%s…", err, want)
		}
	}
	expect(server.AskReload(t.Context(), path), "is the server running")

	controlled(t, path, func(context.Context) error { return nil })
	_, err := server.ListenControl(path)
	expect(err, "another server listens there")

	_, err = server.ListenControl(filepath.Join(filepath.Dir(path), "none", "s"))
	expect(err, "its folder must be there")
	_, err = server.ListenControl(filepath.Join(filepath.Dir(path), strings.Repeat("x", 200)))
	expect(err, "choose a shorter path")
	if runtime.GOOS != "windows" {
		put(t, path+".txt", "precious")
		_, err = server.ListenControl(path + ".txt")
		expect(err, "something else lies there")
	}
}

func TestLeftoverOfAServerThatIsGoneIsReplaced(t *testing.T) {
	path := socketPath(t)
	gone, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	gone.(*net.UnixListener).SetUnlinkOnClose(false)
	gone.Close()
	controlled(t, path, func(context.Context) error { return nil })
	if err := server.AskReload(t.Context(), path); err != nil {
		t.Error(err)
	}
}

// TestEveryFaultOfAStartIsNamed: packs, binaries and settings disagree in many ways at once.
func TestEveryFaultOfAStartIsNamed(t *testing.T) {
	set := settings(t)
	set.Baking.ClientResourceEntries = []string{"Core", "Missing", "Lost"}
	put(t, filepath.Join(set.Baking.PlatformBinaries, "stray.txt"), "x")
	put(t, filepath.Join(set.Baking.PlatformBinaries, "Linux-x64", "plugins", "x.so"), "x")
	_, err := server.Open(t.Context(), set, zerolog.Nop())
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"Missing.zip", "Lost.zip", "stray.txt", "plugins", "no such file", "is a folder", "is a file beside"} {
		if !strings.Contains(err.Error(), want) && runtime.GOOS != "windows" {
			t.Errorf("%q lacks %q", err, want)
		}
	}
}

// TestPublishedReleaseIsNoticed changes files while the folders are watched.
func TestPublishedReleaseIsNoticed(t *testing.T) {
	set := settings(t)
	core := filepath.Join(set.Baking.ClientResources, "Core.zip")
	steps := []struct {
		name   string
		change func()
		reload int
	}{
		{"nothing", func() {}, 0},
		{"pack written", func() { put(t, core, "a new core") }, 1},
		{"pack touched", func() { touch(t, core, time.Unix(1_000_000_000, 0)) }, 1},
		{"pack added", func() { put(t, filepath.Join(set.Baking.ClientResources, "New.zip"), "x") }, 1},
		{"no pack added", func() { put(t, filepath.Join(set.Baking.ClientResources, "notes.txt"), "x") }, 0},
		{"module added", func() { put(t, filepath.Join(set.Baking.PlatformBinaries, "macOS-arm64", "x.dylib"), "x") }, 1},
		{"pack removed", func() { os.Remove(core) }, 1},
	}
	watching(t, set, func(settle func() int) {
		for _, step := range steps {
			before := settle()
			step.change()
			if got := settle() - before; got != step.reload {
				t.Errorf("%s: reloaded %d times, want %d", step.name, got, step.reload)
			}
		}
	})
}
