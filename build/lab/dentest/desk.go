package dentest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"collet/netproto/launcher/wire"
)

const (
	releasedBlock  = 1_024_000 // bytes: the block size of the released desk
	blocksInFlight = 2         // of the one file that is written
)

// DeskOptions describe a Desk. Root is needed, the rest has the values of the released one.
type DeskOptions struct {
	Root       string
	Address    string   // 127.0.0.1 and a free port if empty
	BlockSize  uint64   // 1,024,000 if zero
	Properties []string // what every new device is asked; those of the IDE if nil
	Order      []string // files are written in this order, others after them by name
}

// Desk is the desk of the released library. It is safe for concurrent use.
type Desk struct {
	Journal
	options DeskOptions
	socket  *Socket

	mu       sync.Mutex
	sessions []*Session
	joined   chan struct{} // closed and replaced when a device was accepted
}

// NewDesk listens. Close it.
func NewDesk(o DeskOptions) (*Desk, error) {
	o.Address = cmp.Or(o.Address, "127.0.0.1:0")
	o.BlockSize = cmp.Or(o.BlockSize, releasedBlock)
	if o.Properties == nil {
		o.Properties = []string{wire.PropertyProfiles, wire.PropertyDefaultProfile}
	}
	d := &Desk{options: o, joined: make(chan struct{})}
	var err error
	d.socket, err = Listen(o.Address, Options{Timers: DeskTimers, Journal: &d.Journal}, func(c *Conn) App {
		return &Session{desk: d, Conn: c, run: &State{Values: []byte{wire.RunStopped}}, properties: map[string]string{}, changed: make(chan struct{})}
	})
	return d, err
}

// Addr is where the desk listens.
func (d *Desk) Addr() netip.AddrPort { return d.socket.Addr() }

// Close ends the connections of all devices in order.
func (d *Desk) Close() { d.socket.Close() }

// Kill ends without closing the connection.
func (d *Desk) Kill() { d.socket.Kill() }

// Device waits for the nth device that was accepted, from 0.
func (d *Desk) Device(ctx context.Context, n int) (*Session, error) {
	for {
		d.mu.Lock()
		sessions, joined := d.sessions, d.joined
		d.mu.Unlock()
		if n < len(sessions) {
			return sessions[n], nil
		}
		select {
		case <-joined:
		case <-ctx.Done():
			return nil, fmt.Errorf("device %d did not come: %w", n, ctx.Err())
		}
	}
}

// Session is one device of a Desk. Its fields are guarded by its socket.
type Session struct {
	*Conn
	desk       *Desk
	run        *State
	accepted   bool
	properties map[string]string
	logs       []wire.Logs
	inbox      []received    // not taken by Next yet
	changed    chan struct{} // closed and replaced when something arrived
}

type received struct {
	message wire.Message
	stale   bool
}

// Link implements App: only the desk makes links.
func (s *Session) Link(message []byte) *State {
	s.desk.violate("2.7", "the device links %x; only the desk makes links", message)
	return nil
}

