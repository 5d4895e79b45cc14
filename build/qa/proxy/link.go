package proxy

import (
	"context"
	"sync"
	"time"

	"collet/platform/interrupt"
)

const (
	// readSize is the size of a read in bytes, a common size for sockets.
	readSize = 16 << 10
	// minPiece is the smallest write in bytes. Smaller ones would cost too many system calls.
	minPiece = 64
	// piecesPerSecond is the number of writes a second at a limited rate: 50 look continuous on a progress bar.
	piecesPerSecond = 50
	// openQueue is how many bytes wait inside a link without a rate, per direction and connection. It bounds the
	// throughput of a delayed link to openQueue / Delay.
	openQueue = 8 << 20
	// minQueue is the least that may wait inside a link with a rate, in bytes.
	minQueue = 32 << 10
	// linkBuffer is for how long a link with a rate queues beyond its delay. It keeps a slow link from hiding seconds
	// of data, which would make pings late in a way no such link is.
	linkBuffer = 100 * time.Millisecond
)

// Link is what lies between the two ends. The zero value forwards as fast as it can. It is shared by all connections of a
// Proxy, as a real line is.
type Link struct {
	Rate    int64         // bytes a second in each direction, for all connections together; 0 is unlimited
	Delay   time.Duration // how much later each byte arrives, one way
	Stalled bool          // nothing is forwarded; connections stay open, as behind a dead router
}

// queueLimit returns the maximum number of bytes in transit in one direction of one connection.
func (l Link) queueLimit() int {
	if l.Rate <= 0 {
		return openQueue
	}
	inFlight := float64(l.Rate) * (l.Delay + linkBuffer).Seconds()
	return int(min(max(inFlight, minQueue), openQueue))
}

// piece returns the size of a write in bytes.
func (l Link) piece() int {
	if l.Rate <= 0 {
		return readSize
	}
	return int(min(max(l.Rate/piecesPerSecond, minPiece), readSize))
}

// sharedLink is the shared state of a Link: its current setting and when each direction is free again.
type sharedLink struct {
	mu      sync.Mutex
	setting Link
	changed chan struct{} // closed and replaced when link changes
	freeAt  map[Direction]time.Time
}

func newSharedLink(l Link) *sharedLink {
	return &sharedLink{setting: l, changed: make(chan struct{}), freeAt: map[Direction]time.Time{}}
}

func (l *sharedLink) setLink(link Link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setting = link
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *sharedLink) currentLink() (Link, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.setting, l.changed
}

// untilOpen waits until the link is not stalled and returns its setting.
func (l *sharedLink) untilOpen(ctx context.Context) (Link, error) {
	for {
		link, changed := l.currentLink()
		if !link.Stalled {
			return link, ctx.Err()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return link, ctx.Err()
		}
	}
}

// waitTurn waits until the link has carried n bytes in direction d.
func (l *sharedLink) waitTurn(ctx context.Context, d Direction, n int) error {
	l.mu.Lock()
	rate := l.setting.Rate
	if rate <= 0 {
		l.mu.Unlock()
		return ctx.Err()
	}
	now := time.Now()
	start := l.freeAt[d]
	if start.Before(now) {
		start = now
	}
	end := start.Add(time.Duration(float64(n) / float64(rate) * float64(time.Second)))
	l.freeAt[d] = end
	l.mu.Unlock()
	return interrupt.Sleep(ctx, time.Until(end))
}

// packet is data in transit, with the time at which it entered the link.
type packet struct {
	data []byte
	at   time.Time
}

// queue holds the packets of one direction of one connection. One goroutine puts, one gets.
type queue struct {
	mu      sync.Mutex
	packets []packet
	bytes   int
	ended   bool
	moved   chan struct{} // holds one token after every change
	freed   chan struct{}
}

func newQueue() *queue {
	return &queue{moved: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
}

// putPacket waits until the queue holds less than limit bytes.
func (q *queue) putPacket(ctx context.Context, p packet, limit int) error {
	for {
		q.mu.Lock()
		if q.bytes < limit {
			q.packets, q.bytes = append(q.packets, p), q.bytes+len(p.data)
			q.mu.Unlock()
			signal(q.moved)
			return nil
		}
		q.mu.Unlock()
		select {
		case <-q.freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// closeInput marks the end of the data.
func (q *queue) closeInput() {
	q.mu.Lock()
	q.ended = true
	q.mu.Unlock()
	signal(q.moved)
}

// nextPacket waits for a packet; more is false at the end. The packet stays counted until done is called with its size.
func (q *queue) nextPacket(ctx context.Context) (p packet, more bool, err error) {
	for {
		q.mu.Lock()
		if len(q.packets) > 0 {
			p, q.packets = q.packets[0], q.packets[1:]
			q.mu.Unlock()
			return p, true, nil
		}
		ended := q.ended
		q.mu.Unlock()
		if ended {
			return packet{}, false, nil
		}
		select {
		case <-q.moved:
		case <-ctx.Done():
			return packet{}, false, ctx.Err()
		}
	}
}

// done subtracts n delivered bytes from the count of bytes in transit.
func (q *queue) done(n int) {
	q.mu.Lock()
	q.bytes -= n
	q.mu.Unlock()
	signal(q.freed)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
