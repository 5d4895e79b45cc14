package platform_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"collet/platform"
	"collet/platform/testwait"
)

// More helpers; the table is complete before any init runs. What helpRelaunch starts has no control handles.
var _ = func() bool {
	if turn := os.Getenv("COLLET_TURN"); turn != "" && len(os.Args) == 2 {
		fmt.Println(turn, os.Args[1])
		os.Exit(0)
	}
	helpers["fault"] = func(_, _ *os.File, args []string) int { windows.ExitProcess(uint32(number(args[0]))); return 0 }
	helpers["handles"] = helpHandles
	helpers["probe"] = helpProbe
	helpers["relaunch"] = helpRelaunch
	helpers["parent"] = helpParent
	return true
}()

// helpParent starts a deaf process, not with StartProcess, and tells its number.
func helpParent(in, out *os.File, args []string) int {
	exe, err := os.Executable()
	if err != nil {
		return 97
	}
	r, w, err := os.Pipe()
	if err != nil {
		return 97
	}
	child := exec.Command(exe, platform.ControlFlag+fmt.Sprintf("%d,%d", r.Fd(), w.Fd()), "deaf")
	child.SysProcAttr = &syscall.SysProcAttr{}
	child.SysProcAttr.AdditionalInheritedHandles = inheritable(r, w)
	if err := child.Start(); err != nil {
		return 97
	}
	fmt.Fprintln(out, child.Process.Pid)
	if args[0] == "stay" {
		in.Read(make([]byte, 1))
	}
	return 0
}

// inheritable lists the handles of files; os.Pipe makes handles that can be inherited.
func inheritable(files ...*os.File) (handles []syscall.Handle) {
	for _, f := range files {
		handles = append(handles, syscall.Handle(f.Fd()))
	}
	return handles
}

// helpHandles starts a probe of its own control handles.
func helpHandles(in, out *os.File, _ []string) int {
	process := platform.Command{Args: []string{"probe", fmt.Sprint(in.Fd()), fmt.Sprint(out.Fd())}}
	var err error
	if process.Exe, err = os.Executable(); err != nil {
		return 97
	}
	process.Stdout = func(line string) { fmt.Println(line) }
	child, err := platform.StartProcess(process)
	if err != nil {
		return 97
	}
	return child.End().Code
}

// helpProbe exits with the number of handles among args that it has as pipes.
func helpProbe(_, _ *os.File, args []string) int {
	open := 0
	for _, handle := range args {
		if kind, err := windows.GetFileType(windows.Handle(number(handle))); err == nil && kind == windows.FILE_TYPE_PIPE {
			open++
		}
	}
	return open
}

// helpRelaunch starts itself anew beside itself and stays until it is told to go.
func helpRelaunch(in, _ *os.File, _ []string) int {
	env := platform.SetVariable(append(os.Environ(), "collet_turn=old"), "COLLET_TURN", "new")
	exe, err := os.Executable()
	if err != nil || platform.Relaunch(exe, []string{"some argument"}, env) != nil {
		return 97
	}
	in.Read(make([]byte, 1))
	return 5
}

// alive reports whether a process runs.
func alive(process windows.Handle) bool { return goesOn(process, 0) }

// goesOn waits some milliseconds for the end of a process, and is true if that does not come.
func goesOn(process windows.Handle, milliseconds uint32) bool {
	event, err := windows.WaitForSingleObject(process, milliseconds)
	return err == nil && event == uint32(windows.WAIT_TIMEOUT)
}

// told opens the process whose number a helper tells. The handle is opened while the process runs: later its number may be that of another.
func told(t *testing.T, p *platform.Process) windows.Handle {
	t.Helper()
	line, err := bufio.NewReader(p.From).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	process, err := windows.OpenProcess(windows.SYNCHRONIZE|windows.PROCESS_TERMINATE, false, uint32(number(strings.TrimSpace(line))))
	if err != nil {
		t.Fatalf("the child of the child does not run: %v", err)
	}
	t.Cleanup(func() {
		_ = windows.TerminateProcess(process, 1) // it may have ended
		windows.CloseHandle(process)
	})
	if !alive(process) {
		t.Fatal("the child of the child does not run")
	}
	return process
}

func TestExceptionsAreNamed(t *testing.T) {
	tests := []struct {
		code  uint32
		want  string
		asked bool
	}{
		{0xC0000005, "ended by exception STATUS_ACCESS_VIOLATION (access violation)", false},
		{0xC000013A, "ended by exception STATUS_CONTROL_C_EXIT (Ctrl-C or a closed console)", true},
		{0xC0001234, "ended by exception 0xC0001234", false},
		{0xE06D7363, "ended by exception 0xE06D7363 (C++ exception)", false},
		{0x80000003, "exited with code 2147483651 (-2147483645)", false},
		{0xFFFFFFFF, "exited with code 4294967295 (-1)", false},
	}
	for _, test := range tests {
		end := wait(t, start(t, platform.Command{Args: []string{"fault", fmt.Sprint(test.code)}}))
		if end.String() != test.want || end.Asked != test.asked || end.Code != int(test.code) {
			t.Errorf("%#x: %+v: %s", test.code, end, end)
		}
	}
}

func TestChildDiesWithAKilledHost(t *testing.T) {
	host := start(t, platform.Command{Args: []string{"host"}})
	child := told(t, host)
	process, err := os.FindProcess(host.Pid())
	if err != nil {
		t.Fatal(err)
	}
	defer process.Release()
	if err := process.Kill(); err != nil { // the host alone, not its job
		t.Fatal(err)
	}
	wait(t, host)
	testwait.Until(t, func() bool { return !alive(child) }, "the child ends with its host")
}

func TestKillTakesTheJobAlong(t *testing.T) {
	p := start(t, platform.Command{Args: []string{"parent", "stay"}})
	child := told(t, p)
	p.Kill()
	if end := wait(t, p); !end.Killed {
		t.Errorf("ended as %+v", end)
	}
	testwait.Until(t, func() bool { return !alive(child) }, "what the child started ends")
}

func TestAnOrdinaryEndLeavesTheJobAlone(t *testing.T) {
	p := start(t, platform.Command{Args: []string{"parent", "leave"}})
	child := told(t, p)
	if end := wait(t, p); end.Code != 0 || end.Killed {
		t.Errorf("ended as %+v", end)
	}
	if !goesOn(child, 50) {
		t.Error("what the child started was killed")
	}
}

func TestNothingElseInheritsTheControlHandles(t *testing.T) {
	if end := wait(t, start(t, platform.Command{Args: []string{"handles"}})); end.Code != 0 {
		t.Errorf("the child of the child: %s", end)
	}
}

func TestRelaunchStartsBesideAndReplacesVariables(t *testing.T) {
	said := make(chan string, 10)
	p := start(t, platform.Command{
		Args: []string{"relaunch"}, Stdout: func(line string) { said <- line }, Stderr: func(line string) { said <- line },
	})
	select {
	case got := <-said:
		if got != "new some argument" {
			t.Errorf("got %q", got)
		}
	case <-time.After(patience):
		t.Error("nothing was started")
	}
	p.To.Close()
	if end := wait(t, p); end.Code != 5 {
		t.Errorf("ended as %s", end)
	}
}
