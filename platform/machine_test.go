package platform_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"collet/platform"
	"collet/platform/fstest"
	"collet/platform/testlevel"
)

func TestBootIDStays(t *testing.T) {
	first := platform.BootID()
	if again := platform.BootID(); again != first {
		t.Errorf("%q, then %q", first, again)
	}
	if strings.TrimSpace(first) != first || strings.ContainsAny(first, "\n\x00") {
		t.Errorf("%q is not one word", first)
	}
	known := []string{"linux", "darwin", "windows"}
	if known := slices.Contains(known, runtime.GOOS); known != (first != "") {
		t.Errorf("%q on %s", first, runtime.GOOS)
	}
}

// bootID asks for BootID in a child process.
const bootID = "COLLET_TEST_BOOT_ID"

func TestBootIDOfAnotherProcess(t *testing.T) {
	if os.Getenv(bootID) != "" {
		fmt.Printf("boot=%s.\n", platform.BootID())
		return
	}
	testlevel.Slow(t)
	child := exec.Command(self(t), "-test.run=^TestBootIDOfAnotherProcess$", "-test.v")
	child.Env = append(os.Environ(), bootID+"=1")
	out, err := child.Output()
	if want := "boot=" + platform.BootID() + "."; err != nil || !strings.Contains(string(out), want) {
		t.Errorf("want %s, got %s, %v", want, out, err)
	}
}

func TestVolumeOf(t *testing.T) {
	dir := t.TempDir()
	volume := platform.VolumeOf(dir)
	if !filepath.IsAbs(volume) {
		t.Fatalf("volume %q", volume)
	}
	below := filepath.Join(dir, "not", "there", "yet")
	if runtime.GOOS == "linux" || runtime.GOOS == "windows" {
		if got := platform.VolumeOf(below); got != volume {
			t.Errorf("below a folder on %q is %q", volume, got)
		}
		if _, err := os.Stat(volume); err != nil {
			t.Errorf("the volume is nowhere: %v", err)
		}
	}
	if runtime.GOOS == "linux" {
		for path, want := range map[string]string{"/proc/self": "/proc", "/proc": "/proc", "/": "/"} {
			if got := platform.VolumeOf(path); got != want {
				t.Errorf("%s is on %q, want %q", path, got, want)
			}
		}
	}
}

// TestVolumeOfALink follows links, because the bytes go where they lead.
func TestVolumeOfALink(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/proc", link); err != nil {
		t.Fatal(err)
	}
	if got := platform.VolumeOf(filepath.Join(link, "no", "such")); got != "/proc" {
		t.Errorf("got %q", got)
	}
}

// heldFile names the file that a child process holds open; it is set for the child only.
const heldFile = "COLLET_TEST_HELD_FILE"

// TestFileHolder is the child of TestHolders.
func TestFileHolder(t *testing.T) {
	name := os.Getenv(heldFile)
	if name == "" {
		t.Skip("runs as a child process")
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
}

// holdFile starts a process that has a file open.
func holdFile(t *testing.T, name string) (pid int, end func()) {
	t.Helper()
	testlevel.Slow(t)
	child := exec.Command(self(t), "-test.run=^TestFileHolder$", "-test.v")
	child.Env = append(os.Environ(), heldFile+"="+name)
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() { input.Close(); child.Wait() }
	t.Cleanup(end)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "held" {
			return child.Process.Pid, end
		}
	}
	t.Fatal("the child did not open the file")
	return 0, nil
}

func TestHolders(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		t.Skip("this system does not tell")
	}
	fstest.NotWines(t, "the Restart Manager is a stub")
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	name, other := filepath.Join(dir, "with spaces  two"), filepath.Join(dir, "d", "with spaces  two")
	for _, name := range []string{name, other} {
		if err := os.WriteFile(name, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	own, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if got := platform.Holders(name); len(got) != 0 {
		t.Errorf("this process alone: %v", got)
	}
	pid, end := holdFile(t, name)
	got := platform.Holders(name)
	if len(got) != 1 || got[0].PID != pid || got[0].Name == "" {
		t.Errorf("got %v, want process %d", got, pid)
	}
	if got := platform.Holders(other); len(got) != 0 {
		t.Errorf("no process holds the other file, but got %v", got)
	}
	if runtime.GOOS == "linux" { // an older file of the same name is another file
		if err := os.Rename(other, name); err != nil {
			t.Fatal(err)
		}
		if got := platform.Holders(name); len(got) != 0 {
			t.Errorf("no process holds the new file, but got %v", got)
		}
	}
	end()
	if got := platform.Holders(filepath.Join(dir, "missing")); got != nil {
		t.Errorf("of a missing file: %v", got)
	}
}

// TestHoldersOfAProgram finds a process by what it has mapped: it closed the file of its own program long ago.
func TestHoldersOfAProgram(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	testlevel.Slow(t)
	exe, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "a program")
	if err := os.WriteFile(name, exe, 0o755); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(name, "-test.run=^TestFileHolder$", "-test.v")
	child.Env = append(os.Environ(), heldFile+"="+os.DevNull)
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer input.Close()
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "held"; {
	}
	if got := platform.Holders(name); len(got) != 1 || got[0].PID != child.Process.Pid || got[0].Name != "a program" {
		t.Errorf("got %v, want process %d", got, child.Process.Pid)
	}
}
