package platform_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"collet/platform"
	"collet/platform/testlevel"
	"go.uber.org/goleak"
)

// patience is how long a test waits for something that takes milliseconds.
const patience = 20 * time.Second

// helpers are what this test binary does when StartProcess starts it.
var helpers = map[string]func(in, out *os.File, args []string) int{
	"echo":  helpEcho,
	"exit":  func(_, _ *os.File, args []string) int { return number(args[0]) },
	"print": helpPrint,
	"wait":  func(in, _ *os.File, _ []string) int { io.Copy(io.Discard, in); return 0 },
	"halt":  func(_, _ *os.File, args []string) int { platform.Halt(number(args[0])); return 99 },
	"deaf":  func(_, _ *os.File, _ []string) int { <-time.After(time.Hour); return 0 },
	"host":  helpHost,
	"getenv": func(_, out *os.File, args []string) int {
		wd, _ := os.Getwd()
		fmt.Fprintln(out, os.Getenv(args[0]), wd)
		return 0
	},
}

// init takes over when the binary is a child. No TestMain, since the package has only one.
func init() {
	if len(os.Args) < 3 || !strings.HasPrefix(os.Args[1], platform.ControlFlag) {
		return
	}
	in, out, err := platform.OpenControl(strings.TrimPrefix(os.Args[1], platform.ControlFlag))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(98)
	}
	os.Exit(helpers[os.Args[2]](in, out, os.Args[3:]))
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// helpEcho sends every line back in capitals until its input ends.
func helpEcho(in, out *os.File, _ []string) int {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		fmt.Fprintln(out, strings.ToUpper(lines.Text()))
	}
	return 0
}

// helpPrint prints what its arguments quote, in turns to standard output and standard error.
func helpPrint(_, _ *os.File, args []string) int {
	for i, quoted := range args {
		text, err := strconv.Unquote(quoted)
		if err != nil {
			return 97
		}
		fmt.Fprint([]*os.File{os.Stdout, os.Stderr}[i%2], text)
	}
	return 0
}

// helpHost starts a child that never looks at its control handles, tells its number and waits to be killed.
func helpHost(in, out *os.File, _ []string) int {
	exe, err := os.Executable()
	if err != nil {
		return 97
	}
	child, err := platform.StartProcess(platform.Command{Exe: exe, Args: []string{"deaf"}})
	if err != nil {
		return 97
	}
	fmt.Fprintln(out, child.Pid())
	in.Read(make([]byte, 1))
	return 0
}

// collector takes lines from any goroutine.
type collector struct {
	mu    sync.Mutex
	lines []string
}

func (c *collector) add(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, line)
}

func (c *collector) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lines)
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// start starts this binary as a helper and makes sure that it is gone when the test ends. Programs built with the race
// detector sleep for a second before they exit, unless told not to.
func start(t *testing.T, c platform.Command) *platform.Process {
	t.Helper()
	testlevel.Slow(t)
	c.Exe = self(t)
	if c.Env == nil {
		c.Env = os.Environ()
	}
	c.Env = platform.SetVariable(c.Env, "GORACE", "atexit_sleep_ms=0")
	p, err := platform.StartProcess(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		<-p.Done()
		p.From.Close()
		p.To.Close()
		goleak.VerifyNone(t)
	})
	return p
}

// wait waits for the end of p.
func wait(t *testing.T, p *platform.Process) platform.ProcessEnd {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Fatal("the process goes on")
	}
	return p.End()
}

