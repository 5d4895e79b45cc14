package den

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"
)

// released is a receiver with the faults of the released programs: its window test goes wrong behind a
// wrap, and it keeps duplicates, which it hands out one lap later.
type released struct {
	next   int
	stored map[int][][]byte // copies, oldest first
	got    [][]byte         // delivered datagrams
}

// take handles a numbered datagram and reports whether it is acknowledged.
func (r *released) take(datagram []byte) (number uint16, acked bool) {
	number = binary.LittleEndian.Uint16(datagram[1:])
	n := int(number)
	if n < r.next {
		acked = n < (r.next+windowSize)%numbers
		if r.next <= numbers-windowSize-1 {
			acked = true // n < r+W holds
		}
	} else {
		acked = n < r.next+windowSize
	}
	switch {
	case !acked:
		return number, false
	case n != r.next:
		r.stored[n] = append(r.stored[n], bytes.Clone(datagram))
		return number, true
	}
	r.got = append(r.got, bytes.Clone(datagram))
	for {
		r.next = (r.next + 1) % numbers
		kept := r.stored[r.next]
		if len(kept) == 0 {
			return number, true
		}
		r.got = append(r.got, kept[0])
		r.stored[r.next] = kept[1:]
	}
}

// payloads puts together what the receiver delivered, without what is harmless.
func (r *released) payloads(t *testing.T, harmless []byte) [][]byte {
	var a assembly
	var out [][]byte
	for _, d := range r.got {
		switch d[0] {
		case cmdReliable:
			if p := d[3:]; len(harmless) == 0 || p[0] != harmless[0] {
				out = append(out, p)
			}
		case cmdReliableLong:
			whole, err := a.add(d[3], d[4:], 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			if whole != nil {
				out = append(out, whole)
			}
		}
	}
	return out
}

// lap drives a sender against a released receiver, a step being half a round trip. It gives what arrived.
type lap struct {
	t        *testing.T
	out      *sender
	in       *released
	now      time.Time
	random   *rand.Rand
	lossData float64
	lossAck  float64
	lose     func(number uint16, ack bool) bool
	copies   float64  // of datagrams that the path doubles
	late     [][]byte // copies that come with the next step
	want     [][]byte
}

// step sends what is due and delivers it; acknowledgements come back at once.
func (l *lap) step() {
	var acks []uint16
	for _, d := range l.late {
		if number, acked := l.in.take(d); acked {
			acks = append(acks, number)
		}
	}
	l.late = nil
	l.out.output(l.now, func(p packet) bool {
		d, err := encode(nil, p)
		if err != nil {
			l.t.Fatal(err)
		}
		number := binary.LittleEndian.Uint16(d[1:])
		if l.random.Float64() < l.lossData || (l.lose != nil && l.lose(number, false)) {
			return true
		}
		if l.copies > 0 && l.random.Float64() < l.copies {
			l.late = append(l.late, d)
		}
		number, acked := l.in.take(d)
		if acked && l.random.Float64() >= l.lossAck && (l.lose == nil || !l.lose(number, true)) {
			acks = append(acks, number)
		}
		return true
	})
	l.now = l.now.Add(2 * time.Millisecond)
	for _, n := range acks {
		l.out.ack(n, receivedWell, l.now)
	}
	if silent := l.out.silent(); !silent.IsZero() && l.now.Sub(silent) > DefaultGiveUp {
		l.t.Fatalf("gave up at number %d, %d resent", l.out.base, l.out.resent)
	}
	if len(acks) == 0 && !l.out.idle() {
		if next := l.out.deadline(); next.After(l.now) {
			l.now = next
		}
	}
}

// newLap is a sender with its receiver.
func newLap(t *testing.T, harmless []byte, part int) *lap {
	return &lap{
		t:      t,
		out:    &sender{harmless: harmless, sizes: newSizer(part, part)},
		in:     &released{stored: map[int][][]byte{}},
		now:    time.Unix(1000, 0),
		random: rand.New(rand.NewPCG(5, 6)),
	}
}

// startAt has both ends in the middle of a lap.
func (l *lap) startAt(number uint16) { l.out.base, l.in.next = number, int(number) }

// run sends count messages, whose sizes are between 4 and most+3, and compares what arrives. A copy of a message that the
// receiver kept from an earlier lap can't be helped; it gives how many there were.
func (l *lap) run(count, most int) (stale int) {
	l.t.Helper()
	for i := 0; i < count || !l.out.idle(); {
		for ; i < count && len(l.out.queue) < 2*windowSize; i++ {
			b := make([]byte, 4+l.random.IntN(most))
			binary.LittleEndian.PutUint32(b, uint32(len(l.want))<<8|1)
			l.want = append(l.want, b)
			l.out.push(outgoing{payload: b})
		}
		l.step()
	}
	arrived := 0
	for _, got := range l.in.payloads(l.t, l.out.harmless) {
		switch which := int(binary.LittleEndian.Uint32(got) >> 8); {
		case arrived < len(l.want) && bytes.Equal(got, l.want[arrived]):
			arrived++
		case which < arrived && bytes.Equal(got, l.want[which]):
			stale++
		default:
			l.t.Fatalf("message %d of %d is wrong: %d, whose length is %d, came; %d numbers were resent", arrived, len(l.want), which, len(got), l.out.resent)
		}
	}
	if arrived != len(l.want) {
		l.t.Fatalf("%d messages arrived, want %d", arrived, len(l.want))
	}
	return stale
}
