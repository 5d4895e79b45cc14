package platform

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

type family struct{}

// open must be called on the main thread: the kernel keeps the signal of PR_SET_PDEATHSIG for the calling thread.
func (family) open() error {
	return errors.Join(
		os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)),
		os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0)))
}

// procStat is what members reads of /proc/PID/stat, see proc(5).
type procStat struct {
	parent int
	zombie bool
}

func (family) members(own int) (alive []Member, ended map[int]ProcessEnd) {
	all := processTable()
	self := os.Getpid()
	for pid, stat := range all {
		if !descends(all, pid, self) {
			continue
		}
		if !stat.zombie {
			proc := filepath.Join("/proc", strconv.Itoa(pid))
			exe, _ := os.Readlink(filepath.Join(proc, "exe"))
			dir, _ := os.Readlink(filepath.Join(proc, "cwd"))
			alive = append(alive, Member{Pid: pid, Exe: exe, Dir: dir})
			continue
		}
		if own < 0 || pid == own || stat.parent != self {
			continue
		}
		var status unix.WaitStatus
		if reaped, err := unix.Wait4(pid, &status, unix.WNOHANG, nil); err == nil && reaped == pid {
			if ended == nil {
				ended = map[int]ProcessEnd{}
			}
			ended[pid] = endOfStatus(status)
		}
	}
	return alive, ended
}

// processTable has all processes of the system except this one.
func processTable() map[int]procStat {
	all := map[int]procStat{}
	for _, pid := range processes() {
		data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err != nil {
			continue // it has ended meanwhile
		}
		// The name between parentheses may contain any character: "1234 (a) b) S 1 …".
		fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		if len(fields) < 2 {
			continue
		}
		parent, err := strconv.Atoi(string(fields[1]))
		if err == nil {
			all[pid] = procStat{parent: parent, zombie: fields[0][0] == 'Z' || fields[0][0] == 'X'}
		}
	}
	return all
}

// descends reports whether pid is a descendant of head. The list may be inconsistent, so the walk is limited.
func descends(all map[int]procStat, pid, head int) bool {
	for range len(all) {
		stat, known := all[pid]
		switch {
		case !known:
			return false
		case stat.parent == head:
			return true
		}
		pid = stat.parent
	}
	return false
}

func memberAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
