package den

import (
	"reflect"
	"testing"
	"time"
)

// driver drives one sender by hand.
type driver struct {
	t   *testing.T
	out *sender
	now time.Time
}

func newDriver(t *testing.T) *driver {
	return &driver{t: t, out: &sender{harmless: keepAlive, sizes: newSizer(1357, 1357)}, now: testTime}
}

// push queues count messages of one byte.
func (w *driver) push(count int) {
	for i := range count {
		w.out.push(outgoing{payload: []byte{byte(100 + i)}})
	}
}

// sent is which numbers go out after d.
func (w *driver) sent(d time.Duration) []int {
	w.t.Helper()
	w.now = w.now.Add(d)
	var out []int
	w.out.output(w.now, func(p packet) bool {
		switch p := p.(type) {
		case *reliableMessage:
			out = append(out, int(p.Number))
		case *reliableMessageLong:
			out = append(out, int(p.Number))
		}
		return true
	})
	return out
}

func (w *driver) expect(d time.Duration, numbers ...int) {
	w.t.Helper()
	if got := w.sent(d); !reflect.DeepEqual(got, numbers) {
		w.t.Fatalf("after %v: sent %v, want %v", w.now.Sub(testTime), got, numbers)
	}
}

func (w *driver) ack(numbers ...uint16) {
	for _, n := range numbers {
		w.out.ack(n, receivedWell, w.now)
	}
}

const wireTrip = 2 * time.Millisecond

