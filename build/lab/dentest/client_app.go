package dentest

import (
	"time"
)

// deviceApp is the ReferenceClient as its connections see it.
type deviceApp ReferenceClient

func (a *deviceApp) client() *ReferenceClient { return (*ReferenceClient)(a) }

// Opened sends the first message (3.4).
func (a *deviceApp) Opened(now time.Time) {
	a.mu.Lock()
	a.processed = now
	a.mu.Unlock()
	a.conn.core.Send(now, Build(ConnectRequest, ClientSignature, 0, a.options.Name))
}

// Link takes the run state only, and nothing before connectAccepted (3.4).
func (a *deviceApp) Link(message []byte, _ bool) *State {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.accepted {
		a.violate("3.4", "a link came before connectAccepted and is refused")
		return nil
	}
	if len(message) == 0 || message[0] != 1 {
		return nil
	}
	return a.run
}

// Changed is never wanted: a server that writes the run state hides the next equal value of the device (4.1 #11).
func (a *deviceApp) Changed(time.Time, *State, int) {
	a.violate("4.1 #11", "the server wrote the run state")
}

// Closed forgets what belonged to the connection, but not the layout (3.6).
func (a *deviceApp) Closed(error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.accepted, a.tasks, a.writes, a.deletes = false, nil, map[string]*writing{}, nil
}

// Tick sends keepAlives (3.8).
func (a *deviceApp) Tick(now time.Time) {
	a.mu.Lock()
	late := a.accepted && now.Sub(a.processed) >= a.options.KeepAlive
	if late {
		a.processed = now
	}
	a.mu.Unlock()
	if late {
		a.conn.core.Send(now, Build(KeepAlive))
	}
}

// Receive takes one message of the server.
func (a *deviceApp) Receive(now time.Time, payload []byte, _, stale bool) {
	m, err := Parse(payload)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.processed = now
	a.largest = max(a.largest, len(payload))
	switch {
	case err != nil:
		a.violate("1", "%v", err)
	case m.Code == ConnectAccepted && !a.accepted:
		a.accept(m)
	case !a.accepted:
		a.violate("3.4", "%s before connectAccepted is ignored", m.Name())
	default:
		a.request(now, m, stale)
	}
}

func (a *deviceApp) accept(m Message) {
	if m.Text(0) != ServerSignature {
		a.violate("3.1", "server signature %q: the device disconnects", m.Text(0))
		core := a.conn.core
		a.client().task(func() { a.client().Conn().Do(func(time.Time, *Core) { core.Close() }) })
		return
	}
	if m.Number(1) != 0 {
		a.violate("3.2", "feature bits %x were enabled, the device offered none", m.Number(1))
	}
	a.accepted = true
}

// request handles what comes after connectAccepted. The caller holds mu.
func (a *deviceApp) request(now time.Time, m Message, stale bool) {
	c, to := a.client(), a.conn
	switch m.Code {
	case RequestFileLayout:
		c.task(func() { c.answerLayout(to) })
	case RequestFileHashes:
		c.hashRequest(to, m.Text(0), m.Number(1))
	case RequestDeleteFile:
		c.safe(m.Text(0))
		c.task(func() { c.deleteFile(to, m.Text(0)) })
	case RequestWriteFile:
		c.writeRequest(to, m)
	case SendFileData:
		c.data(to, m, stale)
	case RequestFinishWriteFile:
		c.finishRequest(to, m, stale)
	case StartApplication:
		c.starts = append(c.starts, m)
		c.task(func() { c.start(m) })
	case StopApplication:
		c.task(func() { c.stop(byte(m.Number(0))) })
	case RequestSystemProperty:
		to.core.Send(now, Build(ResponseSystemProperty, m.Text(0), c.property(m.Text(0))))
	case KeepAlive:
	default:
		c.note(NoteUnknownMessage, "%s", m.Name())
	}
}

func (c *ReferenceClient) start(m Message) {
	if c.options.Start != nil {
		c.options.Start(c, m)
		return
	}
	c.SetRunning(true)
}

func (c *ReferenceClient) stop(mode byte) {
	const ask, kill = 0, 1
	switch {
	case mode != ask && mode != kill: // ignored (3.2)
	case c.options.Stop != nil:
		c.options.Stop(c, mode)
	default:
		c.SetRunning(false)
	}
}

// safe records paths that a released device would follow out of its data directory (5.4) and tells whether one is fine.
func (c *ReferenceClient) safe(path string) bool {
	if !unsafePath(path) {
		return true
	}
	c.violate("5.4", "path %q: a released device follows it", path)
	return false
}

// crash is the end of a released device's process: the connection is lost without a word. The caller holds mu.
func (c *ReferenceClient) crash(section, format string, args ...any) {
	c.violate(section, format, args...)
	c.crashed, c.tasks, c.accepted = true, nil, false
	c.conn.core.Abandon()
}
