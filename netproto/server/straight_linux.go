package server

import (
	"errors"
	"net"
	"os"
	"syscall"

	"collet/netproto/server/limits"
)

// straight sends files to a socket by sendfile(2), with an explicit offset, so connections share open files. It has the deadlines
// and the rate limit of its Conn. Not safe for concurrent use.
type straight struct {
	to  *limits.Conn
	raw syscall.RawConn
}

// newStraight is nil unless the connection is a bare TCP socket.
func newStraight(to *limits.Conn) *straight {
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

// send writes head and then size bytes of in. MSG_MORE keeps the head from becoming a packet of its own. Errors of the file are
// *fileError.
func (s *straight) send(head []byte, in *os.File, offset int64, size int) error {
	if err := s.to.ExtendDeadline(); err != nil {
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

// pump sends size bytes of the file from offset on. Every MaxStep bytes have the time for progress.
func (s *straight) pump(file int, offset int64, size int) error {
	granted, moved := 0, limits.MaxStep
	for size > 0 {
		if granted == 0 {
			granted = size
			if s.to.Bandwidth != nil {
				granted = min(size, s.to.Step())
				if err := s.to.Wait(granted); err != nil {
					return err
				}
				moved = limits.MaxStep // the wait does not count as the peer's
			}
		}
		if moved >= limits.MaxStep {
			if err := s.to.ExtendDeadline(); err != nil {
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

// try makes one call on the socket when it is writable.
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