func TestControlHandlesCarryBothDirections(t *testing.T) {
	p := start(t, platform.Command{Args: []string{"echo"}})
	answers := bufio.NewReader(p.From)
	for _, word := range []string{"eins", "zwei"} {
		if _, err := fmt.Fprintln(p.To, word); err != nil {
			t.Fatal(err)
		}
		if got, err := answers.ReadString('\n'); got != strings.ToUpper(word)+"\n" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	if err := p.To.Close(); err != nil {
		t.Fatal(err)
	}
	if end := wait(t, p); end != (platform.ProcessEnd{}) {
		t.Errorf("ended as %+v", end)
	}
	if rest, err := io.ReadAll(answers); len(rest) > 0 || err != nil {
		t.Errorf("after the end: %q, %v", rest, err)
	}
}

func TestExitCodeIsReported(t *testing.T) {
	p := start(t, platform.Command{Args: []string{"exit", "3"}})
	if end := wait(t, p); end.Code != 3 || end.String() != "exited with code 3" {
		t.Errorf("got %+v: %s", end, end)
	}
	p.Kill()
	if p.End().Killed {
		t.Error("a kill after the end counts")
	}
}

func TestHaltEndsAtOnce(t *testing.T) {
	if end := wait(t, start(t, platform.Command{Args: []string{"halt", "7"}})); end.Code == 99 || end.Code == 0 {
		t.Errorf("ended as %+v", end)
	}
}

func TestKillEndsAHangingChild(t *testing.T) {
	p := start(t, platform.Command{Args: []string{"wait"}})
	select {
	case <-p.Done():
		t.Fatal("ended by itself")
	default:
	}
	p.Kill()
	p.Kill()
	if end := wait(t, p); !end.Killed || end.String() != "was stopped" {
		t.Errorf("ended as %+v", end)
	}
}

func TestStartOfNothingFails(t *testing.T) {
	_, err := platform.StartProcess(platform.Command{Exe: self(t) + ".missing"})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	goleak.VerifyNone(t)
}

func TestEnvironmentAndFolderReachTheChild(t *testing.T) {
	dir := filepath.Dir(self(t))
	env := platform.SetVariable(os.Environ(), "COLLET_TEST", "new")
	p := start(t, platform.Command{Args: []string{"getenv", "COLLET_TEST"}, Env: env, Dir: dir})
	line, err := bufio.NewReader(p.From).ReadString('\n')
	if line != "new "+dir+"\n" {
		t.Errorf("got %q, %v", line, err)
	}
}

func TestOutputArrivesAsLines(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	split := strings.Repeat("a", 4095) + "é" + "b" // the two bytes of é stand on both sides of the limit
	tests := []struct {
		name, printed string
		lines         []string
	}{
		{"none", "", nil},
		{"one", "a\n", []string{"a"}},
		{"partial last", "a\nb", []string{"a", "b"}},
		{"empty", "\n\na\n", []string{"", "", "a"}},
		{"carriage returns", "a\r\nb\r", []string{"a", "b"}},
		{"exactly the limit", long[:4096] + "\n" + "y\n", []string{long[:4096], "y"}},
		{"pieces", long + "\n", []string{long[:4096], long[:4096], long[:10_000-2*4096]}},
		{"whole characters", split + "\n", []string{split[:4095], "éb"}},
		{"not text", "\xff\x01\xfe\n", []string{"\xff\x01\xfe"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out, errs collector
			p := start(t, platform.Command{
				Args: []string{"print", strconv.Quote(test.printed), strconv.Quote(test.printed)}, Stdout: out.add, Stderr: errs.add,
			})
			wait(t, p)
			if got := out.all(); !slices.Equal(got, test.lines) {
				t.Errorf("standard output: got %.100q, want %.100q", got, test.lines)
			}
			if got := errs.all(); !slices.Equal(got, test.lines) {
				t.Errorf("standard error: got %.100q, want %.100q", got, test.lines)
			}
		})
	}
}

func TestControlNumbersAreChecked(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	file, err := os.Open(self(t))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, numbers := range []string{
		"", "3", ",", "a,b", "-1,-1", "3,4,5", "18446744073709551615,4", "4294967295,4294967294",
		fmt.Sprintf("%d,%d", file.Fd(), w.Fd()), fmt.Sprintf("%d,%d", r.Fd(), file.Fd()),
	} {
		if _, _, err := platform.OpenControl(numbers); err == nil {
			t.Errorf("%q: accepted", numbers)
		}
	}
}

func TestVariablesAreReplaced(t *testing.T) {
	env := []string{"A=1", "B=2", "A=3", "=C:=C:\\games", "AB=4", "odd", ""}
	if got, want := platform.SetVariable(env, "A", "x=y"),
		[]string{"B=2", "=C:=C:\\games", "AB=4", "odd", "", "A=x=y"}; !slices.Equal(got, want) {
		t.Errorf("set: got %q, want %q", got, want)
	}
	if got := platform.DropVariable(env, "B"); slices.Contains(got, "B=2") || len(got) != len(env)-1 {
		t.Errorf("drop: got %q", got)
	}
	if !slices.Equal(env[:3], []string{"A=1", "B=2", "A=3"}) {
		t.Errorf("the list given was changed: %q", env)
	}
}