// Changed implements App.
func (s *Session) Changed(bool) {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Closed implements App.
func (s *Session) Closed(error) { s.Changed(false) }

// Receive takes one message of the device. The first one must be a ConnectRequest, or the desk closes.
func (s *Session) Receive(now time.Time, payload []byte, stale bool) {
	defer s.Changed(false)
	m, err := wire.Decode(wire.Released, wire.FromDevice, payload)
	if err != nil {
		s.desk.violate("1", "%v", err)
		if !s.accepted {
			s.transport.Close()
		}
		return
	}
	switch m := m.(type) {
	case *wire.ConnectRequest:
		if s.accepted {
			s.desk.violate("3.5", "a second connectRequest")
			return
		}
		s.accept(now)
	case *wire.Logs:
		s.logs = append(s.logs, *m)
	case *wire.ResponseSystemProperty:
		s.properties[m.Property] = m.Value
	default:
		if !s.accepted {
			s.desk.violate("3.4", "first message is %T: the desk closes", m)
			s.transport.Close()
			return
		}
		s.inbox = append(s.inbox, received{m, stale})
	}
}

func (s *Session) accept(now time.Time) {
	s.accepted = true
	s.transport.Send(now, encode(&wire.ConnectAccepted{}))
	s.transport.Link(now, 0, []byte{wire.LinkRunState}, s.run)
	for _, name := range s.desk.options.Properties {
		s.transport.Send(now, encode(&wire.RequestSystemProperty{Property: name}))
	}
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	s.desk.sessions = append(s.desk.sessions, s)
	close(s.desk.joined)
	s.desk.joined = make(chan struct{})
}

// encode panics for a message that can't be encoded, which is a fault of the test.
func encode(m wire.Message) []byte {
	data, err := wire.Encode(wire.Released, m)
	if err != nil {
		panic(err)
	}
	return data
}

// Request sends messages.
func (s *Session) Request(messages ...wire.Message) {
	s.Do(func(now time.Time, t *Transport) {
		for _, m := range messages {
			t.Send(now, encode(m))
		}
	})
}

// until waits until a condition holds. It is called, with the socket held, whenever something arrived.
func (s *Session) until(ctx context.Context, what string, condition func() bool) error {
	for {
		var holds bool
		var changed chan struct{}
		s.Do(func(time.Time, *Transport) { holds, changed = condition(), s.changed })
		if holds {
			return nil
		}
		select {
		case <-changed:
		case <-s.Ended():
			return fmt.Errorf("waiting for %s: the connection ended: %w", what, cmp.Or(s.Err(), errors.New("in order")))
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
	}
}

// WaitRunning waits for a run state.
func (s *Session) WaitRunning(ctx context.Context, running bool) error {
	return s.until(ctx, "the run state", func() bool { return (s.run.Values[0] == wire.RunRunning) == running })
}

// WaitLinked waits for linkUp and the answers to all properties.
func (s *Session) WaitLinked(ctx context.Context) error {
	return s.until(ctx, "linkUp and properties", func() bool { return s.run.Up() && len(s.properties) >= len(s.desk.options.Properties) })
}

// WaitLog waits for a line.
func (s *Session) WaitLog(ctx context.Context, is func(wire.Logs) bool) error {
	return s.until(ctx, "a log line", func() bool { return slices.ContainsFunc(s.logs, is) })
}

// Property is an answer that came.
func (s *Session) Property(name string) (value string) {
	s.Do(func(time.Time, *Transport) { value = s.properties[name] })
	return value
}

// next takes the oldest message of the device, keep-alives aside.
func (s *Session) next(ctx context.Context, what string) (got received, err error) {
	err = s.until(ctx, what, func() bool {
		for len(s.inbox) > 0 {
			got, s.inbox = s.inbox[0], s.inbox[1:]
			if _, alive := got.message.(*wire.KeepAlive); !alive {
				return true
			}
		}
		return false
	})
	return got, err
}

// Next waits for a message of one type; others before it are dropped.
func Next[M wire.Message](ctx context.Context, s *Session) (m M, err error) {
	err = s.until(ctx, fmt.Sprintf("%T", m), func() bool {
		for len(s.inbox) > 0 {
			got, is := s.inbox[0].message.(M)
			if s.inbox = s.inbox[1:]; is {
				m = got
				return true
			}
		}
		return false
	})
	return m, err
}

// SyncStats is what a synchronisation did.
type SyncStats struct{ Hashed, Deleted, Written, Blocks int }

// Synchronise makes the device's tree equal to the desk's. Like the released one it has no time limit but ctx.
func (s *Session) Synchronise(ctx context.Context) (stats SyncStats, err error) {
	s.Request(&wire.RequestFileLayout{})
	ours, err := Scan(s.desk.options.Root)
	if err != nil {
		return stats, err
	}
	layout, err := answer[*wire.ResponseFileLayout](ctx, s, nil)
	if err != nil {
		return stats, err
	}
	theirs := map[string]wire.File{}
	for _, f := range layout.Files {
		if _, twice := theirs[f.Path]; twice || !safePath(f.Path) {
			s.desk.violate("3.3", "the layout lists %q twice, or it is no clean relative path", f.Path)
		}
		theirs[f.Path] = f
	}
	hashes, err := s.askHashes(ctx, ours, theirs)
	if err != nil {
		return stats, err
	}
	stats.Hashed = len(hashes)
	deletes := map[string]bool{}
	for path := range theirs {
		if !slices.ContainsFunc(ours, func(f wire.File) bool { return f.Path == path }) {
			deletes[path] = true
		}
	}
	stats.Deleted = len(deletes)
	for _, path := range slices.Sorted(maps.Keys(deletes)) {
		s.Request(&wire.RequestDeleteFile{Path: path})
	}
	slices.SortStableFunc(ours, func(a, b wire.File) int { return cmp.Compare(s.rank(a.Path), s.rank(b.Path)) })
	for _, f := range ours {
		if theirs[f.Path] == f {
			continue
		}
		blocks, err := s.write(ctx, f, hashes[f.Path], deletes)
		if err != nil {
			return stats, err
		}
		stats.Written, stats.Blocks = stats.Written+1, stats.Blocks+blocks
	}
	for len(deletes) > 0 {
		got, err := s.next(ctx, "the answers to deletes")
		if err != nil {
			return stats, err
		}
		if err := s.deleted(got, deletes); err != nil {
			return stats, err
		}
	}
	return stats, nil
}

func (s *Session) rank(path string) int {
	if i := slices.Index(s.desk.options.Order, path); i >= 0 {
		return i
	}
	return len(s.desk.options.Order)
}

// askHashes asks for the blocks of files of equal size and other hash.
func (s *Session) askHashes(ctx context.Context, ours []wire.File, theirs map[string]wire.File) (map[string][]wire.Hash, error) {
	hashes := map[string][]wire.Hash{}
	var asked []wire.Message
	for _, f := range ours {
		if their, there := theirs[f.Path]; there && their.Size == f.Size && their.Hash != f.Hash {
			asked = append(asked, &wire.RequestFileBlockHashes{Path: f.Path, BlockSize: uint32(s.desk.options.BlockSize)})
		}
	}
	s.Request(asked...)
	for len(hashes) < len(asked) {
		m, err := answer[*wire.ResponseFileBlockHashes](ctx, s, nil)
		if err != nil {
			return nil, err
		}
		if blocks := wire.BlockCount(theirs[m.Path].Size, s.desk.options.BlockSize); uint64(len(m.Hashes)) > blocks {
			s.desk.violate("3.5", "%d hashes of %q, which has %d blocks", len(m.Hashes), m.Path, blocks)
		}
		hashes[m.Path] = m.Hashes
	}
	return hashes, nil
}

// write sends one file: all blocks, or those whose hash differs or is missing.
func (s *Session) write(ctx context.Context, f wire.File, theirs []wire.Hash, deletes map[string]bool) (sent int, err error) {
	data, err := os.ReadFile(filepath.Join(s.desk.options.Root, filepath.FromSlash(f.Path)))
	if err != nil {
		return 0, err
	}
	size := s.desk.options.BlockSize
	var blocks []int
	for i, hash := range BlockHashes(data, int(size)) {
		if i >= len(theirs) || theirs[i] != hash {
			blocks = append(blocks, i)
		}
	}
	s.Request(&wire.RequestWriteFile{Path: f.Path, FileSize: f.Size, BlockSize: size, BlockCount: uint32(wire.BlockCount(f.Size, size))})
	begun, err := answer[*wire.ResponseWriteFile](ctx, s, deletes)
	if err != nil {
		return 0, err
	}
	if begun.Path != f.Path || begun.Result != wire.Success {
		return 0, fmt.Errorf("write request for %q: %+v", f.Path, *begun)
	}
	next := 0
	for confirmed := 0; confirmed < len(blocks); confirmed++ {
		for ; next < len(blocks) && next-confirmed < blocksInFlight; next++ {
			at := blocks[next] * int(size)
			s.Request(&wire.SendFileData{Path: f.Path, Block: uint32(blocks[next]), Data: data[at:min(len(data), at+int(size))]})
		}
		done, err := answer[*wire.FileDataReceived](ctx, s, deletes)
		if err != nil {
			return 0, err
		}
		if done.Path != f.Path || done.Result != wire.Success || !slices.Contains(blocks[:next], int(done.Block)) {
			return 0, fmt.Errorf("data of %q: %+v", f.Path, *done)
		}
	}
	s.Request(&wire.RequestFinishWriteFile{Path: f.Path, Hash: f.Hash})
	finished, err := answer[*wire.ResponseFinishWriteFile](ctx, s, deletes)
	if err == nil && (finished.Path != f.Path || finished.Result != wire.Success) {
		err = fmt.Errorf("end of %q: %+v", f.Path, *finished)
	}
	return len(blocks), err
}

// answer waits for a message of one type; answers to deletes may come before it. Another one is a violation, unless it is a
// stale copy: the released desk ignores it, and the device has lost count.
func answer[M wire.Message](ctx context.Context, s *Session, deletes map[string]bool) (m M, err error) {
	for {
		got, err := s.next(ctx, fmt.Sprintf("%T", m))
		if err != nil {
			return m, err
		}
		if m, is := got.message.(M); is {
			return m, nil
		}
		if err := s.deleted(got, deletes); err != nil {
			return m, err
		}
	}
}

// deleted takes the answer to a delete.
func (s *Session) deleted(got received, deletes map[string]bool) error {
	m, is := got.message.(*wire.ResponseDeleteFile)
	if !is || !deletes[m.Path] {
		if !got.stale {
			s.desk.violate("3.5", "%T %+v, which was not asked for", got.message, got.message)
		}
		return nil
	}
	delete(deletes, m.Path)
	if m.Result != wire.Success {
		return fmt.Errorf("delete of %q: %+v", m.Path, *m)
	}
	return nil
}
