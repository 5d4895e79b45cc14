package den

import (
	"math"
	"testing"
	"time"

	"collet/platform/span"
)

// TestReceiptRangesAreClipped to the numbers of flights, whatever a peer names.
func TestReceiptRangesAreClipped(t *testing.T) {
	none := flights{}
	some := flights{first: 5, list: make([]flight, 3)}
	for _, c := range []struct {
		flights     flights
		first, last uint64
		want        []uint64
	}{
		{none, 0, math.MaxUint64, nil},
		{none, 0, 0, nil},
		{some, 0, math.MaxUint64, []uint64{5, 6, 7}},
		{some, 6, 6, []uint64{6}},
		{some, 0, 5, []uint64{5}},
		{some, 0, 4, nil},
		{some, 8, math.MaxUint64, nil},
		{some, 7, 5, nil},
		{some, math.MaxUint64, math.MaxUint64, nil},
	} {
		var got []uint64
		for n, end := c.flights.within(numberRange{c.first, c.last}); n < end; n++ {
			got = append(got, n)
			c.flights.at(n).acked = true // panics if the flight is missing
		}
		if len(got) != len(c.want) || (len(got) > 0 && (got[0] != c.want[0] || got[len(got)-1] != c.want[len(c.want)-1])) {
			t.Errorf("%d to %d: %v, want %v", c.first, c.last, got, c.want)
		}
	}
}

// TestOverdueFlights are those before an arrived one and older than the patience, each once.
func TestOverdueFlights(t *testing.T) {
	var l flights
	for i := range 5 {
		l.add(flight{Span: span.Of(uint64(i), uint64(i+1)), sent: time.Duration(i) * time.Second})
	}
	overdue := func(now time.Duration) (offsets []uint64) {
		for f := l.overdue(2*time.Second, now); f != nil; f = l.overdue(2*time.Second, now) {
			l.markLost(f, now)
			offsets = append(offsets, f.Start)
		}
		return offsets
	}
	if got := overdue(time.Minute); got != nil {
		t.Errorf("%v are overdue before anything arrived", got)
	}
	l.markArrived(l.at(1))
	l.markArrived(l.at(3))
	if l.raise(3); l.raise(1) {
		t.Error("1 is above 3")
	}
	if got := overdue(3 * time.Second); len(got) != 1 || got[0] != 0 {
		t.Errorf("%v are overdue, want 0", got)
	}
	if got := overdue(time.Minute); len(got) != 1 || got[0] != 2 {
		t.Errorf("%v are overdue, want 2; 4 is after the last arrival", got)
	}
	if f, n := l.oldest(); f == nil || n != 4 || l.under != f.size() {
		t.Errorf("the oldest is %d, %d bytes are in flight", n, l.under)
	}
	if late := l.markArrived(l.at(0)); !late {
		t.Error("an arrival after the loss is not late")
	}
	l.dropCompleted(time.Second, time.Minute)
	if l.first != 2 || l.next() != 5 {
		t.Errorf("the flights are %d to %d; 2 may still arrive", l.first, l.next())
	}
	if l.dropCompleted(time.Second, time.Minute+time.Second); l.first != 4 || l.unseen != 0 {
		t.Errorf("the flights begin at %d", l.first)
	}
}
