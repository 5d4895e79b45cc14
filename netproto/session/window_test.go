package session_test

import (
	"testing"
	"time"

	"collet/netproto/session"
)

// TestWindowFindsTheLine lets windows live on lines of which the speed and the shortest round trip are known: a request of
// a full window takes as long as the line needs for the window, or a round trip.
func TestWindowFindsTheLine(t *testing.T) {
	const mb = int64(1 << 20)
	for _, test := range []struct {
		name        string
		trip        time.Duration
		rate        int64 // bytes a second
		top         int64
		least, most int64
	}{
		{"across the street", time.Millisecond, 900 * mb, 24 * mb, 8 * mb, 24 * mb},
		{"far and fast: all there may be", 100 * time.Millisecond, 1000 * mb, 24 * mb, 24 * mb, 24 * mb},
		{"far, 1 Gbit/s: more than is on its way", 100 * time.Millisecond, 125 * mb, 64 * mb, 13 * mb, 48 * mb},
		{"at home, 50 Mbit/s", 20 * time.Millisecond, 6 * mb, 24 * mb, mb, 3 * mb},
		{"a telephone", 300 * time.Millisecond, 100 << 10, 24 * mb, mb, mb},
		{"a small buffer", 100 * time.Millisecond, 100 * mb, 64 << 10, 64 << 10, 64 << 10},
	} {
		w := session.NewWindow(test.top)
		for i := range 200 {
			took := test.trip + time.Duration(float64(w.Size())/float64(test.rate)*float64(time.Second))
			if i == 0 {
				took = test.trip + took/32 // the first request has the line for itself
			}
			w.Round(took)
			if w.Size() > test.top {
				t.Fatalf("%s: %d bytes", test.name, w.Size())
			}
		}
		if w.Size() < test.least || w.Size() > test.most {
			t.Errorf("%s: %d bytes, want %d to %d", test.name, w.Size(), test.least, test.most)
		}
	}
}

// TestWindowComesBack slows a line down and speeds it up again.
func TestWindowComesBack(t *testing.T) {
	w := session.NewWindow(24 << 20)
	rounds := func(n int, took time.Duration) {
		for range n {
			w.Round(took)
		}
	}
	rounds(5, 100*time.Millisecond)
	if w.Size() != 24<<20 {
		t.Fatalf("a line that is never full: %d bytes", w.Size())
	}
	rounds(50, 2*time.Second)
	if w.Size() != 1<<20 {
		t.Errorf("a line that is always full: %d bytes", w.Size())
	}
	rounds(1, 100*time.Millisecond)
	if w.Size() != 1<<20+1<<19 {
		t.Errorf("one round later: %d bytes", w.Size())
	}
	rounds(100, 100*time.Millisecond)
	if w.Size() != 24<<20 {
		t.Errorf("later: %d bytes", w.Size())
	}
}

// TestWindowIsBoundByWhatComes lets bytes come at a speed: little is asked for ahead on a slow line, and a fast one is never
// held back once it has brought something.
func TestWindowIsBoundByWhatComes(t *testing.T) {
	const kb, mb = int64(1 << 10), int64(1 << 20)
	for _, test := range []struct {
		name  string
		trip  time.Duration // shortest request
		rate  int64         // bytes a second
		top   int64
		least int64
		most  int64
	}{
		{"nothing has come", 0, 0, 24 * mb, 2 * mb, 2 * mb},
		{"1 % loss at 100 ms", 500 * time.Millisecond, 176 * kb, 24 * mb, 2 * mb, 2 * mb},
		{"1 % loss at 20 ms", 200 * time.Millisecond, mb, 24 * mb, 2 * mb, 2 * mb},
		{"far and fast", 100 * time.Millisecond, 100 * mb, 24 * mb, 24 * mb, 24 * mb},
		{"across the street", time.Millisecond, 900 * mb, 24 * mb, 24 * mb, 24 * mb},
		{"a small buffer", 100 * time.Millisecond, 100 * mb, 64 * kb, 64 * kb, 64 * kb},
	} {
		w := session.NewWindow(test.top)
		for range 5 {
			w.Round(test.trip)
		}
		now := time.Unix(1000, 0)
		for range 300 {
			w.Came(test.rate/100, now)
			now = now.Add(10 * time.Millisecond)
		}
		if got := w.Bound(); got < test.least || got > test.most {
			t.Errorf("%s: %d bytes, want %d to %d", test.name, got, test.least, test.most)
		}
	}
	w := session.NewWindow(24 << 20)
	w.Round(100 * time.Millisecond)
	w.Came(24<<20, time.Unix(1000, 0))
	fast := w.Bound()
	w.Came(1, time.Unix(1001, 0)) // behind a pause
	w.Came(1, time.Unix(1002, 0))
	if slow := w.Bound(); fast != 16<<20 || slow != 2<<20 {
		t.Errorf("%d bytes, and %d on a line that has become slow", fast, slow)
	}
}
