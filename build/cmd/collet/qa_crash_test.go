package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"collet/build/cmd/collet/console"
	"collet/build/demo"
	"collet/build/qa/fileset"
	"collet/build/testprograms"
	"collet/platform/testlevel"
)

// crashReleases lays out the demo's two releases, and gives the flags that name them as a person's own: the client's folder, the
// server's settings, and a folder with the new set.
func crashReleases(t *testing.T) (layout *demo.Layout, flags []string) {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no cc: see make setup")
	}
	programs := programs(t)
	layout, err := demo.Prepare(t.Context(), t.TempDir(), programs, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := t.TempDir()
	err = errors.Join(os.Remove(want), os.CopyFS(want, os.DirFS(filepath.Dir(layout.New.Module))),
		os.CopyFS(filepath.Join(want, "Resources"), os.DirFS(filepath.Join(layout.Server(), "Resources"))))
	if err != nil {
		t.Fatal(err)
	}
	return layout, []string{"--client", layout.Client(), "--server-settings", layout.ServerSettings(),
		"--new-set", want, "--programs", programs, "--scratch", t.TempDir(), "--client-arg=--trust", "--client-arg=sha256"}
}

// TestQACrash kills the demo's client a few times, also while it plays.
func TestQACrash(t *testing.T) {
	t.Parallel()
	crashReleases(t) // or skip
	junit := filepath.Join(t.TempDir(), "crash.xml")
	kills := 6 / testlevel.Stride(3, 3)
	says(t, 0, fmt.Sprintf("cases %d, violations 0, skipped 0", kills), "", "qa", "crash", "--real", "--run", "--kills", fmt.Sprint(kills), "--depth", "1",
		"--programs", programFolder, "--data", "1", "--scratch", t.TempDir(), "--junit", junit)
	if xml, err := os.ReadFile(junit); err != nil || strings.Count(string(xml), "<testcase ") != kills {
		t.Errorf("%v\n%s", err, xml)
	}
}

