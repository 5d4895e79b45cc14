package proxy

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"collet/platform/interrupt"
)

// Kind is the kind of a Fault. The words stand in scenario files.
type Kind string

const (
	// Cut closes both ends in order.
	Cut Kind = "cut"
	// Reset closes both ends with a reset.
	Reset Kind = "reset"
	// Truncate ends one direction in order and discards later bytes in it; the other direction continues.
	Truncate Kind = "truncate"
	// Stall delays one direction for a time.
	Stall Kind = "stall"
	// HalfOpen drops all bytes in both directions without closing the connection, like a router that lost its state. After a time both ends
	// are reset.
	HalfOpen Kind = "half-open"
	// Duplicate sends some bytes twice.
	Duplicate Kind = "duplicate"
	// Corrupt inverts all bits of some bytes.
	Corrupt Kind = "corrupt"
	// Swallow drops some bytes.
	Swallow Kind = "swallow"
	// BlackHole accepts the connection but never reads, writes or connects to the target. After a time it is reset.
	BlackHole Kind = "black-hole"
)

// Fault is one fault that a Proxy injects into a connection at a byte position of one direction. It is a value.
type Fault struct {
	Kind      Kind
	Direction Direction     // the direction whose bytes are counted; unused by BlackHole
	At        int64         // the number of preceding bytes of that direction
	Bytes     int64         // Duplicate, Corrupt, Swallow: the number of affected bytes
	For       time.Duration // Stall, HalfOpen, BlackHole: duration; 0 is until the Proxy is closed
}

// schedule holds the remaining faults of one direction of one connection, and its position. It is used by one goroutine.
type schedule struct {
	faults    []Fault // by At
	at        int64   // bytes taken from the sender
	truncated bool    // its end was passed on
	swallow   int64   // how many of the next bytes are dropped,
	corrupt   int64   // inverted,
	repeat    int64   // or copied to tape
	tape      []byte
}

// newSchedules splits the faults of a connection by direction.
func newSchedules(faults []Fault) [3]*schedule {
	schedules := [3]*schedule{{}, {}, {}}
	for _, f := range slices.SortedStableFunc(slices.Values(faults), func(a, b Fault) int { return cmp.Compare(a.At, b.At) }) {
		schedules[f.Direction].faults = append(schedules[f.Direction].faults, f)
	}
	return schedules
}

// blackHole returns the BlackHole of a connection's faults, if there is one.
func blackHole(faults []Fault) (Fault, bool) {
	i := slices.IndexFunc(faults, func(f Fault) bool { return f.Kind == BlackHole })
	if i < 0 {
		return Fault{}, false
	}
	return faults[i], true
}

// room returns how many of the next n bytes may be read before the next change.
func (s *schedule) room(n int) int {
	left := int64(n)
	if len(s.faults) > 0 {
		left = min(left, s.faults[0].At-s.at)
	}
	for _, run := range []int64{s.swallow, s.corrupt, s.repeat} {
		if run > 0 {
			left = min(left, run)
		}
	}
	return int(max(left, 0))
}

// apply takes bytes from the sender, at most as many as room allows, and returns the bytes to deliver.
func (s *schedule) apply(data []byte) []byte {
	n := int64(len(data))
	s.at += n
	if s.swallow > 0 {
		s.swallow -= n
		return nil
	}
	if s.corrupt > 0 {
		s.corrupt -= n
		data = slices.Clone(data)
		for i := range data {
			data[i] ^= 0xFF
		}
	}
	if s.repeat > 0 {
		s.repeat -= n
		s.tape = append(s.tape, data...)
		if s.repeat == 0 {
			data, s.tape = append(slices.Clone(data), s.tape...), nil
		}
	}
	return data
}

// nextFault returns the next due fault that needs the connection. Faults that only change bytes are started here.
func (s *schedule) nextFault() (Fault, bool) {
	for len(s.faults) > 0 && s.faults[0].At <= s.at {
		f := s.faults[0]
		s.faults = s.faults[1:]
		switch f.Kind {
		case Swallow:
			s.swallow = f.Bytes
		case Corrupt:
			s.corrupt = f.Bytes
		case Duplicate:
			s.repeat, s.tape = f.Bytes, nil
		case Truncate:
			s.swallow, s.truncated = math.MaxInt64, true
			return f, true
		default:
			return f, true
		}
	}
	return Fault{}, false
}

// wait waits for a time, 0 for ever, or until ctx ends, which is its error.
func wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	return interrupt.Sleep(ctx, d)
}
