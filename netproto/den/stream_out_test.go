package den

import (
	"testing"
	"time"

	"collet/platform/span"
)

// line drives one streamOut by hand: what it sends is decoded, what arrives is acknowledged on demand.
type line struct {
	t    *testing.T
	out  streamOut
	now  time.Time
	sent []segment
}

func newLine(t *testing.T, near bool) *line {
	l := &line{t: t, out: newStreamOut(near, testTime), now: testTime}
	l.out.limit, l.out.room = 64<<20, 64<<20
	return l
}

// step sends what is due, and gives the new segments.
func (l *line) step() []segment {
	l.t.Helper()
	first := len(l.sent)
	for more := true; more; {
		var b batch
		more = l.out.output(l.now, 1, &b)
		start := 0
		for _, end := range b.ends {
			var p segment
			d, whole := unseal(b.buf[start:end])
			if err := decode(d, &p); err != nil || !whole {
				l.t.Fatal(err, whole)
			}
			l.sent = append(l.sent, p)
			start = end
		}
	}
	return l.sent[first:]
}

// wait lets time pass.
func (l *line) wait(d time.Duration) { l.now = l.now.Add(d) }

// ack acknowledges ranges of numbers: first, last, first, last, from the highest on.
func (l *line) ack(numbers ...uint64) {
	p := receipt{Token: 1, Limit: l.out.limit, Room: uint32(l.out.room)}
	for i := 0; i < len(numbers); i += 2 {
		p.Ranges = append(p.Ranges, numberRange{numbers[i], numbers[i+1]})
	}
	l.out.handleReceipt(&p, l.now)
}

// full has n bytes to send.
func (l *line) full(n int) { l.out.buf.write(make([]byte, n)) }

const lineTrip = 10 * time.Millisecond

func TestLostSegmentIsSentAgainUnderANewNumber(t *testing.T) {
	l := newLine(t, false)
	l.full(10 * farSegment)
	if got := l.step(); len(got) != 10 || got[9].Number != 9 || got[9].Offset != 9*farSegment {
		t.Fatalf("sent %d segments", len(got))
	}
	l.wait(lineTrip)
	l.ack(4, 9, 0, 2) // 3 is missing
	if got := l.step(); len(got) != 0 {
		t.Fatalf("sent %d segments before the time for reordering was over", len(got))
	}
	l.wait(lineTrip / 2)
	got := l.step()
	if len(got) != 1 || got[0].Number != 10 || got[0].Offset != 3*farSegment || len(got[0].Bytes) != farSegment {
		t.Fatalf("sent %+v", got)
	}
	if l.out.resent != 1 || l.out.buf.base != 3*farSegment {
		t.Errorf("%d resent, acknowledged up to %d", l.out.resent, l.out.buf.base)
	}
	l.wait(lineTrip)
	l.ack(10, 10, 4, 9, 0, 2)
	if l.out.buf.held() != 0 || l.out.flights.under != 0 {
		t.Errorf("%d bytes held, %d under way", l.out.buf.held(), l.out.flights.under)
	}
}

// TestArrivedBytesAreNotSentAgain has bytes arrive between giving them up and sending them again, with nothing else to send.
func TestArrivedBytesAreNotSentAgain(t *testing.T) {
	l := newLine(t, false)
	l.full(3 * farSegment)
	l.step()
	late := span.Of[uint64](farSegment, 2*farSegment)
	l.out.again.Add(late)
	l.out.acked.Add(late)
	if one, again := l.out.next(); one.Len() != 0 || again {
		t.Errorf("%v is sent, again %v", one, again)
	}
}

// TestLateSegmentTeachesPatience has a segment arrive after it was given up: the next one gets more time.
func TestLateSegmentTeachesPatience(t *testing.T) {
	l := newLine(t, false)
	l.full(20 * farSegment)
	l.step()
	l.wait(lineTrip)
	l.ack(4, 19, 0, 2)
	before := l.out.patience()
	l.wait(lineTrip / 2)
	if len(l.step()) != 1 {
		t.Fatal("nothing was given up")
	}
	l.wait(time.Millisecond)
	l.ack(0, 19) // it came after all
	if l.out.spurious != 1 || l.out.patience() <= before {
		t.Errorf("%d spurious, patience %v after %v", l.out.spurious, l.out.patience(), before)
	}
	if l.out.buf.held() != 0 {
		t.Errorf("%d bytes are held though all arrived", l.out.buf.held())
	}
}

// TestSilenceIsBroken sends the oldest bytes when nothing comes back, with growing pauses.
func TestSilenceIsBroken(t *testing.T) {
	l := newLine(t, false)
	l.full(3 * farSegment)
	l.step()
	var at []time.Duration
	for range 6 {
		next := l.out.deadline(l.now)
		if !next.After(l.now) {
			t.Fatalf("due at %v, which is not after %v", next, l.now)
		}
		l.now = next
		got := l.step()
		if len(got) != 1 {
			t.Fatalf("sent %d segments", len(got))
		}
		at = append(at, l.now.Sub(testTime))
	}
	for i := 2; i < len(at); i++ {
		if at[i]-at[i-1] < at[i-1]-at[i-2] || at[i]-at[i-1] > mostProbe {
			t.Errorf("sent at %v", at)
		}
	}
	if since := l.out.silent(); since.IsZero() || since.After(testTime.Add(time.Millisecond)) {
		t.Errorf("silent since %v", since)
	}
	l.ack(0, 0)
	if since := l.out.silent(); since.Before(l.now) {
		t.Errorf("an acknowledgement does not end the silence of %v", since)
	}
}

