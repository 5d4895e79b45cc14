package protocol

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	// stepTime is the time limit of a client for each step, for games that hang.
	stepTime = 30 * time.Second
	// maxPlayers is how many games a Host plays at once; further connections are closed. The Host is an example, not made for load.
	maxPlayers = 64
)

// Host serves games over TCP until it is closed. All methods are safe for concurrent use.
type Host struct {
	listener net.Listener
	ended    func(Played, error)
	work     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]int32 // with the logic version of its game; 0 before it begins
}

// Open listens at an address such as "127.0.0.1:0". ended is called with the result of each game that began, from several goroutines
// concurrently. A game that Close interrupts has an error. The caller closes the Host.
func Open(address string, ended func(Played, error)) (*Host, error) {
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		return nil, fmt.Errorf("game server: %w", err)
	}
	h := &Host{listener: listener, ended: ended, conns: map[net.Conn]int32{}}
	h.work.Go(h.accept)
	return h, nil
}

// Addr is the server's address, for the game's --server.
func (h *Host) Addr() string { return h.listener.Addr().String() }

// Close ends all games and waits for them. A second call does nothing.
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
			return // the listener was closed
		}
		if !h.enter(conn) {
			_ = conn.Close() // no data was exchanged
			continue
		}
		h.work.Go(func() {
			defer h.removePlayer(conn)
			if p, err := serve(paced{conn}, func(logic int32) { h.begin(conn, logic) }); p.Logic != 0 || err == nil {
				h.ended(p, err)
			}
		})
	}
}

// enter registers a connection, unless the Host is full or closed.
func (h *Host) enter(conn net.Conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.conns) == maxPlayers {
		return false
	}
	h.conns[conn] = 0
	return true
}

// begin records the logic version of a game.
func (h *Host) begin(conn net.Conn, logic int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns[conn] = logic
}

// sessions counts the games that are played now, by logic version.
func (h *Host) sessions() []sessions {
	counts := map[int32]int{}
	h.mu.Lock()
	for _, logic := range h.conns {
		counts[logic]++
	}
	h.mu.Unlock()
	delete(counts, 0) // has not begun
	list := []sessions{}
	for _, logic := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, sessions{logic, counts[logic]})
	}
	return list
}

func (h *Host) removePlayer(conn net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, conn)
	_ = conn.Close() // the game is over
}

// paced is a connection with the time limit stepTime for each read and write.
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
