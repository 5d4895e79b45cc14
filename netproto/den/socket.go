package den

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// packetConn is a UDP socket. write is safe for concurrent use, read is for one goroutine.
type packetConn interface {
	// read waits for datagrams from one peer. They are concatenated in buf, n bytes together; each has segment bytes,
	// the last may be shorter.
	read(buf []byte) (n, segment int, from netip.AddrPort, err error)
	// write sends the datagrams in buf; each has segment bytes, the last may be shorter.
	write(buf []byte, segment int, to netip.AddrPort) error
	// segments reports whether write accepts more than one datagram at once.
	segments() bool
	local() netip.AddrPort
	// room is the size of the system's receive buffer in bytes of datagrams.
	room() int
	Close() error
}

// readBuffer is the buffer for one read: one datagram, or several at once.
const readBuffer = 1 << 16

// maxReadFaults is how many consecutive failed reads make a socket broken. A report that a peer has no socket is not counted.
const maxReadFaults = 100

// socket is a packetConn with the goroutine that reads it.
type socket struct {
	conn     packetConn
	own      bool // belongs to a single connection
	finished chan struct{}

	mu     sync.Mutex
	closed bool
	most   int // largest datagram in bytes that the system sends several of at once
}

func newSocket(conn packetConn, own bool) *socket {
	s := &socket{conn: conn, own: own, finished: make(chan struct{})}
	if conn.segments() {
		s.most = maxDatagram
	}
	return s
}

// run calls take with every datagram, until the socket is closed. The datagram is valid during the call.
func (s *socket) run(take func(from netip.AddrPort, datagram []byte, now time.Time)) {
	defer close(s.finished)
	buf := make([]byte, readBuffer)
	for faults := 0; faults < maxReadFaults; {
		n, segment, from, err := s.conn.read(buf)
		if err != nil {
			if s.isClosed() || errors.Is(err, net.ErrClosed) {
				return
			}
			if !errors.Is(err, syscall.ECONNREFUSED) {
				faults++
			}
			continue
		}
		faults = 0
		now := time.Now()
		from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		for rest := buf[:n]; ; rest = rest[segment:] {
			if segment <= 0 || segment >= len(rest) {
				take(from, rest, now)
				break
			}
			take(from, rest[:segment:segment], now)
		}
	}
}

// send writes a batch: datagrams of equal size together if the system supports it. A datagram that can't be sent is
// lost, as on the network.
func (s *socket) send(to netip.AddrPort, b *batch) {
	for start, i := 0, 0; i < len(b.ends); {
		n, size := 1, b.ends[i]-start
		if s.together(size) {
			n = run(b.ends[i:], start)
		}
		end := b.ends[i+n-1]
		if err := s.conn.write(b.buf[start:end], size, to); err != nil && n > 1 && !s.isClosed() {
			s.apart(size)
			continue
		}
		i += n
		start = end
	}
}

// run is how many of the datagrams, which end at ends and begin at start, can be sent at once: all have the same size,
// except that the last may be shorter.
func run(ends []int, start int) int {
	size := ends[0] - start
	for n := 1; n < len(ends); n++ {
		switch next := ends[n] - ends[n-1]; {
		case next > size:
			return n
		case next < size:
			return n + 1
		}
	}
	return len(ends)
}

// together reports whether several datagrams of size bytes can be sent at once. The system rejects sizes that would be fragmented.
func (s *socket) together(size int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return size <= s.most
}

// apart records that datagrams of size bytes must be sent one by one.
func (s *socket) apart(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = min(s.most, size-1)
}

func (s *socket) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// close stops reading. It does not wait.
func (s *socket) close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.mu.Unlock()
	if again {
		return nil
	}
	return s.conn.Close()
}

// wait waits for the reading goroutine, if the socket belongs to a single connection.
func (s *socket) wait() {
	if s.own {
		<-s.finished
	}
}
