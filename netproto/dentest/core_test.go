package dentest_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"collet/netproto/dentest"
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

// TestStoredDuplicateComesOutOneLapLater is the stale copy bomb: a lost ack of number 100 makes message 65635 a second
// message 100 (2.4).
func TestStoredDuplicateComesOutOneLapLater(t *testing.T) {
	w := newBench(dentest.ClientTimers())
	w.loseOnce(func(toB bool, d []byte) bool { return !toB && isAck(d, 100) })
	w.send(0, 101)
	w.pass(600 * time.Millisecond)
	w.send(101, 65700)
	got := w.atB.Messages()
	if n := w.journal.Count(dentest.NoteStoredOld); n != 2 {
		t.Errorf("%d old copies stored, want 2: number 100, and the genuine message it replaced", n)
	}
	if len(got) != 65699 || string(got[65634]) != "65634" || string(got[65635]) != "65636" {
		t.Errorf("%d messages, around the lap: %s", len(got), got[65634:65637])
	}
	if stale := w.atB.Stale(); len(stale) != 1 || string(stale[0]) != "100" {
		t.Errorf("%s came a lap late, want message 100", stale)
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

// TestWindowAsItIs compares which numbers are acknowledged with the rules of 2.4.
func TestWindowAsItIs(t *testing.T) {
	for _, row := range []struct {
		expected, n int
		acked       bool
	}{
		{0, 0, true}, {0, 9, true}, {0, 10, false}, {50, 49, true}, {50, 0, true}, {50, 59, true}, {50, 60, false},
		{65524, 3, true}, {65524, 65523, true}, {65525, 65524, false}, {65525, 0, false}, {65526, 0, true},
		{65534, 8, true}, {65534, 9, false}, {65534, 65533, false}, {5, 65533, false}, {5, 65530, false},
	} {
		w := newBench(dentest.ClientTimers())
		w.send(0, row.expected)
		acked := false
		w.lose = func(toB bool, d []byte) bool {
			acked = acked || !toB && isAck(d, row.n)
			return false
		}
		w.b.Input(w.now, append(binary.LittleEndian.AppendUint16([]byte{4}, uint16(row.n)), 'x'))
		if acked != row.acked {
			t.Errorf("expecting %d, number %d: acknowledged %v, want %v", row.expected, row.n, acked, row.acked)
		}
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

// TestWindowOfTheSender holds back the eleventh entry until the first is acknowledged, in whatever order acks come (2.3).
func TestWindowOfTheSender(t *testing.T) {
	w := newBench(dentest.ClientTimers())
	w.lose = func(toB bool, _ []byte) bool { return toB }
	for i := range 15 {
		w.a.Send(w.now, []byte{byte(i)})
	}
	ack := func(n byte) { w.a.Input(w.now, []byte{dentest.CmdReliableAck, n, 0, 0}) }
	if len(w.sent) != 10 {
		t.Fatalf("%d datagrams on the wire, want 10", len(w.sent))
	}
	ack(1)
	ack(9)
	if len(w.sent) != 10 {
		t.Errorf("acks behind the front let %d out, want none", len(w.sent)-10)
	}
	ack(0)
	if len(w.sent) != 12 || w.a.Pending() != 13 {
		t.Errorf("after the front %d datagrams, %d pending, want 12 and 13", len(w.sent), w.a.Pending())
	}
	w.a.Input(w.now, []byte{dentest.CmdReliableAck, 2, 0, 1})
	if len(w.sent) != 13 || w.sent[12].data[1] != 2 {
		t.Errorf("a negative ack sent %x, want number 2 again", w.sent[len(w.sent)-1].data)
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

// TestPartsOfAnySize takes parts up to 32000 bytes and one part with both flags (2.5).
func TestPartsOfAnySize(t *testing.T) {
	w := newBench(dentest.ClientTimers())
	part := func(n byte, flags byte, size int) {
		w.b.Input(w.now, append([]byte{dentest.CmdReliableLong, n, 0, flags}, make([]byte, size)...))
	}
	part(0, 3, 5)
	part(1, 1, 4096)
	part(2, 0, 32000)
	part(3, 2, 1)
	part(4, 0, 7) // without a first part: dropped
	got := w.atB.Messages()
	if len(got) != 2 || len(got[0]) != 5 || len(got[1]) != 4096+32000+1 {
		t.Errorf("%d messages", len(got))
	}
}
