package wine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"collet/build/demo"
	"collet/build/lab/wine"
	"collet/build/qa/process"
	"collet/build/testprograms"
	"collet/runtime/sample"
)

// shared is a folder that lives as long as this test program.
var shared string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "collet-wine-")
	if err != nil {
		panic(err)
	}
	shared = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// stage is what the tests of the client share: the programs as players have them, and two releases of the sample game.
type stage struct {
	client     string
	holder     string    // holds a file: holder FILE open|load MILLISECONDS
	executable string    // a game that is a program, testdata/game.c
	console    string    // the same with a console
	modules    [2]string // of release 1 and 2
	packs      [2]string // folders
}

// compatibility of both releases.
var compatibility = [2]string{"wine-1", "wine-2"}

var staged = sync.OnceValues(func() (*stage, error) {
	ctx := context.Background()
	s := &stage{
		client: filepath.Join(shared, "client.exe"), holder: filepath.Join(shared, "holder.exe"),
		executable: filepath.Join(shared, "game.exe"), console: filepath.Join(shared, "console.exe"),
	}
	if err := wine.BuildClient(ctx, ".", s.client); err != nil {
		return nil, err
	}
	source := filepath.Join(shared, "holder.c")
	if err := errors.Join(os.WriteFile(source, []byte(holder), 0o644), wine.Compile(ctx, s.holder, source)); err != nil {
		return nil, err
	}
	text := filepath.Join("testdata", "game.c")
	if err := errors.Join(wine.Compile(ctx, s.executable, text, "-mwindows"), wine.Compile(ctx, s.console, text, "-lgdi32")); err != nil {
		return nil, err
	}
	if _, err := demo.BuildPacks(shared); err != nil {
		return nil, err
	}
	for i := range s.modules {
		folder := filepath.Join(shared, fmt.Sprintf("release-%d", i+1))
		s.modules[i], s.packs[i] = filepath.Join(folder, "Lathe.dll"), filepath.Join(folder, "Resources")
		err := sample.Build(ctx, sample.Options{
			Release: i + 1, Compatibility: compatibility[i], BuildHash: fmt.Sprint("wine-", i+1), Output: s.modules[i], Compiler: wine.Compiler,
		})
		if err != nil {
			return nil, err
		}
	}
	return s, nil
})

// holder opens a file so that no other process may write, rename or remove it, or loads it as a library, says so, and lets go
// of it after a while.
const holder = `#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    HANDLE file = INVALID_HANDLE_VALUE;
    HMODULE library = NULL;
    if (argc != 4)
        return 2;
    if (!strcmp(argv[2], "load"))
        library = LoadLibraryA(argv[1]);
    else
        file = CreateFileA(argv[1], GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
    if (!library && file == INVALID_HANDLE_VALUE)
        return 3;
    puts("held");
    fflush(stdout);
    Sleep(atoi(argv[3]));
    return 0;
}
`

// player is a computer with the game on it.
type player struct {
	t      *testing.T
	server string // the program
	*stage
	*wine.Prefix
}

func newPlayer(t *testing.T, o wine.Options) player {
	t.Helper()
	p := wine.For(t, o)
	s, err := staged()
	if err != nil {
		t.Fatal(err)
	}
	return player{t, testprograms.Server(t), s, p}
}

// in is the same computer in another test.
func (p player) in(t *testing.T) player { return player{t, p.server, p.stage, p.Prefix} }

func (p player) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// game is an installed game.
type game struct {
	player
	dir  string // on this machine
	data string // where it writes
}

// install lays release 1 out in a folder of the drive C:.
func (p player) install(folder string) game {
	p.t.Helper()
	dir := p.Unix(folder)
	p.must(os.MkdirAll(dir, 0o755))
	p.copy(p.client, filepath.Join(dir, "Lathe.exe"))
	p.copy(p.modules[0], filepath.Join(dir, "Lathe.dll"))
	p.must(os.CopyFS(filepath.Join(dir, "Resources"), os.DirFS(p.packs[0])))
	return game{p, dir, dir}
}

func (p player) copy(from, to string) {
	p.t.Helper()
	data, err := os.ReadFile(from)
	p.must(err)
	p.must(os.WriteFile(to, data, 0o755))
}

