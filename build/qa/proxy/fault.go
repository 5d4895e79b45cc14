package proxy

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"collet/platform/interrupt"
)

// DeedKind is the kind of a Deed. The words stand in scenario files.
type DeedKind string

const (
	// Cut closes both ends in order.
	Cut DeedKind = "cut"
	// Reset closes both ends with a reset.
	Reset DeedKind = "reset"
	// Truncate ends one direction in order and discards later bytes in it; the other direction continues.
	Truncate DeedKind = "truncate"
	// Stall delays one direction for a time.
	Stall DeedKind = "stall"
	// HalfOpen drops all bytes in both directions without closing the connection, like a router that lost its state. After a time both ends
	// are reset.
	HalfOpen DeedKind = "half-open"
	// Duplicate sends some bytes twice.
	Duplicate DeedKind = "duplicate"
	// Corrupt inverts all bits of some bytes.
	Corrupt DeedKind = "corrupt"
	// Swallow drops some bytes.
	Swallow DeedKind = "swallow"
	// BlackHole accepts the connection but never reads, writes or connects to the target. After a time it is reset.
	BlackHole DeedKind = "black-hole"
)

// Deed is one fault that a Proxy injects into a connection at a byte position of one direction. It is a value.
type Deed struct {
	Kind  DeedKind
	Way   Direction     // the direction whose bytes are counted; unused by BlackHole
	At    int64         // the number of preceding bytes of that direction
	Bytes int64         // Duplicate, Corrupt, Swallow: the number of affected bytes
	For   time.Duration // Stall, HalfOpen, BlackHole: duration; 0 is until the Proxy is closed
}

// plan holds the remaining deeds of one direction of one connection, and its position. It is used by one goroutine.
type plan struct {
	deeds   []Deed // by At
	at      int64  // bytes taken from the sender
	swallow int64  // how many of the next bytes are dropped,
	corrupt int64  // inverted,
	repeat  int64  // or copied to tape
	tape    []byte
}

// plans splits the deeds of a fault by direction.
func (f Fault) plans() [3]*plan {
	deeds := slices.Clone(f.Deeds)
	switch {
	case f.Cut != 0 && f.Reset:
		deeds = append(deeds, Deed{Kind: Reset, Way: f.Cut, At: f.After})
	case f.Cut != 0:
		deeds = append(deeds, Deed{Kind: Cut, Way: f.Cut, At: f.After})
	}
	slices.SortStableFunc(deeds, func(a, b Deed) int { return cmp.Compare(a.At, b.At) })
	plans := [3]*plan{{}, {}, {}}
	for _, d := range deeds {
		plans[d.Way].deeds = append(plans[d.Way].deeds, d)
	}
	return plans
}

// hole returns the BlackHole deed, if there is one.
func (f Fault) hole() (Deed, bool) {
	i := slices.IndexFunc(f.Deeds, func(d Deed) bool { return d.Kind == BlackHole })
	if i < 0 {
		return Deed{}, false
	}
	return f.Deeds[i], true
}

// room returns how many of the next n bytes may be read before the next change.
func (p *plan) room(n int) int {
	left := int64(n)
	if len(p.deeds) > 0 {
		left = min(left, p.deeds[0].At-p.at)
	}
	for _, run := range []int64{p.swallow, p.corrupt, p.repeat} {
		if run > 0 {
			left = min(left, run)
		}
	}
	return int(max(left, 0))
}

// pass takes bytes from the sender, at most as many as room allows, and returns the bytes to deliver.
func (p *plan) pass(data []byte) []byte {
	n := int64(len(data))
	p.at += n
	if p.swallow > 0 {
		p.swallow -= n
		return nil
	}
	if p.corrupt > 0 {
		p.corrupt -= n
		data = slices.Clone(data)
		for i := range data {
			data[i] ^= 0xFF
		}
	}
	if p.repeat > 0 {
		p.repeat -= n
		p.tape = append(p.tape, data...)
		if p.repeat == 0 {
			data, p.tape = append(slices.Clone(data), p.tape...), nil
		}
	}
	return data
}

// take returns the next due deed that needs the connection. Deeds that only change bytes are started here.
func (p *plan) take() (Deed, bool) {
	for len(p.deeds) > 0 && p.deeds[0].At <= p.at {
		d := p.deeds[0]
		p.deeds = p.deeds[1:]
		switch d.Kind {
		case Swallow:
			p.swallow = d.Bytes
		case Corrupt:
			p.corrupt = d.Bytes
		case Duplicate:
			p.repeat, p.tape = d.Bytes, nil
		case Truncate:
			p.swallow = math.MaxInt64
			return d, true
		default:
			return d, true
		}
	}
	return Deed{}, false
}

// linger waits for a time, 0 for ever, or until ctx ends, which is its error.
func linger(ctx context.Context, d time.Duration) error {
	if d == 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	return interrupt.Sleep(ctx, d)
}
