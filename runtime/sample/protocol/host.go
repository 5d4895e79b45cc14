package protocol

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	// stepTime is how long a player may take for a step: a game that hangs is not waited for.
	stepTime = 30 * time.Second
	// maxPlayers is how many games a Host plays at once; who comes above that is hung up on. It is there to be looked at, not to be
	// filled.
	maxPlayers = 64
)

// Host serves games over TCP until it is closed. All methods are safe for concurrent use.
type Host struct {
	listener net.Listener
	ended    func(Played, error)
	work     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]bool
}

// Open listens at an address such as "127.0.0.1:0". What came of each game that began is told to ended, by several goroutines at a
// time; a game that is cut off by Close is one with an error. The caller closes the Host.
func Open(address string, ended func(Played, error)) (*Host, error) {
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		return nil, fmt.Errorf("game server: %w", err)
	}
	h := &Host{listener: listener, ended: ended, conns: map[net.Conn]bool{}}
	h.work.Go(h.accept)
	return h, nil
}

// Addr is where games are played, as the game's --server takes it.
func (h *Host) Addr() string { return h.listener.Addr().String() }

// Close ends all games and waits for that. A second call does nothing.
func (h *Host) Close() error {
	err := h.listener.Close()
	h.mu.Lock()
	h.closed = true
	for conn := range h.conns {
		err = errors.Join(err, conn.Close())
	}
	h.mu.Unlock()
	h.work.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (h *Host) accept() {
	for {
		conn, err := h.listener.Accept()
		if err != nil {
			return // it is closed: nothing else ends a listener on this machine
		}
		if !h.enter(conn) {
			_ = conn.Close() // nothing was said on it
			continue
		}
		h.work.Go(func() {
			defer h.leave(conn)
			if p, err := Serve(paced{conn}); p.Logic != 0 || err == nil {
				h.ended(p, err)
			}
		})
	}
}

// enter takes a seat, if there is one.
func (h *Host) enter(conn net.Conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.conns) == maxPlayers {
		return false
	}
	h.conns[conn] = true
	return true
}

func (h *Host) leave(conn net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, conn)
	_ = conn.Close() // all that was to be said on it was
}

// paced is a connection whose every read and write has to come to something in stepTime.
type paced struct{ net.Conn }

// Read implements io.Reader.
func (p paced) Read(b []byte) (int, error) {
	if err := p.SetReadDeadline(time.Now().Add(stepTime)); err != nil {
		return 0, err
	}
	return p.Conn.Read(b)
}

// Write implements io.Writer.
func (p paced) Write(b []byte) (int, error) {
	if err := p.SetWriteDeadline(time.Now().Add(stepTime)); err != nil {
		return 0, err
	}
	return p.Conn.Write(b)
}