// serve offers release 2 for Windows from a server of this machine, and returns its address.
func (p player) serve() string {
	p.t.Helper()
	dir := p.t.TempDir()
	binaries := filepath.Join(dir, "PlatformBinaries", "Windows-win64")
	p.must(os.MkdirAll(binaries, 0o755))
	p.copy(p.modules[1], filepath.Join(binaries, "Lathe.dll"))
	p.must(os.CopyFS(filepath.Join(dir, "Resources"), os.DirFS(p.packs[1])))
	settings := filepath.Join(dir, "server.toml")
	p.must(os.WriteFile(settings, fmt.Appendf(nil, "CompatibilityVersion = %q\n", compatibility[1]), 0o644))
	process, address, err := process.StartServer(p.t.Context(), p.server, settings, 0)
	p.must(err)
	p.t.Cleanup(func() { process.Stop(patience) })
	return address
}

// command prepares the client.
func (g game) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	g.t.Cleanup(cancel)
	cmd := g.Command(ctx, filepath.Join(g.dir, "Lathe.exe"), args...)
	cmd.Dir = g.dir
	return cmd
}

// start starts the client and sees to its end.
func (g game) start(args ...string) *exec.Cmd {
	g.t.Helper()
	cmd := g.command(args...)
	g.must(cmd.Start())
	g.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	return cmd
}

// play runs the client without a window, wants an exit code, and returns what it printed.
func (g game) play(code int, args ...string) string {
	g.t.Helper()
	said := filepath.Join(g.t.TempDir(), "said")
	out, err := os.Create(said)
	g.must(err)
	defer out.Close()
	cmd := g.command(append([]string{"--headless", "--trust", "sha256"}, args...)...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); cmd.ProcessState == nil {
		g.t.Fatal(err)
	}
	text, err := os.ReadFile(said)
	g.must(err)
	if got := cmd.ProcessState.ExitCode(); got != code {
		g.t.Fatalf("%q ended with %d, want %d:\n%s\n%s", args, got, code, text, g.log())
	}
	return string(text)
}

// log is what the client wrote about itself.
func (g game) log() string {
	text, err := os.ReadFile(filepath.Join(g.data, "Lathe.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		g.t.Fatal(err)
	}
	return string(text)
}

// waitLog waits for a line in the log.
func (g game) waitLog(pattern string) {
	g.t.Helper()
	line := regexp.MustCompile(pattern)
	g.wait("the log has no "+pattern, func() bool { return line.MatchString(g.log()) })
}

// wantLog checks that a line is in the log n times.
func (g game) wantLog(n int, text string) {
	g.t.Helper()
	if got := strings.Count(g.log(), text); got != n {
		g.t.Errorf("the log has %s %d times, want %d:\n%s", text, got, n, g.log())
	}
}

func (p player) wait(failure string, reached func() bool) {
	p.t.Helper()
	eventually(p.t, reached, failure)
}

// eventually waits for what a program for Windows does: nothing of it can be waited for but by looking.
func eventually(t *testing.T, is func() bool, otherwise string) {
	t.Helper()
	late := time.After(patience)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !is() {
		select {
		case <-late:
			t.Fatal(otherwise)
		case <-look.C:
		}
	}
}

// same compares two files.
func (p player) same(a, b string) {
	p.t.Helper()
	dataA, err := os.ReadFile(a)
	p.must(err)
	dataB, err := os.ReadFile(b)
	p.must(err)
	if !bytes.Equal(dataA, dataB) {
		p.t.Errorf("%s and %s differ", a, b)
	}
}

// updated checks that release 2 is live, and that nothing of the way to it is left.
func (g game) updated() {
	g.t.Helper()
	g.same(filepath.Join(g.data, "Lathe.dll"), g.modules[1])
	for _, pack := range []string{"Core.zip", "Art.zip", "Levels.zip"} {
		g.same(filepath.Join(g.data, "Resources", pack), filepath.Join(g.packs[1], pack))
	}
	for _, left := range []string{"Lathe.dll-staging", "Lathe.dll.bak"} {
		if _, err := os.Stat(filepath.Join(g.data, left)); err == nil {
			g.t.Errorf("%s is left", left)
		}
	}
}

// hold has another program hold a file of the game for a while; it is held when this returns.
func (g game) hold(name, how string, duration time.Duration) *exec.Cmd {
	g.t.Helper()
	cmd := g.Command(g.t.Context(), g.holder, wine.Windows(filepath.Join(g.dir, name)), how, fmt.Sprint(duration.Milliseconds()))
	out, err := cmd.StdoutPipe()
	g.must(err)
	g.must(cmd.Start())
	if n, err := out.Read(make([]byte, 16)); n == 0 {
		g.t.Fatalf("%s is not held: %v", name, err)
	}
	g.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	return cmd
}
