//go:build unix

package platform

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// firstExtra is the number that exec(3) gives the first of exec.Cmd.ExtraFiles; 0, 1 and 2 are the standard streams.
const firstExtra = 3

// attach hands the child its ends as the numbers 3 and 4 and gives it a process group of its own (setpgid(2)).
func attach(cmd *exec.Cmd, pipes *controlPipes) (numbers string, err error) {
	cmd.ExtraFiles = []*os.File{pipes.childFrom, pipes.childTo}
	cmd.SysProcAttr = childAttributes()
	return strconv.Itoa(firstExtra) + "," + strconv.Itoa(firstExtra+1), nil
}

// tree is a process and the group that it leads.
type tree struct{ leader *os.Process }

func newTree(leader *os.Process) tree { return tree{leader} }

// kill is kill(2) with SIGKILL, first for the leader, which may have left its group, then for the group. It reports
// whether the leader was there to be killed: the os package knows when its number was given back, and then the number of
// the group is not ours either. A group without members is fine.
func (t tree) kill() bool {
	if t.leader.Kill() != nil {
		return false
	}
	_ = unix.Kill(-t.leader.Pid, unix.SIGKILL)
	return true
}

// release has nothing to give back; what is left of the group goes on.
func (t tree) release() {}

// endOf reads the wait status of wait4(2).
func endOf(state *os.ProcessState) ProcessEnd {
	status, known := state.Sys().(syscall.WaitStatus)
	if !known || !status.Signaled() {
		return ProcessEnd{Code: state.ExitCode()}
	}
	sig := status.Signal()
	end := ProcessEnd{Code: -1, Signal: unix.SignalName(sig), Meaning: sig.String(), Core: status.CoreDump()}
	if end.Signal == "" { // a real-time signal has a number only
		end.Signal, end.Meaning = "SIG"+strconv.Itoa(int(sig)), ""
	}
	end.Asked = sig == unix.SIGTERM || sig == unix.SIGINT || sig == unix.SIGHUP
	return end
}

// isKill reports whether e is what kill leaves behind.
func isKill(e ProcessEnd) bool { return e.Signal == "SIGKILL" }

// checkControl asks fstat(2) for the kind and fcntl(2) for the direction. The standard streams are never taken.
func checkControl(handle uintptr, write bool) error {
	fd := int(handle)
	if fd < firstExtra {
		return errNoPipe
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		return errNoPipe
	}
	flags, err := unix.FcntlInt(handle, unix.F_GETFL, 0)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	if access := flags & unix.O_ACCMODE; write && access != unix.O_WRONLY || !write && access != unix.O_RDONLY {
		return errDirection
	}
	return nil
}

// openControl sets close-on-exec before anything else, and non-blocking mode, so that Close ends a Read.
func openControl(handle uintptr, name string) (*os.File, error) {
	unix.CloseOnExec(int(handle))
	if err := unix.SetNonblock(int(handle), true); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	if f := os.NewFile(handle, name); f != nil {
		return f, nil
	}
	return nil, &os.PathError{Op: "open", Path: name, Err: errors.ErrUnsupported}
}
