package server

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"collet/netproto/server/limits"
)

// straight sends files to a socket by sendfile(2), with an offset of its own, so that connections share open files. It
// has the pace and the patience of a steady connection. One goroutine at a time.
type straight struct {
	to  *steady
	raw syscall.RawConn
}

// newStraight is nil if there is more between us and the network than a socket.
func newStraight(to *steady) *straight {
	tcp, bare := to.Conn.(*net.TCPConn)
	if !bare {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return &straight{to, raw}
}

// send writes head and then size bytes of in. The head waits in the socket for what follows, so that it is no packet of
// its own. Errors of the file are *fileError.
func (s *straight) send(head []byte, in *os.File, offset int64, size int) error {
	if err := s.to.allow(); err != nil {
		return err
	}
	for len(head) > 0 {
		n, err := s.try(func(socket int) (int, error) { return syscall.SendmsgN(socket, head, nil, nil, syscall.MSG_MORE) })
		if err != nil {
			return err
		}
		head = head[n:]
	}
	file, err := in.SyscallConn()
	if err != nil {
		return &fileError{err}
	}
	var fault error
	if err := file.Control(func(fd uintptr) { fault = s.pump(int(fd), offset, size) }); err != nil {
		return &fileError{err}
	}
	return fault
}

// pump moves size bytes from offset of the file, each maxStep of them within the time for progress.
func (s *straight) pump(file int, offset int64, size int) error {
	granted, moved := 0, limits.MaxStep
	for size > 0 {
		if granted == 0 {
			granted = size
			if s.to.bandwidth != nil {
				granted = min(size, s.to.bandwidth.Step)
				if err := s.to.bandwidth.Wait(s.to.broken, granted); err != nil {
					return net.ErrClosed
				}
				moved = limits.MaxStep // waiting was not the peer's time
			}
		}
		if moved >= limits.MaxStep {
			if err := s.to.allow(); err != nil {
				return err
			}
			moved = 0
		}
		n, err := s.try(func(socket int) (int, error) { return syscall.Sendfile(socket, file, &offset, granted) })
		switch {
		case errors.Is(err, syscall.EIO):
			return &fileError{err}
		case err != nil:
			return err
		case n == 0:
			return errShort
		}
		granted, size, moved = granted-n, size-n, moved+n
	}
	return nil
}

// try makes one call on the socket, when it can take something.
func (s *straight) try(call func(socket int) (int, error)) (n int, err error) {
	var fault error
	err = s.raw.Write(func(socket uintptr) bool {
		for {
			if n, fault = call(int(socket)); fault != syscall.EINTR {
				return fault != syscall.EAGAIN
			}
		}
	})
	if err != nil {
		return 0, err
	}
	if fault != nil {
		return 0, os.NewSyscallError("send", fault)
	}
	return n, nil
}

// allow gives the peer its time for the next step.
func (s *steady) allow() error { return s.SetWriteDeadline(time.Now().Add(s.progress)) }
