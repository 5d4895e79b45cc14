package update

import (
	"context"
	"errors"
	"testing"
	"time"

	"collet/netproto/release"
)

// sink is a Destination that accepts everything and stores nothing.
type sink struct{ Destination }

func (sink) Write(int, []byte) error { return nil }

func (sink) Advance(context.Context, int) error { return nil }

// TestPortionsCostNoMemory checks that writing a portion and reporting hashing progress allocate nothing.
func TestPortionsCostNoMemory(t *testing.T) {
	var m meter
	transfer := transfer{wants: []Want{WantFrom(release.File{Path: "A.zip", Size: 1 << 40}, 0)}, destination: sink{}, meter: &m}
	portion := make([]byte, 1000)
	ctx := context.Background()
	got := testing.AllocsPerRun(1000, func() {
		if err := transfer.deliver(ctx, 0, portion); err != nil {
			t.Fatal(err)
		}
		m.hash("B.zip", 1, 2)
	})
	if got != 0 {
		t.Errorf("%g allocations for each portion", got)
	}
	if p := m.snapshot(); p.total != transfer.written || p.total < 1_000_000 {
		t.Errorf("%d bytes counted, %d written", p.total, transfer.written)
	}
}

// TestGained checks that only bytes that stay on disk count.
func TestGained(t *testing.T) {
	at := transfer{finished: 100, written: 20}
	if got := at.gained(&Fault{Cause: Interrupted}); got != 120 {
		t.Errorf("interrupted: %d", got)
	}
	if got := at.gained(&Fault{Cause: DamagedDownload}); got != 100 {
		t.Errorf("damaged: %d", got)
	}
}

// TestAboutLeavesThePortsValueAlone checks that the port's fault is not modified.
func TestAboutLeavesThePortsValueAlone(t *testing.T) {
	want, named, nameless := Want{File: release.File{Path: "A.zip"}}, &Fault{Subject: "x"}, &Fault{Cause: DiskFull, Err: errors.New("full")}
	if about(want, named) != named {
		t.Error("a fault with a subject was copied")
	}
	if got := about(want, nameless); got.Subject != "A.zip" || got.Cause != DiskFull || !errors.Is(got, nameless.Err) || nameless.Subject != "" {
		t.Errorf("got %+v, the port's is %+v", got, nameless)
	}
}

// feed adds a total every step, n times, starting after the given one, and returns the last time and total.
func feed(r *rate, at time.Time, total int64, step time.Duration, bytes int64, n int) (time.Time, int64) {
	for range n {
		at, total = at.Add(step), total+bytes
		r.addBytes(at, total)
	}
	return at, total
}

func TestRate(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var r rate
	if r.perSecond() != 0 {
		t.Error("a rate of nothing")
	}
	r.addBytes(start, 5000) // resumed bytes do not count as rate
	if r.perSecond() != 0 {
		t.Error("a rate of one sample")
	}
	at, total := feed(&r, start, 5000, 50*time.Millisecond, 50, 19)
	if got := r.perSecond(); got != 0 {
		t.Errorf("after %v it settled already, at %d", at.Sub(start), got)
	}
	at, total = feed(&r, at, total, 50*time.Millisecond, 50, 1)
	if got := r.perSecond(); got != 1000 {
		t.Errorf("after a second: %d", got)
	}
	at, total = feed(&r, at, total, 50*time.Millisecond, 50, 1000)
	if got := r.perSecond(); got != 1000 {
		t.Errorf("after a minute: %d", got)
	}
	// At twice the rate: halfway through the window the mean is halfway up, then it is reached.
	at, total = feed(&r, at, total, 50*time.Millisecond, 100, 50)
	if got := r.perSecond(); got != 1500 {
		t.Errorf("2.5 s after the change: %d", got)
	}
	at, total = feed(&r, at, total, 50*time.Millisecond, 100, 50)
	if got := r.perSecond(); got != 2000 {
		t.Errorf("5 s after the change: %d", got)
	}
	// A stall.
	at, total = feed(&r, at, total, 50*time.Millisecond, 0, 50)
	if got := r.perSecond(); got != 1000 {
		t.Errorf("2.5 s into a stall: %d", got)
	}
	at, total = feed(&r, at, total, 50*time.Millisecond, 0, 50)
	if got := r.perSecond(); got != 0 {
		t.Errorf("5 s into a stall: %d", got)
	}
	// After a suspend all earlier samples are too old.
	r.addBytes(at.Add(time.Hour), total+1_000_000)
	if got := r.perSecond(); got != 0 {
		t.Errorf("after an hour's sleep: %d", got)
	}
}

