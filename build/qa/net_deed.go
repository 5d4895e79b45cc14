package qa

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"collet/platform/interrupt"
)

// DeedKind says what a Deed does. The words stand in scenario files.
type DeedKind string

const (
	// Cut closes both ends in order.
	Cut DeedKind = "cut"
	// Reset closes both ends with a reset.
	Reset DeedKind = "reset"
	// Truncate ends one direction in order and throws away what follows in it; the other direction goes on.
	Truncate DeedKind = "truncate"
	// Stall holds one direction back for a time.
	Stall DeedKind = "stall"
	// HalfOpen lets nothing through in either direction any more, while both ends believe in the connection: as behind a
	// router that has forgotten it. After a time both are reset.
	HalfOpen DeedKind = "half-open"
	// Duplicate sends some bytes twice.
	Duplicate DeedKind = "duplicate"
	// Corrupt inverts all bits of some bytes.
	Corrupt DeedKind = "corrupt"
	// Swallow leaves out some bytes.
	Swallow DeedKind = "swallow"
	// BlackHole takes the connection and never reads, writes or reaches the target. After a time it is reset.
	BlackHole DeedKind = "black-hole"
)

// Deed is one thing that a Proxy does to a connection when a direction has come to a certain byte. It is a value.
type Deed struct {
	Kind  DeedKind
	Way   Direction     // whose bytes are counted; BlackHole needs none
	At    int64         // how many bytes that were sent in that direction come before it
	Bytes int64         // Duplicate, Corrupt, Swallow: how many bytes from there on
	For   time.Duration // Stall, HalfOpen, BlackHole: for how long; 0 is until the Proxy is closed
}

// plan is what is left to do in one direction of one connection, and where that direction is. One goroutine uses it.
type plan struct {
	deeds   []Deed // by At
	at      int64  // bytes taken from the sender
	swallow int64  // how many of the next bytes are left out,
	corrupt int64  // inverted,
	repeat  int64  // or remembered in tape
	tape    []byte
}

// plans sorts the deeds of a fault by direction.
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

// hole is the deed that swallows the whole connection, if there is one.
func (f Fault) hole() (Deed, bool) {
	i := slices.IndexFunc(f.Deeds, func(d Deed) bool { return d.Kind == BlackHole })
	if i < 0 {
		return Deed{}, false
	}
	return f.Deeds[i], true
}

// room is how many of the next n bytes may be taken before something changes.
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

// pass takes bytes from the sender, no more than room allows, and returns what is to arrive.
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

// take hands out the next deed that is due and needs the connection; those that only change bytes it begins itself.
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
