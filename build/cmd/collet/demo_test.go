package main

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"collet/build/qa/screen"
	"collet/build/testprograms"
	"collet/platform/testwait"
)

// sharedFolder is for all tests. TestMain makes and removes it. programFolder in it has the programs in the way of the Makefile's bin/.
var sharedFolder, programFolder string

// TestMain runs the tests and looks for goroutines that they left.
func TestMain(m *testing.M) {
	var err error
	if sharedFolder, err = os.MkdirTemp("", "collet-shared-"); err != nil {
		panic(err)
	}
	programFolder = filepath.Join(sharedFolder, "programs")
	if err := os.Mkdir(programFolder, 0o755); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(sharedFolder)
		os.Exit(code)
	}))
}

// programs gives the folder of the real client and server, with the sample game's modules where the demo finds them.
func programs(t *testing.T) string {
	t.Helper()
	for _, made := range []string{testprograms.Client(t), testprograms.Server(t), testprograms.Modules(t)} {
		err := os.Symlink(made, filepath.Join(programFolder, filepath.Base(made)))
		if err != nil && !errors.Is(err, fs.ErrExist) { // another test was first
			t.Fatal(err)
		}
	}
	return programFolder
}

// needs skips where the demo can't have a virtual display, and gives the folder of the programs.
func needs(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"Xvfb", "xdotool", "cc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s: see make setup", tool)
		}
	}
	return programs(t)
}

// lastLine is the last line of what was printed.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// TestDemo plays the demo as `make run` does where there is no display: the real programs, a real window, real files.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir, kept := needs(t), filepath.Join(t.TempDir(), "kept")
	var out, errs bytes.Buffer
	code := run([]string{"demo", "--programs", dir, "--keep", kept, "--screen", "virtual", "--data", "3", "--rate", "500", "--lang", "en"}, &out, &errs)
	if code != 0 || lastLine(out.String()) != "demo: ok" || errs.Len() > 0 {
		t.Fatalf("code %d, %s\n%s", code, errs.String(), out.String())
	}
	for _, claim := range []string{
		"one host process from start to now", "release 1 was loaded, then swapped for release 2", "the module on disk is that of release 2",
		"all packs on disk are those of release 2", "the splash was there during the download", "a window is up", "ended with exit code 0",
		"the game of release 2 and the game server had the same world", "logic version 2, checksum",
		"the game of release 1 and the game server had the same world in each of 50 steps: logic version 1, checksum",
	} {
		if !strings.Contains(out.String(), claim) {
			t.Errorf("nothing was said of: %s\n%s", claim, out.String())
		}
	}
	for _, name := range []string{"splash.png", "game.png"} {
		checkPicture(t, filepath.Join(kept, "screenshots", name))
	}
	checkNothingRuns(t, kept)
}

func checkPicture(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	m, err := png.Decode(f)
	if err != nil {
		t.Error(err)
		return
	}
	if size := m.Bounds().Size(); size.X < 400 || size.Y < 200 || screen.Colours(m, m.Bounds(), 50) < 50 {
		t.Errorf("%s: %v with %d colours", path, size, screen.Colours(m, m.Bounds(), 50))
	}
}

// checkNothingRuns wants no process whose program lies in a folder.
func checkNothingRuns(t *testing.T, folder string) {
	t.Helper()
	testwait.Until(t, func() bool {
		links, err := filepath.Glob("/proc/[0-9]*/exe")
		if err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(links, func(link string) bool {
			exe, err := os.Readlink(link)
			return err == nil && strings.HasPrefix(exe, folder)
		})
	}, "a program of the demo still runs")
}

// waitingWriter cancels when a text has been printed.
type waitingWriter struct {
	mu     sync.Mutex
	text   strings.Builder
	wanted string
	found  context.CancelFunc
}

func (w *waitingWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if strings.Contains(w.text.String(), w.wanted) {
		w.found()
	}
	return len(p), nil
}

// TestDemoInterrupted stops the demo in the middle of the download and wants everything gone, the folder too.
func TestDemoInterrupted(t *testing.T) {
	dir, temp := needs(t), t.TempDir()
	t.Setenv("TMPDIR", temp)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &waitingWriter{wanted: "fetching binaries", found: cancel}
	c := demoCommand{Programs: dir, Screen: "virtual", Rate: 100, Data: 4, Screenshots: filepath.Join(t.TempDir(), "shots")}
	began := time.Now()
	if err := c.Run(ctx, out); err == nil || lastLine(out.text.String()) != "demo: failed: interrupted" {
		t.Errorf("%v\n%s", err, out.text.String())
	}
	if took := time.Since(began); took > testwait.Limit {
		t.Errorf("took %v", took)
	}
	checkNothingRuns(t, temp)
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// script writes a stand-in for a program.
func script(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

const listens = `echo '{"message":"Listening","address":"127.0.0.1:9"}'; exec sleep 600`

// TestDemoFails wants a demo whose parts do not do their work to say which and how, and to end with 1.
func TestDemoFails(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-ins are shell scripts")
	}
	modules := testprograms.Modules(t)
	for _, test := range []struct{ name, server, client, want string }{
		{"server ends", "echo no licence to serve; exit 3", "exit 0", "demo: failed: the server ended; it printed: | no licence to serve"},
		{"client ends with an error", listens, "echo too tired; exit 7", "demo: failed: the client ended with code 7 before the game of release 2 was up"},
		{"client ends well but too early", listens, "exit 0", "demo: failed: the client ended with code 0 before the game of release 2 was up"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Symlink(modules, filepath.Join(dir, "modules")); err != nil {
				t.Fatal(err)
			}
			script(t, dir, "collet-server", test.server)
			script(t, dir, "collet-client", test.client)
			var out, errs bytes.Buffer
			code := run([]string{"demo", "--programs", dir, "--screen", "real", "--data", "0"}, &out, &errs)
			if code != 1 || lastLine(out.String()) != test.want {
				t.Errorf("code %d, want 1 and %q\n%s%s", code, test.want, out.String(), errs.String())
			}
		})
	}
}

func TestDemoWithoutPrograms(t *testing.T) {
	var out, errs bytes.Buffer
	code := run([]string{"demo", "--programs", t.TempDir()}, &out, &errs)
	if code != 1 || !strings.HasPrefix(lastLine(out.String()), "demo: failed: ") || !strings.Contains(out.String(), "make build") {
		t.Errorf("code %d\n%s%s", code, out.String(), errs.String())
	}
}
