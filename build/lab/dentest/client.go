package dentest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// keepAliveAfter is how long a side that has processed no message waits before it sends a keepAlive (3.8).
const keepAliveAfter = 10 * time.Second

// ClientOptions describe a ReferenceClient. Root is needed, the rest has the values of a released device.
type ClientOptions struct {
	Root       string
	Name       string
	Timers     Timers            // ClientTimers when zero
	Slow       bool              // spend the processor time of the released receiver (5.1)
	Properties map[string]string // system properties; the two profile ones when nil
	Order      []string          // files a layout answer lists first; the rest follows by name
	KeepAlive  time.Duration     // 10 s when zero (3.8)
	Mute       []byte            // codes of messages that are never sent, for the watchdogs of the other side
	Start      func(c *ReferenceClient, m Message)
	Stop       func(c *ReferenceClient, mode byte)
}

// ReferenceClient is the device as the released library plays it (3.4, 3.6 to 3.8), over any number of connections one
// after the other: what it knows of its files lives as long as it does. Its methods may be called from any goroutine.
type ReferenceClient struct {
	Journal
	options ClientOptions
	run     *State
	worker  sync.WaitGroup

	mu        sync.Mutex
	wake      *sync.Cond
	tasks     []func()
	working   bool
	gone      bool
	conn      *Conn
	accepted  bool
	crashed   bool
	processed time.Time // when the last message was, or a keepAlive was sent
	layout    map[string]File
	scanned   bool
	deletes   []string // wait for a layout
	writes    map[string]*writing
	starts    []Message
	largest   int
	received  uint64
}

// writing is one file between requestWriteFile and responseFinishWriteFile.
type writing struct {
	path          string
	size, block   uint64
	count         uint64
	ready, failed bool
	resized       bool
	got           map[uint64]bool
	unanswered    int
}

// NewReferenceClient makes a device that isn't connected. Close it.
func NewReferenceClient(o ClientOptions) *ReferenceClient {
	if o.Timers == (Timers{}) {
		o.Timers = ClientTimers()
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = keepAliveAfter
	}
	if o.Properties == nil {
		o.Properties = map[string]string{"profiles.names": "Default\nLow", "profiles.default": "Default"}
	}
	c := &ReferenceClient{options: o, run: &State{Values: []Value{Byte(0)}}, layout: map[string]File{}, writes: map[string]*writing{}}
	c.wake = sync.NewCond(&c.mu)
	c.worker.Go(c.work)
	return c
}

// Connect connects to a server as the released device does, five seconds at most, and returns when the transport stands.
func (c *ReferenceClient) Connect(ctx context.Context, server string) error {
	c.mu.Lock()
	c.accepted, c.writes, c.tasks, c.deletes = false, map[string]*writing{}, nil, nil
	c.mu.Unlock()
	_, err := Dial(ctx, server, EndpointOptions{Timers: c.options.Timers, Journal: &c.Journal, Slow: c.options.Slow}, func(conn *Conn) App {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.conn = conn
		return (*deviceApp)(c)
	})
	return err
}

// Conn is the latest connection, nil before the first.
func (c *ReferenceClient) Conn() *Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn
}

// Close ends the connection with a goodbye and waits for the worker.
func (c *ReferenceClient) Close() { c.leave((*Endpoint).Close) }

// Kill vanishes without a word. Files stay as they are at this moment.
func (c *ReferenceClient) Kill() { c.leave((*Endpoint).Kill) }

func (c *ReferenceClient) leave(how func(*Endpoint)) {
	c.mu.Lock()
	c.gone = true
	c.tasks = nil
	conn := c.conn
	c.wake.Broadcast()
	c.mu.Unlock()
	if conn != nil {
		how(conn.endpoint)
	}
	c.worker.Wait()
}

// Disconnect ends the connection with a goodbye; the client can connect again.
func (c *ReferenceClient) Disconnect() { c.Conn().endpoint.Close() }

// Drop loses the connection without a word; the client can connect again.
func (c *ReferenceClient) Drop() { c.Conn().endpoint.Kill() }

// Crashed tells that the server did something that ends a released device's process.
func (c *ReferenceClient) Crashed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.crashed
}

// Starts are the start requests that came.
func (c *ReferenceClient) Starts() []Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.starts)
}

// Largest is the size of the largest message that came, bytes.
func (c *ReferenceClient) Largest() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.largest
}

// FileBytes is how many bytes of file data came.
func (c *ReferenceClient) FileBytes() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.received
}

// Running tells the run state as the link has it: a server that links again sets it to stopped (3.7).
func (c *ReferenceClient) Running() (running bool) {
	c.Conn().Do(func(time.Time, *Core) { running = c.run.Values[0].Data[0] == 1 })
	return running
}

// Linked tells whether the run state is linked.
func (c *ReferenceClient) Linked() (up bool) {
	c.Conn().Do(func(time.Time, *Core) { up = c.run.Up() })
	return up
}

// SetRunning writes the run state.
func (c *ReferenceClient) SetRunning(running bool) {
	value := byte(0)
	if running {
		value = 1
	}
	c.Conn().Do(func(time.Time, *Core) { c.run.Set(0, []byte{value}) })
}

// Log sends one line (3.7).
func (c *ReferenceClient) Log(level byte, source, text string) {
	c.Conn().Send(Build(Logs, level, source, text))
}

// send sends from the worker, unless the connection for which the work was done is over.
func (c *ReferenceClient) send(to *Conn, payload []byte) {
	select {
	case <-to.ended:
	default:
		if !slices.Contains(c.options.Mute, payload[0]) {
			to.Send(payload)
		}
	}
}

// task queues work for the one worker, in order of arrival (3.6). The caller holds mu.
func (c *ReferenceClient) task(f func()) {
	c.tasks = append(c.tasks, f)
	c.wake.Broadcast()
}

func (c *ReferenceClient) work() {
	for {
		c.mu.Lock()
		c.working = false
		for len(c.tasks) == 0 && !c.gone {
			c.wake.Broadcast()
			c.wake.Wait()
		}
		if c.gone {
			c.mu.Unlock()
			return
		}
		f := c.tasks[0]
		c.tasks, c.working = c.tasks[1:], true
		c.mu.Unlock()
		f()
	}
}

// property answers a property request: unknown names have an empty value, and one name lists the others (3.7).
func (c *ReferenceClient) property(name string) string {
	if name != "properties.names" {
		return c.options.Properties[name]
	}
	names := slices.Sorted(maps.Keys(c.options.Properties))
	slices.Reverse(names)
	text := ""
	for i, n := range names {
		if i > 0 {
			text += "\n"
		}
		text += n
	}
	return text
}