func TestRateBeginsAnew(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for what, back := range map[string]sample{
		"bytes thrown away": {start.Add(3 * time.Second), 10},
		"a clock set back":  {start.Add(-time.Hour), 10_000},
	} {
		var r rate
		at, _ := feed(&r, start, 0, time.Second, 1000, 2)
		if r.perSecond() != 1000 || at != start.Add(2*time.Second) {
			t.Fatalf("before: %d", r.perSecond())
		}
		r.addBytes(back.at, back.total)
		if got := r.perSecond(); got != 0 || r.kept != 1 {
			t.Errorf("%s: %d from %d samples", what, got, r.kept)
		}
		feed(&r, back.at, back.total, time.Second, 500, 4)
		if got := r.perSecond(); got != 500 {
			t.Errorf("%s: %d afterwards", what, got)
		}
	}
}

// TestRateForgets checks that the window stays the same when samples are rare.
func TestRateForgets(t *testing.T) {
	var r rate
	at, total := feed(&r, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), 0, 3*time.Second, 3000, 2)
	if got := r.perSecond(); got != 1000 {
		t.Errorf("while bytes came: %d", got)
	}
	feed(&r, at, total, 3*time.Second, 0, 2)
	if got := r.perSecond(); got != 0 {
		t.Errorf("six seconds later: %d", got)
	}
}

// TestRateAtAnyStep checks that the ring holds exactly the whole window, whatever the interval of the samples.
func TestRateAtAnyStep(t *testing.T) {
	for _, step := range []time.Duration{time.Microsecond * 700, time.Millisecond * 50, time.Millisecond * 249, time.Millisecond * 250, time.Second, 4 * time.Second} {
		var r rate
		at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		r.addBytes(at, 0)
		feed(&r, at, 0, step, step.Microseconds(), int(20*time.Second/step))
		if got := r.perSecond(); got < 999_999 || got > 1_000_001 {
			t.Errorf("every %v: %d bytes a second, want a million", step, got)
		}
		oldest := r.ring[(r.next-r.kept+rateSlots)%rateSlots]
		if held := r.last.at.Sub(oldest.at); step <= rateSpacing && held < RateWindow-rateSpacing {
			t.Errorf("every %v: the ring holds only %v", step, held)
		}
	}
}

// TestMeterOfHashing checks that bytes count once, whatever the steps, and that a file that is read again counts again.
func TestMeterOfHashing(t *testing.T) {
	var m meter
	m.startFile(7)
	m.compare()
	m.hash("", 0, 60)
	steps := []struct {
		file       string
		done, size int64
		hashed     int64
	}{
		{"A.zip", 10, 20, 10}, {"A.zip", 20, 20, 20}, {"A.zip", 20, 20, 20}, {"B.zip", 5, 5, 25}, {"C.zip", 5, 15, 30}, {"C.zip", 15, 15, 40}, {"C.zip", 3, 15, 43},
	}
	for _, s := range steps {
		m.hash(s.file, s.done, s.size)
		if p := m.snapshot(); p.hashed != s.hashed || p.toHash != 60 || p.file != s.file || p.done != s.done || p.size != s.size || p.total != 7 {
			t.Errorf("after %+v: %+v", s, p)
		}
	}
	m.compare()
	if p := m.snapshot(); p != (progress{total: 7}) {
		t.Errorf("the next comparison begins with %+v", p)
	}
}
