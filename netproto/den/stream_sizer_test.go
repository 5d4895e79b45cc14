package den

import (
	"testing"
	"time"
)

// TestSegmentsShrinkAfterConsecutiveLosses of long ones; one that arrives between them proves the path.
func TestSegmentsShrinkAfterConsecutiveLosses(t *testing.T) {
	s := newSegmentSizer(true)
	for range 3 {
		for range manyLost - 1 {
			s.longLost(0)
		}
		s.longArrived()
	}
	if s.size != nearSegment {
		t.Fatalf("%d bytes after scattered losses", s.size)
	}
	for range manyLost {
		s.longLost(0)
	}
	if s.size != farSegment {
		t.Errorf("%d bytes after %d losses in a row", s.size, manyLost)
	}
}

// TestSegmentsGrowAfterAPauseThatDoubles each time that they shrink.
func TestSegmentsGrowAfterAPauseThatDoubles(t *testing.T) {
	s := newSegmentSizer(true)
	now := time.Second
	for want := leastPause; want <= 4*mostPause; want *= 2 {
		s.shrink(now)
		s.shrink(now) // not another failure
		for range growAfter {
			s.received(now + min(want, mostPause) - 1)
		}
		if s.size != farSegment {
			t.Fatalf("segments grow before %v", min(want, mostPause))
		}
		now += min(want, mostPause)
		for range growAfter - 1 {
			s.received(now)
		}
		if s.size != farSegment {
			t.Fatal("segments grow after too few receipts")
		}
		if s.received(now); s.size != 2*farSegment {
			t.Fatalf("segments have %d bytes after %v", s.size, min(want, mostPause))
		}
	}
	for range 100 * growAfter {
		s.received(now)
	}
	if s.size != nearSegment {
		t.Errorf("segments grow to %d bytes", s.size)
	}
}

func TestSegmentsToAnotherMachineDoNotGrow(t *testing.T) {
	s := newSegmentSizer(false)
	for range 100 * growAfter {
		s.received(time.Hour)
	}
	if s.size != farSegment {
		t.Errorf("segments have %d bytes", s.size)
	}
}