func TestTenAreUnderWay(t *testing.T) {
	w := newDriver(t)
	w.push(30)
	w.expect(0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	w.expect(wireTrip)
	w.ack(3, 4) // the front is missing: nothing moves
	w.expect(0)
	w.ack(0)
	w.expect(0, 10)
	w.ack(1, 2)
	w.expect(0, 11, 12, 13, 14)
}

// TestLostAcknowledgementIsSettledByTheEleventh: nothing is sent twice.
func TestLostAcknowledgementIsSettledByTheEleventh(t *testing.T) {
	w := newDriver(t)
	w.push(30)
	w.sent(0)
	w.now = w.now.Add(wireTrip)
	w.ack(1, 2, 3) // 0 arrived, but its acknowledgement was lost
	w.expect(0, 10)
	w.now = w.now.Add(wireTrip)
	w.ack(10)
	w.expect(0, 11, 12, 13)
	if w.out.resent != 0 || w.out.implicit != 1 || w.out.base != 4 {
		t.Errorf("%d sent again, %d implicit, base %d", w.out.resent, w.out.implicit, w.out.base)
	}
}

// TestLostMessageIsSentWhenTheEleventhStaysOut: the eleventh is retransmitted, too, since the receiver dropped it.
func TestLostMessageIsSentWhenTheEleventhStaysOut(t *testing.T) {
	w := newDriver(t)
	w.push(30)
	w.sent(0)
	w.now = w.now.Add(wireTrip)
	w.ack(1, 2, 3)
	w.expect(0, 10)
	w.expect(wireTrip)
	w.expect(2*probeWait, 0)
	w.now = w.now.Add(wireTrip)
	w.ack(0, 4, 5, 6, 7, 8, 9)
	w.expect(0, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19)
	if w.out.resent != 2 || !w.out.burnt.has(0) || !w.out.burnt.has(10) || w.out.burnt.has(1) {
		t.Errorf("%d sent again, %d burnt", w.out.resent, w.out.burnt.count)
	}
}

// TestSecondAcknowledgementBurns a number that was sent once: while it is in flight, long after, and when a later
// acknowledgement had covered it.
func TestSecondAcknowledgementBurns(t *testing.T) {
	w := newDriver(t)
	w.push(30)
	w.sent(0)
	w.now = w.now.Add(wireTrip)
	w.ack(3, 3, 0)
	w.sent(0)
	w.ack(10, 0) // 1 to 9 are not known to have come; 10 says that 0 has
	w.ack(1, 2, 4, 5, 6, 7, 8, 9)
	w.sent(0)
	if w.out.burnt.count != 2 || !w.out.burnt.has(3) || !w.out.burnt.has(0) {
		t.Errorf("%d burnt", w.out.burnt.count)
	}
	w.ack(25, 30, 60000, 65535) // never sent, or no number at all
	if w.out.burnt.count != 2 {
		t.Errorf("%d burnt", w.out.burnt.count)
	}

	w = newDriver(t)
	w.push(30)
	w.sent(0)
	w.now = w.now.Add(wireTrip)
	w.ack(1, 2, 3)
	w.sent(0)
	w.ack(10) // 0 has come, and its acknowledgement is late
	w.ack(0)
	if w.out.implicit != 1 || w.out.burnt.count != 0 {
		t.Errorf("a late first acknowledgement: %d burnt", w.out.burnt.count)
	}
	w.ack(0)
	if !w.out.burnt.has(0) {
		t.Error("a second one after it is no evidence")
	}
}

// TestLoneMessageIsAskedAbout: an unanswered last message is followed by harmless ones, whose acknowledgements show its fate.
func TestLoneMessageIsAskedAbout(t *testing.T) {
	w := newDriver(t)
	w.push(1)
	w.expect(0, 0)
	w.now = w.now.Add(wireTrip)
	w.ack(0)
	w.push(1)
	w.expect(0, 1)
	w.expect(doubtAfter / 2)
	w.expect(doubtAfter, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	w.now = w.now.Add(wireTrip)
	w.ack(11)
	if w.out.resent != 0 || w.out.implicit != 1 || w.out.fillers != 10 {
		t.Errorf("%d sent again, %d implicit, %d fillers", w.out.resent, w.out.implicit, w.out.fillers)
	}
}

// TestNothingIsMadeUpForASilentPeer: the first message may have to be the first on the wire.
func TestNothingIsMadeUpForASilentPeer(t *testing.T) {
	w := newDriver(t)
	w.push(1)
	w.expect(0, 0)
	for range 5 {
		w.expect(resendAfter / 2)
		w.expect(resendAfter/2, 0)
	}
	if got := w.out.silent(); got != testTime {
		t.Errorf("silent since %v", got)
	}
}

func TestBrokenIsSentAgainAtOnce(t *testing.T) {
	w := newDriver(t)
	w.push(3)
	w.expect(0, 0, 1, 2)
	w.out.ack(1, receivedBroken, w.now)
	w.expect(0, 1)
	w.expect(0)
	w.ack(1)
	w.out.ack(1, receivedBroken, w.now)
	w.expect(0)
}

func TestUnknownAcknowledgementsAreIgnored(t *testing.T) {
	w := newDriver(t)
	w.push(3)
	w.expect(0, 0, 1, 2)
	w.ack(3, 4, 10, 40000, 65534)
	if w.out.base != 0 || len(w.out.window) != 3 || w.out.settled {
		t.Errorf("base %d, %d in the window", w.out.base, len(w.out.window))
	}
	w.ack(2, 1, 0, 0, 1)
	if w.out.base != 3 || !w.out.idle() || w.out.bytes != 0 {
		t.Errorf("base %d, %d bytes", w.out.base, w.out.bytes)
	}
}

// TestLongMessageGoesAroundBurntNumbers: it is sent whole behind them, with harmless messages before.
func TestLongMessageGoesAroundBurntNumbers(t *testing.T) {
	w := newDriver(t)
	w.out.sizes = newSizer(64, 64)
	w.out.burnt.add(2)
	w.out.burnt.add(3)
	w.out.push(outgoing{payload: make([]byte, 4*64)})
	w.push(1)
	var got []string
	w.out.output(w.now, func(p packet) bool {
		switch p := p.(type) {
		case *reliableMessage:
			got = append(got, itoa(int(p.Number))+":"+itoa(int(p.Payload[0])))
		case *reliableMessageLong:
			got = append(got, itoa(int(p.Number))+":part"+itoa(int(p.Flags)))
		}
		return true
	})
	want := []string{"0:20", "1:20", "2:20", "3:20", "4:part1", "5:part0", "6:part0", "7:part2", "8:100"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("sent %v, want %v", got, want)
	}
	if w.out.detour != 0 || w.out.fillers != 4 {
		t.Errorf("%d fillers", w.out.fillers)
	}
}

// TestBurntEverywhere sends all the same, after a while.
func TestBurntEverywhere(t *testing.T) {
	w := newDriver(t)
	for n := range numbers {
		w.out.burnt.add(uint16(n))
	}
	w.push(1)
	for range 2 * maxDetour / windowSize {
		for _, n := range w.sent(0) {
			w.ack(uint16(n))
		}
	}
	if !w.out.idle() || w.out.fillers != maxDetour {
		t.Errorf("%d fillers, %d bytes wait", w.out.fillers, w.out.bytes)
	}
}

// TestFullBatchLosesNothing has room for one datagram at a time.
func TestFullBatchLosesNothing(t *testing.T) {
	w := newDriver(t)
	w.push(25)
	var got []int
	for len(got) < 25 {
		room := true
		w.out.output(w.now, func(p packet) bool {
			if !room {
				return false
			}
			room = false
			got = append(got, int(p.(*reliableMessage).Number))
			return true
		})
		if room {
			for n := w.out.base; len(w.out.window) > 0; n++ {
				w.ack(n)
			}
		}
	}
	for i, n := range got {
		if n != i {
			t.Fatalf("sent %v", got)
		}
	}
}
