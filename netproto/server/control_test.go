package server_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/server/catalogue"
	"collet/netproto/server/servertest"
)

// TestEveryFaultOfAStartIsNamed: packs, binaries and settings disagree in many ways at once.
func TestEveryFaultOfAStartIsNamed(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	set.Baking.ClientResourceEntries = []string{"Core", "Missing", "Lost"}
	servertest.WriteFile(t, filepath.Join(set.Baking.PlatformBinaries, "stray.txt"), "x")
	servertest.WriteFile(t, filepath.Join(set.Baking.PlatformBinaries, "Linux-x64", "plugins", "x.so"), "x")
	_, err := catalogue.Open(t.Context(), set, zerolog.Nop())
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
	t.Parallel()
	set := servertest.Settings(t)
	core := filepath.Join(set.Baking.ClientResources, "Core.zip")
	steps := []struct {
		name   string
		change func()
		reload int
	}{
		{"nothing", func() {}, 0},
		{"pack written", func() { servertest.WriteFile(t, core, "a new core") }, 1},
		{"pack touched", func() { touch(t, core, time.Unix(1_000_000_000, 0)) }, 1},
		{"pack added", func() { servertest.WriteFile(t, filepath.Join(set.Baking.ClientResources, "New.zip"), "x") }, 1},
		{"no pack added", func() { servertest.WriteFile(t, filepath.Join(set.Baking.ClientResources, "notes.txt"), "x") }, 0},
		{"module added", func() {
			servertest.WriteFile(t, filepath.Join(set.Baking.PlatformBinaries, "macOS-arm64", "x.dylib"), "x")
		}, 1},
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
