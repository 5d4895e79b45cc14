package dentest

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"sync"
	"time"
)

// Impairment is what a bad network does in one direction. The zero value does nothing.
type Impairment struct {
	Drop      float64       // probability that a datagram is lost
	Duplicate float64       // probability that it comes twice
	Reorder   float64       // probability that it is held back by ReorderBy and others overtake it
	ReorderBy time.Duration // 5 ms when zero
	Delay     time.Duration // one way
	Jitter    time.Duration // up to this much more delay, evenly spread; reorders by itself
	Rate      float64       // bytes a second; not limited when zero
	Queue     int           // bytes that may wait for the rate; 256 KiB when zero
}

const (
	defaultReorderBy = 5 * time.Millisecond
	defaultQueue     = 256 << 10 // bytes, about what a home router keeps
	headers          = 28        // bytes of IPv4 and UDP that count towards the rate
)

// dice decides by a seed: the same datagrams in the same order meet the same fate.
type dice struct {
	Impairment
	random *rand.Rand
	free   time.Time // when the limited line has sent everything
}

func newDice(i Impairment, seed, stream uint64) *dice {
	return &dice{Impairment: i, random: rand.New(rand.NewPCG(seed, stream))}
}

// roll returns the times at which copies of a datagram arrive.
func (d *dice) roll(now time.Time, g *Datagram) []time.Time {
	lost, twice, late := d.random.Float64() < d.Drop, d.random.Float64() < d.Duplicate, d.random.Float64() < d.Reorder
	if lost {
		g.Fate = "dropped"
		return nil
	}
	leaves, queued := d.serialise(now, len(g.Data)+headers)
	if !queued {
		g.Fate = "dropped by the queue"
		return nil
	}
	due := leaves.Add(d.Delay)
	if d.Jitter > 0 {
		due = due.Add(time.Duration(d.random.Int64N(int64(d.Jitter))))
	}
	if late {
		g.Fate = "held back"
		due = due.Add(cmp.Or(d.ReorderBy, defaultReorderBy))
	}
	if twice {
		g.Fate = "doubled"
		return []time.Time{due, due}
	}
	return []time.Time{due}
}

// serialise puts bytes on the limited line and tells when they have left, or that the queue is full.
func (d *dice) serialise(now time.Time, n int) (time.Time, bool) {
	if d.Rate <= 0 {
		return now, true
	}
	if d.free.Before(now) {
		d.free = now
	}
	if d.free.Sub(now).Seconds()*d.Rate > float64(cmp.Or(d.Queue, defaultQueue)) {
		return now, false
	}
	d.free = d.free.Add(time.Duration(float64(n) / d.Rate * float64(time.Second)))
	return d.free, true
}

// line sends what is delayed when it is due.
type line struct {
	mu     sync.Mutex
	queue  dues
	count  uint64
	wake   chan struct{}
	closed chan struct{}
}

type due struct {
	at   time.Time
	turn uint64 // keeps the order of equal times
	send func()
}

func newLine() *line {
	return &line{wake: make(chan struct{}, 1), closed: make(chan struct{})}
}

func (l *line) add(at time.Time, send func()) {
	l.mu.Lock()
	l.count++
	heap.Push(&l.queue, due{at, l.count, send})
	first := l.queue[0].turn == l.count
	l.mu.Unlock()
	if first {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

func (l *line) stop() { close(l.closed) }

func (l *line) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(l.sendDue(time.Now()))
		select {
		case <-timer.C:
		case <-l.wake:
		case <-l.closed:
			return
		}
	}
}

// sendDue sends everything that is due and returns how long nothing will be.
func (l *line) sendDue(now time.Time) time.Duration {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.mu.Unlock()
			return time.Hour
		}
		if wait := l.queue[0].at.Sub(now); wait > 0 {
			l.mu.Unlock()
			return wait
		}
		d := heap.Pop(&l.queue).(due)
		l.mu.Unlock()
		d.send()
	}
}

// dues is a heap by time.
type dues []due

func (q dues) Len() int { return len(q) }
func (q dues) Less(i, j int) bool {
	if q[i].at.Equal(q[j].at) {
		return q[i].turn < q[j].turn
	}
	return q[i].at.Before(q[j].at)
}
func (q dues) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push and Pop are for container/heap.
func (q *dues) Push(x any) { *q = append(*q, x.(due)) }

// Pop takes the last one.
func (q *dues) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