// TestQAOwnClient tries a client and a server as a person has them: in a folder of its own, and as an installer leaves it,
// where everything that is written goes elsewhere. Nothing of them may change.
func TestQAOwnClient(t *testing.T) {
	kills := 3 / testlevel.Stride(3, 3)
	for _, installed := range []bool{false, true} {
		layout, flags := crashReleases(t)
		if mark := filepath.Join(layout.Client(), "INSTALLED"); installed {
			if err := errors.Join(os.WriteFile(mark, nil, 0o644), os.WriteFile(filepath.Join(flags[5], "INSTALLED"), nil, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		home := t.TempDir()
		for _, name := range []string{"HOME", "XDG_DATA_HOME", "LOCALAPPDATA"} {
			t.Setenv(name, home)
		}
		before, err := fileset.Read(layout.Root)
		if err != nil {
			t.Fatal(err)
		}
		code, out, errs := colletRun(append([]string{"qa", "crash", "--real", "--kills", fmt.Sprint(kills)}, flags...)...)
		if code != 0 || !strings.HasPrefix(lastLine(out), fmt.Sprintf("cases %d, violations 0, skipped 0", kills)) || strings.Contains(out, "the client is installed") != installed {
			t.Errorf("installed %v: code %d\n%s%s", installed, code, errs, out)
		}
		cases, only := 2, "refused"
		if !installed { // TestNetWithTheRealClient has this one without a server, for which it waits 12 s
			cases, only = 1, "refused-at-first"
		}
		says(t, 0, fmt.Sprintf("cases %d, violations 0, skipped 0", cases), "", append([]string{"qa", "net", "--only", only}, flags...)...)
		after, err := fileset.Read(layout.Root)
		if lines := after.Diff(before); err != nil || lines != nil {
			t.Errorf("installed %v: changed: %v, %v", installed, lines, err)
		}
		if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
			t.Errorf("installed %v: left in the player's folder: %v, %v", installed, left, err)
		}
	}
}

// TestQADisk runs the real client on a few disks.
func TestQADisk(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("file systems are made on Linux only")
	}
	_, flags := crashReleases(t)
	code, out, errs := colletRun(append([]string{"qa", "disk", "--sizes", "2", "--cuts", "1", "--faults", "0"}, flags...)...)
	if strings.Contains(out, "nothing can be mounted here") {
		t.Skip(out)
	}
	if code != 0 || !strings.Contains(lastLine(out), "violations 0, ") {
		t.Errorf("code %d\n%s%s", code, errs, out)
	}
}

// TestCrashPoints wants a client with crash points to list what it does and to die where it is told, and the one without
// to know nothing of that.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	layout, _ := crashReleases(t)
	server, address, err := demo.StartServer(t.Context(), layout, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop(politeEnd) })
	points := testprograms.CrashClient(t)
	play := func(program, variable string) (string, error) {
		dir := filepath.Join(t.TempDir(), "install")
		if err := os.CopyFS(dir, os.DirFS(layout.Client())); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "--headless", "--runtime-name", "Lathe", "--dir", dir, "--trust", "sha256", "--server", address, "--run", "--", "--frames", "3")
		cmd.Env = append(os.Environ(), variable, "SDL_VIDEODRIVER=dummy")
		said, err := cmd.CombinedOutput()
		return dir + "\n" + string(said), err
	}
	list := filepath.Join(t.TempDir(), "list")
	if said, err := play(points, "COLLET_CRASH_LIST="+list); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	text, err := os.ReadFile(list)
	if err != nil || !strings.HasPrefix(string(text), "1 mkdir .collet\n") || !strings.Contains(string(text), " rename Resources/~Levels.zip Resources/Levels.zip\n") {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, test := range []struct {
		at   string
		live bool // the pack is live when the client has died
	}{{"rename Resources/Levels.zip:before", false}, {"rename Resources/Levels.zip", false}, {"rename Resources/Levels.z*:after", true}, {"1:before", false}} {
		said, err := play(points, "COLLET_CRASH_AT="+test.at)
		dir, _, _ := strings.Cut(said, "\n")
		_, part := os.Stat(filepath.Join(dir, "Resources", "~Levels.zip"))
		_, began := os.Stat(filepath.Join(dir, ".collet"))
		if err == nil || (test.at == "1:before") != os.IsNotExist(began) || test.at != "1:before" && test.live != os.IsNotExist(part) {
			t.Errorf("%s: %v, part: %v, state: %v\n%s", test.at, err, part, began, said)
		}
	}
	if said, err := play(layout.Host(), "COLLET_CRASH_AT=1:before"); err != nil {
		t.Errorf("a client for players dies on demand: %v\n%s", err, said)
	}
}

// TestQALabUsage wants a command line that makes no sense to be told before any work.
func TestQALabUsage(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"qa", "crash", "--client", "x"}, "need --real"},
		{[]string{"qa", "crash", "--new-set", "x"}, "need --real"},
		{[]string{"qa", "crash", "--real", "--old", "x", "--new", "y"}, "about the matrix in memory"},
		{[]string{"qa", "disk", "--fs", "vfat"}, "--fs"},
		{[]string{"qa", "crash", "--real", "--client", "x"}, "--client goes with --server or --server-settings"},
		{[]string{"qa", "disk", "--install", "x", "--server", "y:1"}, "go with --client"},
		{[]string{"qa", "net", "--new-set", "x"}, "go with --client"},
		{[]string{"qa", "crash", "--real", "--kills=-1"}, "--kills -1"},
		{[]string{"qa", "disk", "--cuts=-1"}, "want 0 or more"},
		{[]string{"qa", "crash", "--real", "--depth", "3"}, "--depth"},
	} {
		var errs bytes.Buffer
		if code := run(test.args, io.Discard, &errs); code != console.ExitUsage || !strings.Contains(errs.String(), test.want) {
			t.Errorf("%v: code %d, %s", test.args, code, errs.String())
		}
	}
}
