package dentest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"collet/build/lab/dentest"
)

// bench is two cores joined without sockets, on a clock that only the test moves.
type bench struct {
	now     time.Time
	a, b    *dentest.Core
	atA     dentest.Plain
	atB     dentest.Plain
	journal dentest.Journal
	queue   []packet
	lose    func(toB bool, datagram []byte) bool
	sent    []packet
}

type packet struct {
	at   time.Duration
	toB  bool
	data []byte
}

func newBench(timers dentest.Timers) *bench {
	w := &bench{now: time.Unix(0, 0), lose: func(bool, []byte) bool { return false }}
	w.a = dentest.NewCore(&w.atA, &w.journal, timers, func(d []byte) { w.carry(true, d) })
	w.b = dentest.NewCore(&w.atB, &w.journal, timers, func(d []byte) { w.carry(false, d) })
	return w
}

func (w *bench) carry(toB bool, d []byte) {
	p := packet{w.now.Sub(time.Unix(0, 0)), toB, slices.Clone(d)}
	w.sent = append(w.sent, p)
	if !w.lose(toB, p.data) {
		w.queue = append(w.queue, p)
	}
}

// settle delivers everything that is under way.
func (w *bench) settle() {
	for len(w.queue) > 0 {
		p := w.queue[0]
		w.queue = w.queue[1:]
		to := w.a
		if p.toB {
			to = w.b
		}
		to.Input(w.now, p.data)
	}
}

// pass lets time go by in small steps.
func (w *bench) pass(d time.Duration) {
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(10 * time.Millisecond)
		w.a.Tick(w.now)
		w.b.Tick(w.now)
		w.settle()
	}
}

// send sends messages i to j-1 from a to b, each the number as text, window by window. The recording is forgotten.
func (w *bench) send(i, j int) {
	for ; i < j; i++ {
		w.a.Send(w.now, []byte(fmt.Sprint(i)))
		w.settle()
		w.sent = w.sent[:0]
	}
}

// isAck tells whether a datagram acknowledges n.
func isAck(d []byte, n int) bool {
	number, ok := dentest.Number(d)
	return ok && d[0] == dentest.CmdReliableAck && number == n
}

// loseOnce loses the first datagram that matches.
func (w *bench) loseOnce(match func(toB bool, d []byte) bool) {
	met := false
	w.lose = func(toB bool, d []byte) bool {
		if met || !match(toB, d) {
			return false
		}
		met = true
		return true
	}
}

// TestLostAckNearTheWrapEndsTheConnection is the wrap deadlock: resends of 65530 are dropped without ack once the
// receiver has passed the wrap (2.4).
func TestLostAckNearTheWrapEndsTheConnection(t *testing.T) {
	w := newBench(dentest.ClientTimers())
	w.loseOnce(func(toB bool, d []byte) bool { return !toB && isAck(d, 65530) })
	w.send(0, 66000)
	w.pass(4 * time.Second)
	if got := len(w.atB.Messages()); got != 65540 {
		t.Errorf("%d messages came before the end, the recorded run had 65540", got)
	}
	if last := w.sent[len(w.sent)-1]; !last.toB || last.data[0] != dentest.CmdConnectionClose {
		t.Errorf("last datagram %x, want a close of the sender", last.data)
	}
}

// TestTimersOnTheWire repeats the recorded black hole (trace 5).
func TestTimersOnTheWire(t *testing.T) {
	for name, row := range map[string]struct {
		timers dentest.Timers
		want   []time.Duration // multiples of 10 ms
	}{
		"device": {dentest.ClientTimers(), []time.Duration{0, 50, 100, 150, 200, 250, 300}},
		"server": {dentest.ServerTimers(), []time.Duration{0, 25, 50, 75, 100, 125, 150}},
	} {
		w := newBench(row.timers)
		w.lose = func(bool, []byte) bool { return true }
		w.a.Send(w.now, dentest.Build(dentest.KeepAlive))
		w.pass(5 * time.Second)
		var at []time.Duration
		for _, p := range w.sent {
			at = append(at, p.at/(10*time.Millisecond))
		}
		if !slices.Equal(at, row.want) || w.sent[len(w.sent)-1].data[0] != dentest.CmdConnectionClose {
			t.Errorf("%s: sent at %v × 10 ms, want %v and a close at the end", name, at, row.want)
		}
	}
}

// TestLongMessages checks the boundary of the recorded plain transport (trace 3).
func TestLongMessages(t *testing.T) {
	for size, want := range map[int][]int{1357: {1360}, 1358: {1361, 5}, 5000: {1361, 1361, 1361, 933}} {
		w := newBench(dentest.ClientTimers())
		w.a.Send(w.now, make([]byte, size))
		var lengths []int
		for _, p := range w.sent {
			lengths = append(lengths, len(p.data))
		}
		w.settle()
		if got := w.atB.Messages(); !slices.Equal(lengths, want) || len(got) != 1 || len(got[0]) != size {
			t.Errorf("%d bytes: datagrams %v, want %v, %d messages", size, lengths, want, len(got))
		}
	}
}
