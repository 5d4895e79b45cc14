package main

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"collet/build/testprograms"
	"collet/platform/testlevel"
)

func TestSoakUsage(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a soak needs a system that lets open files be replaced")
	}
	says(t, 0, "bench soak", "", "bench", "--help")
	says(t, 0, "goroutines, file descriptors", "", "bench", "soak", "--help")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--time", "soon"}, "--time"},
		{[]string{"--time", "1s"}, "too short for a verdict: want at least 8s"},
		{[]string{"--workers", "0"}, "0 workers"},
		{[]string{"--crowd", "-1"}, "--crowd"},
		{[]string{"--crowd", "100000"}, "a crowd of 100000"},
		{[]string{"--rest=-1s"}, "a rest of -1s"},
		{[]string{"--seed", "x"}, "--seed"},
	} {
		says(t, 2, "", test.want, append([]string{"bench", "soak"}, test.args...)...)
	}
	says(t, 1, "", "collet-server", "bench", "soak", "--smoke", "--programs", filepath.Join(t.TempDir(), "nowhere"))
}

// TestSoakCommand is the shortest soak, as a person tries it.
func TestSoakCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a soak needs a system that lets open files be replaced")
	}
	testlevel.Lab(t) // it takes ten seconds, and package build/soak tries the same
	t.Parallel()
	code, out, errs := colletRun("bench", "soak", "--smoke", "--programs", filepath.Dir(testprograms.Server(t)), "--seed", "7", "--crowd", "16",
		"--workers", "2", "--rest", "50ms", "--scratch", t.TempDir())
	if code != 0 || !strings.HasSuffix(out, "\nsoak: holds\n") || !strings.HasPrefix(errs, "soak of 10s, seed 7\n") {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
	for _, word := range []string{"seed 7", "goroutines", "file descriptors", "heap in use", "resident memory", "G2b over WebSocket"} {
		if !strings.Contains(out, word) {
			t.Errorf("nothing is said of %q:\n%s", word, out)
		}
	}
}
