//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"syscall"

	"collet/platform"
)

// upgradeSignals are the signals that ask for an upgrade.
func upgradeSignals() []os.Signal { return []os.Signal{syscall.SIGUSR2} }

// startSuccessor starts a program with the arguments and the open sockets of this process. The descriptors are passed on as they are:
// exec.Cmd would take them out of non-blocking mode, here too.
func (r *running) startSuccessor(program string) (*successor, error) {
	state, itsState, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer itsState.Close()
	itsGo, goes, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, state.Close())
	}
	defer itsGo.Close()
	s := &successor{
		state: state, lines: bufio.NewReaderSize(state, maxState),
		proceed: func() { fmt.Fprintln(goes) }, // a new process that has ended shows in its state
		release: func() { state.Close(); goes.Close() },
	}
	names, open := r.handOver()
	files := []uintptr{0, 1, 2}
	for _, listener := range open {
		raw, err := listener.(syscall.Conn).SyscallConn()
		if err == nil {
			err = raw.Control(func(fd uintptr) { files = append(files, fd) })
		}
		if err != nil {
			s.release()
			return nil, fmt.Errorf("pass on %s: %w", listener.Addr(), err)
		}
	}
	names, files = append(names, pipeState, pipeGo), append(files, itsState.Fd(), itsGo.Fd())
	pid, _, err := syscall.StartProcess(program, os.Args, &syscall.ProcAttr{Files: files, Env: environment(names)})
	if err != nil {
		s.release()
		return nil, fmt.Errorf("start %s: %w", program, platform.Reason(err))
	}
	if s.process, err = os.FindProcess(pid); err != nil {
		s.release() // which ends the new process
		return nil, err
	}
	return s, nil
}
