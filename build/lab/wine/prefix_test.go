package wine_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"collet/build/lab/wine"
	"collet/build/qa/screen"
)

// patience is how long a test waits for what takes seconds on an idle machine.
const patience = 5 * time.Minute

// probe is a program in Go: it does what its argument says.
const probe = `package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

func main() {
	switch os.Args[1] {
	case "where":
		cache, _ := os.UserCacheDir()
		fmt.Println(cache, os.TempDir(), os.Getenv("COLLET_GREETING"))
	case "code":
		code, _ := strconv.Atoi(os.Args[2])
		os.Exit(code)
	case "stay":
		fmt.Println("here")
		io.Copy(os.Stdout, os.Stdin)
		time.Sleep(time.Hour) // until it is stopped; with nothing but waiting goroutines Go would end it
	case "remove":
		dir, _ := os.MkdirTemp("", "remove-")
		os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755)
		os.WriteFile(filepath.Join(dir, "a", "b", "c"), nil, 0o444)
		root, _ := os.OpenRoot(dir)
		fmt.Println(root.Remove("a/b/c"), root.Close(), os.RemoveAll(dir))
		_, err := os.Stat(dir)
		fmt.Println(os.IsNotExist(err))
	case "write":
		fmt.Println(os.WriteFile(os.Args[2], []byte("written"), 0o644))
	}
}
`

// program builds the probe.
func program(t *testing.T) string {
	t.Helper()
	wine.Need(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module probe\n\ngo 1.24\n", "main.go": probe} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	exe := filepath.Join(dir, "probe.exe")
	if err := wine.Build(t.Context(), dir, ".", exe); err != nil {
		t.Fatal(err)
	}
	return exe
}

func run(t *testing.T, p *wine.Prefix, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	said, err := p.Run(ctx, program, args...)
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", filepath.Base(program), args, err, said)
	}
	return strings.TrimSpace(strings.ReplaceAll(said, "\r", ""))
}

