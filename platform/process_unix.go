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

// attach passes the child its pipe ends as file descriptors 3 and 4, and gives it its own process group (setpgid(2)).
func attach(cmd *exec.Cmd, pipes *controlPipes) (numbers string, err error) {
	cmd.ExtraFiles = []*os.File{pipes.childFrom, pipes.childTo}
	cmd.SysProcAttr = childAttributes()
	return strconv.Itoa(firstExtra) + "," + strconv.Itoa(firstExtra+1), nil
}

// tree is a process and the group that it leads.
type tree struct{ leader *os.Process }

func newTree(leader *os.Process) tree { return tree{leader} }

// kill is kill(2) with SIGKILL, first for the leader, which may have left its group, then for the group. It reports whether the leader
// was still running: the os package knows when its id was released, and then the id of the group may belong to others. An empty group
// is not an error.
func (t tree) kill() bool {
	if t.leader.Kill() != nil {
		return false
	}
	_ = unix.Kill(-t.leader.Pid, unix.SIGKILL)
	return true
}

// release does nothing; the rest of the group continues.
func (t tree) release() {}

// endOf converts the state of an ended process.
func endOf(state *os.ProcessState) ProcessEnd {
	status, known := state.Sys().(syscall.WaitStatus)
	if !known {
		return ProcessEnd{Code: state.ExitCode()}
	}
	return endOfStatus(unix.WaitStatus(status))
}

// endOfStatus converts the wait status of wait4(2).
func endOfStatus(status unix.WaitStatus) ProcessEnd {
	if !status.Signaled() {
		return ProcessEnd{Code: status.ExitStatus()}
	}
	sig := status.Signal()
	end := ProcessEnd{Code: -1, Signal: unix.SignalName(sig), Meaning: sig.String(), Core: status.CoreDump()}
	if end.Signal == "" { // a real-time signal has only a number
		end.Signal, end.Meaning = "SIG"+strconv.Itoa(int(sig)), ""
	}
	end.Asked = sig == unix.SIGTERM || sig == unix.SIGINT || sig == unix.SIGHUP
	return end
}

// isKill reports whether e is the end by kill.
func isKill(e ProcessEnd) bool { return e.Signal == "SIGKILL" }

// checkControl checks the kind with fstat(2) and the direction with fcntl(2). It rejects the standard streams.
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