func TestIdleConnectionIsPinged(t *testing.T) {
	l := newLine(t, false)
	if got := l.step(); len(got) != 0 {
		t.Fatalf("sent %+v", got)
	}
	l.now = l.out.deadline(l.now)
	if d := l.now.Sub(testTime); d != pingAfter {
		t.Errorf("due after %v", d)
	}
	got := l.step()
	if len(got) != 1 || len(got[0].Bytes) != 0 {
		t.Fatalf("sent %+v", got)
	}
	l.wait(time.Millisecond)
	l.ack(0, 0)
	if !l.out.silent().IsZero() || l.out.flights.under != 0 {
		t.Error("the answered ping is still under way")
	}
}

// TestLimitOfThePeerIsKept sends no byte beyond the limit, and probes for a new one.
func TestLimitOfThePeerIsKept(t *testing.T) {
	l := newLine(t, false)
	l.out.limit = 5000
	l.full(20000)
	last := uint64(0)
	for _, p := range l.step() {
		last = p.Offset + uint64(len(p.Bytes))
	}
	if last != 5000 {
		t.Errorf("sent up to %d", last)
	}
	l.wait(lineTrip)
	l.ack(0, 3)
	if got := l.step(); len(got) != 0 {
		t.Fatalf("sent %+v", got)
	}
	l.now = l.out.deadline(l.now)
	if got := l.step(); len(got) != 1 || len(got[0].Bytes) != 0 || l.now.Sub(testTime) > time.Second {
		t.Fatalf("after %v: sent %+v", l.now.Sub(testTime), got)
	}
	l.out.limit = 6000
	if got := l.step(); len(got) != 1 || len(got[0].Bytes) != 1000 {
		t.Errorf("sent %+v", got)
	}
}

// TestSegmentsShrinkWhereLongOnesVanish is for a peer on the same machine behind something that takes no long datagrams.
func TestSegmentsShrinkWhereLongOnesVanish(t *testing.T) {
	l := newLine(t, true)
	l.full(2 * nearSegment)
	if got := l.step(); len(got) != 2 || len(got[0].Bytes) != nearSegment {
		t.Fatalf("sent %d segments", len(got))
	}
	for range 2 {
		l.now = l.out.deadline(l.now)
		l.step()
	}
	if n := l.out.sizes.size; n != farSegment || l.now.Sub(testTime) > time.Second {
		t.Errorf("still sends %d bytes after %v", n, l.now.Sub(testTime))
	}
	small := l.out.sizes.size
	l.wait(mostPause)
	for range 3 * growAfter {
		l.full(1000)
		l.step()
		l.wait(time.Millisecond)
		last := l.sent[len(l.sent)-1].Number
		l.ack(0, last)
	}
	if l.out.sizes.size <= small {
		t.Errorf("segments stay at %d bytes on a path that is well again", l.out.sizes.size)
	}
}

// TestReceiptsOfAHostilePeer names numbers that were never sent, and huge ranges.
func TestReceiptsOfAHostilePeer(t *testing.T) {
	l := newLine(t, false)
	l.full(5 * farSegment)
	l.step()
	start := time.Now()
	l.ack(1<<63, 1<<64-1, 10, 5, 7, 1<<62)
	l.ack(0, 1<<64-1)
	if time.Since(start) > time.Second {
		t.Errorf("took %v", time.Since(start))
	}
	if l.out.buf.held() != 0 || l.out.flights.under != 0 || len(l.out.flights.list) != 0 {
		t.Errorf("%d held, %d under way", l.out.buf.held(), l.out.flights.under)
	}
	l.full(100)
	if got := l.step(); len(got) != 1 || got[0].Number != 5 {
		t.Errorf("sent %+v", got)
	}
}

func TestServerTakesTheFirstToken(t *testing.T) {
	var got recordingSink
	s := newStream(&got, Options{}.filled(), &buffers{}, 0, false, 1<<20, testTime)
	var out batch
	s.send([]byte("early"))
	if s.output(testTime, &out); len(out.ends) != 0 {
		t.Fatal("a server without a token sends")
	}
	send := func(p packet) {
		t.Helper()
		d, err := encode(nil, p)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.input(seal(d, 0), testTime); err != nil {
			t.Fatal(err)
		}
	}
	send(&loose{Token: 0, Payload: []byte("no token")})
	send(&loose{Token: 7, Payload: []byte("first")})
	send(&loose{Token: 8, Payload: []byte("stranger")})
	send(&end{Token: 8})
	if len(got.messages) != 1 || string(got.messages[0]) != "first" {
		t.Errorf("got %q", got.messages)
	}
	if s.output(testTime, &out); len(out.ends) != 2 || out.buf[0] != kindReceipt || out.buf[1] != 7 {
		t.Errorf("sent %x", out.buf)
	}
	d, err := encode(nil, &end{Token: 7})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.input(seal(d, 0), testTime); err == nil {
		t.Error("the end is none")
	}
}

func TestClientSaysHelloUntilItIsHeard(t *testing.T) {
	s := newStream(&recordingSink{}, Options{}.filled(), &buffers{}, 9, false, 1<<20, testTime)
	hellos := 0
	for i := range 10 {
		var out batch
		now := testTime.Add(time.Duration(i) * helloRepeat / 2)
		s.output(now, &out)
		hellos += len(out.ends)
	}
	if hellos != 5 {
		t.Errorf("%d hellos", hellos)
	}
	d, err := encode(nil, &receipt{Token: 9})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.input(seal(d, 0), testTime); err != nil {
		t.Fatal(err)
	}
	var out batch
	if s.output(testTime.Add(time.Second), &out); len(out.ends) != 0 {
		t.Error("it goes on")
	}
}
