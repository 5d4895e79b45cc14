package dentest

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"
)

// releasedBlock is the block size of the released server, bytes (3.5).
const releasedBlock = 1_024_000

// ServerOptions describe a ReferenceServer. Root is needed, the rest has the values of the released IDE.
type ServerOptions struct {
	Root       string
	Address    string   // 127.0.0.1 and a free port when empty
	BlockSize  uint64   // 1,024,000 when zero
	Properties []string // what every new device is asked; the two of the IDE when nil (3.4)
	Order      []string // files are written in this order, others after them by name
	Timers     Timers   // ServerTimers when zero
	Slow       bool     // spend the processor time of the released receiver (5.1)
	KeepAlive  time.Duration
	IssueTime  time.Duration // how long the server is busy with each hash request it issues
}

// ReferenceServer is the IDE as the released library plays it (3.4, 3.5). Its methods may be called from any goroutine.
type ReferenceServer struct {
	Journal
	options  ServerOptions
	endpoint *Endpoint

	mu      sync.Mutex
	devices []*Session
	waiting chan struct{}
}

// NewReferenceServer listens. Close it.
func NewReferenceServer(o ServerOptions) (*ReferenceServer, error) {
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	if o.BlockSize == 0 {
		o.BlockSize = releasedBlock
	}
	if o.Properties == nil {
		o.Properties = []string{"profiles.names", "profiles.default"}
	}
	if o.Timers == (Timers{}) {
		o.Timers = ServerTimers()
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = keepAliveAfter
	}
	s := &ReferenceServer{options: o}
	e, err := Listen(o.Address, EndpointOptions{Timers: o.Timers, Journal: &s.Journal, Slow: o.Slow}, s.open)
	s.endpoint = e
	return s, err
}

// Addr is where the server listens.
func (s *ReferenceServer) Addr() netip.AddrPort { return s.endpoint.Addr() }

// Close says goodbye to all devices and waits.
func (s *ReferenceServer) Close() { s.endpoint.Close() }

// Kill vanishes without a word.
func (s *ReferenceServer) Kill() { s.endpoint.Kill() }

func (s *ReferenceServer) open(conn *Conn) App {
	return &Session{server: s, conn: conn, core: conn.core, run: &State{Values: []Value{Byte(0)}}, properties: map[string]string{}, processed: time.Now()}
}

// joined adds a device whose connectRequest was fine.
func (s *ReferenceServer) joined(d *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.devices = append(s.devices, d)
	if s.waiting != nil {
		close(s.waiting)
		s.waiting = nil
	}
}

// Device waits for the nth device that was accepted, from 0.
func (s *ReferenceServer) Device(ctx context.Context, n int) (*Session, error) {
	for {
		s.mu.Lock()
		if n < len(s.devices) {
			defer s.mu.Unlock()
			return s.devices[n], nil
		}
		if s.waiting == nil {
			s.waiting = make(chan struct{})
		}
		waiting := s.waiting
		s.mu.Unlock()
		select {
		case <-waiting:
		case <-ctx.Done():
			return nil, fmt.Errorf("device %d didn't come: %w", n, ctx.Err())
		}
	}
}

// Line is one log line of a device.
type Line struct {
	Level        byte
	Source, Text string
}

// Session is one device on a ReferenceServer. Its fields are guarded by its endpoint.
type Session struct {
	server     *ReferenceServer
	conn       *Conn
	core       *Core
	run        *State
	name       string
	accepted   bool
	processed  time.Time
	properties map[string]string
	logs       []Line
	sync       *synchronisation
	inProgress int // files being written; not reset after a failure (4.2 #5)
	changed    chan struct{}
	overheard  *Overheard
	runs       []byte // values of the run state as they came
}

// Name is what the device calls itself.
func (d *Session) Name() string { return locked(d, func() string { return d.name }) }

// Running is the run state as the server knows it.
func (d *Session) Running() bool {
	return locked(d, func() bool { return d.run.Values[0].Data[0] == 1 })
}

// Linked tells whether linkUp has come.
func (d *Session) Linked() bool { return locked(d, d.run.Up) }

// Logs are the lines so far.
func (d *Session) Logs() []Line {
	return locked(d, func() []Line { return append([]Line(nil), d.logs...) })
}

// Runs are the run states in the order in which updates brought them.
func (d *Session) Runs() []byte { return locked(d, func() []byte { return clone(d.runs) }) }

// Property is an answer that came, and whether it did.
func (d *Session) Property(name string) (value string, came bool) {
	d.conn.Do(func(time.Time, *Core) { value, came = d.properties[name] })
	return value, came
}

// Conn is the connection of this device.
func (d *Session) Conn() *Conn { return d.conn }

func locked[T any](d *Session, f func() T) (v T) {
	d.conn.Do(func(time.Time, *Core) { v = f() })
	return v
}

// Start asks for the application (3.7). The only answer is the run state.
func (d *Session) Start(config, profile, arguments string) {
	d.conn.Send(Build(StartApplication, config, profile, arguments))
}

// Stop asks the application to close (0) or kills it (1).
func (d *Session) Stop(mode byte) { d.conn.Send(Build(StopApplication, mode)) }

// Until waits until a condition holds; it is asked whenever something arrived.
func (d *Session) Until(ctx context.Context, what string, condition func() bool) error {
	for {
		var fine bool
		var changed chan struct{}
		d.conn.Do(func(time.Time, *Core) {
			if fine = condition(); !fine && d.changed == nil {
				d.changed = make(chan struct{})
			}
			changed = d.changed
		})
		if fine {
			return nil
		}
		select {
		case <-changed:
		case <-d.conn.Ended():
			return fmt.Errorf("waiting for %s: connection ended: %w", what, ended(d.conn.Err()))
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
	}
}

// WaitRunning waits for a run state.
func (d *Session) WaitRunning(ctx context.Context, running bool) error {
	return d.Until(ctx, "run state", func() bool { return (d.run.Values[0].Data[0] == 1) == running })
}

// WaitLinked waits for linkUp and the answers to all properties.
func (d *Session) WaitLinked(ctx context.Context) error {
	return d.Until(ctx, "linkUp and properties", func() bool {
		return d.run.Up() && len(d.properties) >= len(d.server.options.Properties)
	})
}

func ended(err error) error {
	if err == nil {
		return errClosed
	}
	return err
}

func (d *Session) wake() {
	if d.changed != nil {
		close(d.changed)
		d.changed = nil
	}
}
