//go:build unix

package platform_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"collet/platform"
	"collet/platform/testwait"
)

// More helpers; the table is complete before any init runs.
var _ = func() bool {
	helpers["shell"] = helpShell
	helpers["relaunch"] = helpRelaunch
	helpers["parent"] = helpParent
	helpers["handles"] = helpHandles
	return true
}()

// helpShell becomes a shell that runs a script; the Go runtime is gone, so signals do what the system says.
func helpShell(_, _ *os.File, args []string) int {
	fmt.Fprintln(os.Stderr, platform.Relaunch("/bin/sh", []string{"-c", args[0]}, nil))
	return 97
}

// helpRelaunch starts itself again and again in place, as often as its first argument says, and tells its number.
func helpRelaunch(_, _ *os.File, args []string) int {
	fmt.Println(os.Getpid(), os.Getenv("COLLET_TURN"))
	left := number(args[0])
	if left == 0 {
		return 0
	}
	env := platform.SetVariable(append(os.Environ(), "COLLET_TURN=old"), "COLLET_TURN", args[0])
	// The control handles close with the exec, so the new one is a plain program: env(1) prints what it got.
	fmt.Fprintln(os.Stderr, platform.Relaunch("/bin/sh", []string{"-c", "echo $$ $COLLET_TURN; env | grep -c COLLET_TURN"}, env))
	return 97
}

// helpParent starts a shell script that goes on without it, tells when that runs, and does as args[1] says.
func helpParent(in, out *os.File, args []string) int {
	child := exec.Command("/bin/sh", "-c", args[0])
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 97
	}
	fmt.Fprintln(out, child.Process.Pid)
	if args[1] == "stay" {
		in.Read(make([]byte, 1))
	}
	return 0
}

// helpHandles starts a shell that lists its open handles.
func helpHandles(_, _ *os.File, _ []string) int {
	list := exec.Command("/bin/sh", "-c", "for n in 3 4 5 6; do if (: >&$n) 2>/dev/null || (: <&$n) 2>/dev/null; then echo open $n; fi; done; echo done")
	list.Stdout, list.Stderr = os.Stdout, os.Stderr
	if list.Run() != nil {
		return 97
	}
	return 0
}

func TestSignalsAreNamed(t *testing.T) {
	tests := []struct {
		script string
		want   string
		asked  bool
	}{
		{"kill -SEGV $$", "ended by signal SIGSEGV (segmentation fault)", false},
		{"kill -ABRT $$", "ended by signal SIGABRT (aborted)", false},
		{"kill -KILL $$", "ended by signal SIGKILL (killed)", false},
		{"kill -TERM $$", "ended by signal SIGTERM (terminated)", true},
		{"kill -HUP $$", "ended by signal SIGHUP (hangup)", true},
		{"exit 139", "exited with code 139", false},
		{"kill -40 $$", "ended by signal SIG40", false},
	}
	for _, test := range tests {
		t.Run(test.script, func(t *testing.T) {
			if strings.Contains(test.script, "HUP") && signal.Ignored(syscall.SIGHUP) {
				t.Skip("the parent of this test ignores the signal, and so do all its children")
			}
			end := wait(t, start(t, platform.Command{Args: []string{"shell", test.script}}))
			if got, _, _ := strings.Cut(end.String(), ", core written"); got != test.want || end.Asked != test.asked {
				t.Errorf("got %+v: %s, want %s", end, end, test.want)
			}
		})
	}
}

func TestRelaunchKeepsTheNumberAndReplacesVariables(t *testing.T) {
	var out, errs collector
	p := start(t, platform.Command{
		Args: []string{"relaunch", "2"}, Stdout: out.add, Stderr: errs.add,
		Env: platform.SetVariable(os.Environ(), "COLLET_TURN", "1"),
	})
	if end := wait(t, p); end.Code != 0 {
		t.Fatalf("%s: %q", end, errs.all())
	}
	want := fmt.Sprintf("%d 1|%d 2|1", p.Pid(), p.Pid())
	if got := strings.Join(out.all(), "|"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRelaunchOfNothingReturns(t *testing.T) {
	if err := platform.Relaunch(filepath.Join(t.TempDir(), "missing"), nil, nil); !os.IsNotExist(err) {
		t.Errorf("got %v", err)
	}
}

func TestNothingElseInheritsTheControlHandles(t *testing.T) {
	var out collector
	wait(t, start(t, platform.Command{Args: []string{"handles"}, Stdout: out.add, Stderr: out.add}))
	if got := out.all(); strings.Join(got, "|") != "done" {
		t.Errorf("the child of the child has open handles: %q", got)
	}
}

func TestControlDirectionIsChecked(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for _, numbers := range []string{fmt.Sprintf("%d,%d", w.Fd(), r.Fd()), "0,1", "1,2"} {
		if _, _, err := platform.OpenControl(numbers); err == nil {
			t.Errorf("%q: accepted", numbers)
		}
	}
}

func TestChildHasItsOwnGroup(t *testing.T) {
	p := start(t, platform.Command{Args: []string{"wait"}})
	if group, err := syscall.Getpgid(p.Pid()); err != nil || group != p.Pid() {
		t.Errorf("group %d of process %d, %v", group, p.Pid(), err)
	}
}

// startParent starts a helper that starts a script, and returns the number of the script's process.
func startParent(t *testing.T, script, then string) (p *platform.Process, started int) {
	t.Helper()
	p = start(t, platform.Command{Args: []string{"parent", script, then}, Stdout: func(string) {}})
	line, err := bufio.NewReader(p.From).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid := number(strings.TrimSpace(line))
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	return p, pid
}

func TestKillTakesTheGroupAlong(t *testing.T) {
	p, script := startParent(t, "exec sleep 1000", "stay")
	p.Kill()
	if end := wait(t, p); !end.Killed {
		t.Errorf("ended as %+v", end)
	}
	testwait.Until(t, func() bool { return !testwait.Alive(script) }, "what the child started ends")
}

func TestAnOrdinaryEndLeavesTheGroupAloneAndIsNotHeldUp(t *testing.T) {
	begin := time.Now()
	ask, answer := fifo(t), fifo(t)
	p, _ := startParent(t, "exec cat <"+ask.Name()+" >"+answer.Name(), "leave")                   // what it says of errors goes where ours would
	testwait.Until(t, func() bool { return syscall.Kill(p.Pid(), 0) != nil }, "the process ends") // until its end was collected
	p.Kill()                                                                                      // too late: only its output is still open, and its number may belong to another process
	if end := wait(t, p); end.Code != 0 || end.Killed {
		t.Errorf("ended as %+v", end)
	}
	if took := time.Since(begin); took > patience/2 {
		t.Errorf("the open output held the end up for %s", took)
	}
	if _, err := ask.WriteString("here?"); err != nil {
		t.Fatal(err)
	}
	if err := answer.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(answer, make([]byte, 5)); err != nil {
		t.Errorf("what the child started was killed: %v", err)
	}
}

// fifo is a pipe with a name, open at both ends.
func fifo(t *testing.T) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
