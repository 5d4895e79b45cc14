package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"collet/build/cmd/collet/console"
	"collet/build/demo"
	"collet/build/qa/fileset"
	"collet/build/testprograms"
	"collet/platform/testlevel"
)

// compiled gives the folder of the programs. The test is skipped without a C compiler.
func compiled(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no cc: see make setup")
	}
	return programs(t)
}

// demoLayout is the demo's two releases, for all tests, none of which changes them.
var demoLayout = sync.OnceValues(func() (*demo.Layout, error) {
	return demo.Prepare(context.Background(), filepath.Join(sharedFolder, "layout"), programFolder, 1)
})

// ownReleases gives the demo's two releases, and the flags that name them as a person's own: the client's folder, the server's
// settings, and a folder with the new set. An installed client is a copy of the demo's as an installer leaves it.
func ownReleases(t *testing.T, installed bool) (layout *demo.Layout, flags []string) {
	t.Helper()
	programs := compiled(t)
	layout, err := demoLayout()
	if err != nil {
		t.Fatal(err)
	}
	client, want := layout.Client(), t.TempDir()
	err = errors.Join(os.Remove(want), os.CopyFS(want, os.DirFS(filepath.Dir(layout.New.Module))),
		os.CopyFS(filepath.Join(want, "Resources"), os.DirFS(filepath.Join(layout.Server(), "Resources"))))
	if installed {
		client = filepath.Join(t.TempDir(), "client")
		err = errors.Join(err, os.CopyFS(client, os.DirFS(layout.Client())))
		for _, folder := range []string{client, want} {
			err = errors.Join(err, os.WriteFile(filepath.Join(folder, "INSTALLED"), nil, 0o644))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return layout, []string{"--client", client, "--server-settings", layout.ServerSettings(),
		"--new-set", want, "--programs", programs, "--scratch", t.TempDir(), "--client-arg=--trust", "--client-arg=sha256"}
}

// TestQACrash kills the demo's client a few times, also while it plays.
func TestQACrash(t *testing.T) {
	t.Parallel()
	programs, junit := compiled(t), filepath.Join(t.TempDir(), "crash.xml")
	kills := 6 / testlevel.Stride(3, 3)
	says(t, 0, fmt.Sprintf("cases %d, violations 0, skipped 0", kills), "", "qa", "crash", "--real", "--run", "--kills", fmt.Sprint(kills), "--depth", "1",
		"--programs", programs, "--data", "1", "--scratch", t.TempDir(), "--junit", junit)
	if xml, err := os.ReadFile(junit); err != nil || strings.Count(string(xml), "<testcase ") != kills {
		t.Errorf("%v\n%s", err, xml)
	}
}

// TestQAOwnClient tries a client and a server as a person has them: in a folder of its own, and as an installer leaves it,
// where everything that is written goes elsewhere. Nothing of them may change. The program runs, for a player's folder of its own.
func TestQAOwnClient(t *testing.T) {
	t.Parallel()
	kills := 3 / testlevel.Stride(3, 3)
	for _, installed := range []bool{false, true} {
		t.Run(fmt.Sprint("installed ", installed), func(t *testing.T) {
			t.Parallel()
			layout, flags := ownReleases(t, installed)
			client, home, program := flags[1], t.TempDir(), testprograms.Collet(t)
			collet := func(args ...string) (code int, out, errs string) {
				var o, e bytes.Buffer
				cmd := exec.Command(program, append(args, flags...)...)
				cmd.Env = append(os.Environ(), "HOME="+home, "XDG_DATA_HOME="+home, "LOCALAPPDATA="+home)
				cmd.Stdout, cmd.Stderr = &o, &e
				var ended *exec.ExitError
				if err := cmd.Run(); err != nil && !errors.As(err, &ended) {
					t.Fatal(err)
				}
				return cmd.ProcessState.ExitCode(), o.String(), e.String()
			}
			folders := []string{layout.Root}
			if installed {
				folders = append(folders, client)
			}
			var before []fileset.Set
			for _, folder := range folders {
				set, err := fileset.Read(folder)
				if err != nil {
					t.Fatal(err)
				}
				before = append(before, set)
			}
			code, out, errs := collet("qa", "crash", "--real", "--kills", fmt.Sprint(kills))
			if code != 0 || !strings.HasPrefix(lastLine(out), fmt.Sprintf("cases %d, violations 0, skipped 0", kills)) || strings.Contains(out, "the client is installed") != installed {
				t.Errorf("code %d\n%s%s", code, errs, out)
			}
			cases, only := 2, "refused"
			if !installed { // TestNetWithTheRealClient has this one without a server, for which it waits 12 s
				cases, only = 1, "refused-at-first"
			}
			if code, out, errs := collet("qa", "net", "--only", only); code != 0 || !strings.Contains(out, fmt.Sprintf("cases %d, violations 0, skipped 0", cases)) {
				t.Errorf("%s: code %d\n%s%s", only, code, errs, out)
			}
			for i, folder := range folders {
				after, err := fileset.Read(folder)
				if lines := after.Diff(before[i]); err != nil || lines != nil {
					t.Errorf("changed: %v, %v", lines, err)
				}
			}
			if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
				t.Errorf("left in the player's folder: %v, %v", left, err)
			}
		})
	}
}

// TestQADisk runs the real client on a few disks.
func TestQADisk(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("file systems are made on Linux only")
	}
	_, flags := ownReleases(t, false)
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
	layout, _ := ownReleases(t, false)
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
