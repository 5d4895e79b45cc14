package server

import (
	"errors"
	"net"
	"os"
	"syscall"

	"collet/netproto/server/limits"
)

// fileSender sends files to a socket by sendfile(2), with an explicit offset, so connections share open files. It has the deadlines
// and the rate limit of its Conn. Not safe for concurrent use.
type fileSender struct {
	to  *limits.Conn
	raw syscall.RawConn
}

// newFileSender is nil unless the connection is a bare TCP socket.
func newFileSender(to *limits.Conn) *fileSender {
	tcp, bare := to.Conn.(*net.TCPConn)
	if !bare {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return &fileSender{to, raw}
}

// send writes head and then size bytes of in. MSG_MORE keeps the head from becoming a packet of its own. Errors of the file are
// *fileError.
func (s *fileSender) send(head []byte, in *os.File, offset int64, size int) error {
	if err := s.to.ExtendDeadline(); err != nil {
		return err
	}
	for len(head) > 0 {
		n, err := s.whenWritable(func(socket int) (int, error) { return syscall.SendmsgN(socket, head, nil, nil, syscall.MSG_MORE) })
		if err != nil {
			return err
		}
		head = head[n:]
	}
	file, err := in.SyscallConn()
	if err != nil {
		return &fileError{err: err}
	}
	var fault error
	if err := file.Control(func(fd uintptr) { fault = s.sendFile(int(fd), offset, size) }); err != nil {
		return &fileError{err: err}
	}
	return fault
}

// sendFile sends size bytes of the file from offset on. Every MaxStep bytes have the time for progress.
func (s *fileSender) sendFile(file int, offset int64, size int) error {
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
		n, err := s.whenWritable(func(socket int) (int, error) { return syscall.Sendfile(socket, file, &offset, granted) })
		switch {
		case errors.Is(err, syscall.EIO):
			return &fileError{err: err}
		case err != nil:
			return err
		case n == 0:
			return errShort
		}
		granted, size, moved = granted-n, size-n, moved+n
	}
	return nil
}

// whenWritable makes one call on the socket when it is writable.
func (s *fileSender) whenWritable(call func(socket int) (int, error)) (n int, err error) {
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
