package den

import (
	"testing"
	"time"
)

// grow has parts arrive until no larger size is tried.
func grow(s *sizer, now time.Time) (sizes []int) {
	for {
		size := s.probe(1<<20, now)
		if size == 0 {
			return append(sizes, s.size())
		}
		sizes = append(sizes, s.size())
		s.probed(true, now)
		for range sizeTrust {
			s.arrived(s.size())
		}
	}
}

func TestSizesGrowStepByStep(t *testing.T) {
	s := newSizer(DefaultPartMin, DefaultPartMax)
	got := grow(&s, testTime)
	if len(got) != 4 || got[0] != 1357 || got[1] != 4096 || got[2] != 8192 || got[3] != 16000 {
		t.Errorf("sizes %v", got)
	}
	if fixed := newSizer(1357, 1357); fixed.probe(1<<20, testTime) != 0 {
		t.Error("a fixed size is tried")
	}
	if short := newSizer(1357, 16000); short.probe(1357, testTime) != 0 {
		t.Error("a larger size is tried for a message that needs none")
	}
}

func TestSizesShrinkWithLoss(t *testing.T) {
	s := newSizer(DefaultPartMin, DefaultPartMax)
	grow(&s, testTime)
	for range sizeLosses {
		s.resent(s.size(), 2, testTime)
	}
	if s.size() != 8192 {
		t.Errorf("after many losses the size is %d", s.size())
	}
	s.resent(s.size(), 4, testTime)
	if s.size() != DefaultPartMin {
		t.Errorf("after a part that never arrives the size is %d", s.size())
	}
	if s.probe(1<<20, testTime) != 0 {
		t.Error("a larger size is tried at once")
	}
	if s.probe(1<<20, testTime.Add(maxSizePause)) != 4096 {
		t.Error("a larger size is never tried again")
	}
}

func TestFailedSizesAreTriedLessAndLess(t *testing.T) {
	s := newSizer(DefaultPartMin, DefaultPartMax)
	now, last := testTime, time.Duration(0)
	for range 8 {
		if s.probe(1<<20, now) == 0 {
			t.Fatal("nothing is tried")
		}
		if s.probe(1<<20, now) != 0 {
			t.Fatal("two sizes are tried at once")
		}
		s.probed(false, now)
		pause := s.next.Sub(now)
		if pause < last || pause > maxSizePause {
			t.Errorf("a pause of %v after %v", pause, last)
		}
		last, now = pause, s.next
	}
}

// TestBlackHoleForLargeParts loses every long datagram: all data arrives in small ones.
func TestBlackHoleForLargeParts(t *testing.T) {
	p := path{delay: time.Millisecond, longest: 1472}
	bubble(t, p, Options{Protocols: []uint16{ProtocolRelease}}, func(t *testing.T, n *fakeNet, client, server *Conn) {
		if took := flood(t, client, server, 4<<20, 64<<10); took > 10*time.Second {
			t.Errorf("4 MiB took %v", took)
		}
		if s := client.Stats(); s.PartSize != DefaultPartMin {
			t.Errorf("the part size is %d", s.PartSize)
		}
	})
}

func TestRoundTripEstimate(t *testing.T) {
	var r rtt
	if got := r.wait(time.Second, 3*time.Second); got != 3*time.Second {
		t.Errorf("without a sample it waits %v", got)
	}
	for range 100 {
		r.sample(20 * time.Millisecond)
	}
	if r.mean != 20*time.Millisecond || r.dev > time.Millisecond || r.wait(5*time.Millisecond, 0) > 25*time.Millisecond {
		t.Errorf("a steady 20 ms is %v ± %v", r.mean, r.dev)
	}
	r.sample(500 * time.Millisecond)
	if r.wait(0, 0) < 200*time.Millisecond || r.least != 20*time.Millisecond {
		t.Errorf("after an outlier it waits %v", r.wait(0, 0))
	}
}