// TestPrograms runs programs in a prefix of their own.
func TestPrograms(t *testing.T) {
	t.Setenv("LC_ALL", "C") // whatever the locale is, files may have any name
	exe := program(t)
	p := wine.For(t, wine.Options{Env: []string{"COLLET_GREETING=hello"}})

	if said := run(t, p, exe, "where"); !strings.HasPrefix(said, `C:\users\`) || !strings.HasSuffix(said, " hello") {
		t.Errorf("user's folders: %s", said)
	}
	var exit *exec.ExitError
	if _, err := p.Run(t.Context(), exe, "code", "31"); !errors.As(err, &exit) || exit.ExitCode() != 31 {
		t.Errorf("code 31 arrives as %v", err)
	}
	if said := run(t, p, exe, "remove"); said != "<nil> <nil> <nil>\ntrue" {
		t.Errorf("removing files: %s", said)
	}
	beside := filepath.Join(t.TempDir(), "a Schlüssel 鍵")
	if said := run(t, p, exe, "write", wine.Windows(beside)); said != "<nil>" {
		t.Errorf("writing to %s: %s", wine.Windows(beside), said)
	}
	if data, err := os.ReadFile(beside); string(data) != "written" {
		t.Errorf("it wrote %q, %v", data, err)
	}
	if said := run(t, p, exe, "write", `C:\here`); said != "<nil>" {
		t.Errorf(`writing to C:\: %s`, said)
	}
	if data, err := os.ReadFile(p.Unix(`c:\here`)); string(data) != "written" {
		t.Errorf("it wrote %q, %v", data, err)
	}
}

// TestPrefixesDoNotMeet: what one has another has not, and the end of one is not the end of another.
func TestPrefixesDoNotMeet(t *testing.T) {
	exe := program(t)
	first, second := wine.For(t, wine.Options{}), wine.For(t, wine.Options{})
	if err := os.WriteFile(filepath.Join(first.Drive(), "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(second.Drive(), "mine")); err == nil {
		t.Error("both have the same drive")
	}
	stays := stay(t, first, exe)
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
	stays.answer(t, "still here")
	if err := first.Stop(); err != nil {
		t.Error(err)
	}
	stays.Wait()
	if said := run(t, first, exe, "where"); said == "" {
		t.Error("nothing runs after a stop")
	}
}

// TestPreloader: programs are started by Wine's preloader, which keeps their heap from the address where Windows has what all
// programs share. Without it one start in thousands ends with code 1 and says nothing; setup.sh installs it.
func TestPreloader(t *testing.T) {
	p, exe := wine.For(t, wine.Options{}), program(t)
	stays := stay(t, p, exe)
	loader, err := os.Readlink("/proc/" + strconv.Itoa(stays.Process.Pid) + "/exe")
	if err != nil || !strings.Contains(filepath.Base(loader), "preloader") {
		t.Errorf("it was loaded by %q, %v; on Debian: apt-get install wine64-preloader", loader, err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	stays.Wait() // stopped
}

// staying is a program that runs until it is stopped, and repeats every line.
type staying struct {
	*exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

// stay starts a program and returns when it runs.
func stay(t *testing.T, p *wine.Prefix, exe string) staying {
	t.Helper()
	s := staying{Cmd: p.Command(t.Context(), exe, "stay")}
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if s.in, err = s.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewReader(out)
	if _, err := s.out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return s
}

// answer fails the test unless the program runs and repeats a line.
func (s staying) answer(t *testing.T, line string) {
	t.Helper()
	_, err := fmt.Fprintln(s.in, line)
	said, readErr := s.out.ReadString('\n')
	if err != nil || readErr != nil || strings.TrimSpace(said) != line {
		t.Errorf("the program repeats %q: %q, %v, %v", line, said, err, readErr)
	}
}

// TestCloseLeavesNothing ends programs and removes the prefix; the next prefix takes its place.
func TestCloseLeavesNothing(t *testing.T) {
	wine.Need(t)
	exe := program(t)
	p, err := wine.Open(t.Context(), wine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stays := p.Command(t.Context(), exe, "stay")
	if err := stays.Start(); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := stays.Wait(); err == nil {
		t.Error("the program ended well")
	}
	if _, err := os.Stat(p.Drive()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the prefix is still there: %v", err)
	}
}

// window is a program that shows a green window.
const window = `#include <windows.h>
int WINAPI WinMain(HINSTANCE i, HINSTANCE p, LPSTR c, int s)
{
    WNDCLASSA k = {.lpfnWndProc = DefWindowProcA, .hInstance = i, .lpszClassName = "green", .hbrBackground = CreateSolidBrush(RGB(0, 200, 0))};
    MSG m;
    (void)p; (void)c; (void)s;
    RegisterClassA(&k);
    CreateWindowA("green", "Green", WS_POPUP | WS_VISIBLE, 10, 20, 100, 50, NULL, NULL, i, NULL);
    while (GetMessageA(&m, NULL, 0, 0) > 0)
        DispatchMessageA(&m);
    return 0;
}
`

// TestScreen shows a window and looks at it.
func TestScreen(t *testing.T) {
	p := wine.For(t, wine.Options{Screen: image.Pt(320, 200)})
	dir := t.TempDir()
	source, exe := filepath.Join(dir, "window.c"), filepath.Join(dir, "window.exe")
	if err := os.WriteFile(source, []byte(window), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := wine.Compile(t.Context(), exe, "-mwindows", source); err != nil {
		t.Fatal(err)
	}
	cmd := p.Command(t.Context(), exe)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := p.Screen().WaitWindow(ctx, func(w screen.Window) bool { return w.Name == "Green" })
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		m, err := p.Screen().Shot()
		if err != nil {
			t.Fatal(err)
		}
		at := m.NRGBAAt(60, 45)
		return at.G == 200 && at.R == 0
	}, "never green")
	if w.Bounds != image.Rect(10, 20, 110, 70) {
		t.Errorf("it is at %v", w.Bounds)
	}
	cmd.Process.Kill()
	cmd.Wait()
}

func TestNames(t *testing.T) {
	for path, want := range map[string]string{"/a/b c": `Z:\a\b c`, "a/b": `a\b`, `C:\x`: `C:\x`, "": ""} {
		if got := wine.Windows(path); got != want {
			t.Errorf("%q is %q, want %q", path, got, want)
		}
	}
}

func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := wine.Missing(); !errors.Is(err, wine.ErrMissing) {
		t.Errorf("without anything: %v", err)
	}
	if _, err := wine.Open(t.Context(), wine.Options{}); !errors.Is(err, wine.ErrMissing) {
		t.Errorf("opened: %v", err)
	}
}
