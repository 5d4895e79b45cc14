package dentest

import (
	"sync"
	"time"
)

// Match picks datagrams.
type Match func(*Datagram) bool

// All wants every match to agree.
func All(matches ...Match) Match {
	return func(g *Datagram) bool {
		for _, m := range matches {
			if !m(g) {
				return false
			}
		}
		return true
	}
}

// Toward picks one direction.
func Toward(d Direction) Match { return func(g *Datagram) bool { return g.Direction == d } }

// Command picks a command of the transport.
func Command(c byte) Match {
	return func(g *Datagram) bool { return len(g.Data) > 0 && g.Data[0] == c }
}

// AckOf picks acks of a number.
func AckOf(n int) Match {
	return func(g *Datagram) bool {
		number, ok := Number(g.Data)
		return ok && number == n && g.Data[0] == CmdReliableAck
	}
}

// Numbered picks reliable datagrams with this number.
func Numbered(n int) Match {
	return func(g *Datagram) bool {
		number, ok := Number(g.Data)
		return ok && number == n && g.Data[0] != CmdReliableAck
	}
}

// Carries picks datagrams that carry the beginning of this application message.
func Carries(code byte) Match {
	return func(g *Datagram) bool {
		switch {
		case len(g.Data) > 3 && g.Data[0] == CmdReliableMessage:
			return g.Data[3] == code
		case len(g.Data) > 4 && g.Data[0] == CmdReliableLong:
			return g.Data[3]&partFirst != 0 && g.Data[4] == code
		}
		return false
	}
}

// Rule does something to the datagrams that match, a limited number of times. Make one with Drop, Hold or Repeat. A rule
// may serve one proxy at a time.
type Rule struct {
	match  Match
	delay  time.Duration
	copies int
	fate   string
	count  *counter
}

type counter struct {
	mu         sync.Mutex
	skip, left int
	met        int
}

// Times returns the rule limited to the first n matches. Without it a rule acts for ever.
func (r Rule) Times(n int) Rule {
	r.count.left = n
	return r
}

// After returns the rule with the first n matches left alone.
func (r Rule) After(n int) Rule {
	r.count.skip = n
	return r
}

// Met is how often the rule has acted.
func (r Rule) Met() int {
	r.count.mu.Lock()
	defer r.count.mu.Unlock()
	return r.count.met
}

func newRule(m Match, delay time.Duration, copies int, fate string) Rule {
	return Rule{match: m, delay: delay, copies: copies, fate: fate, count: &counter{left: -1}}
}

// Drop loses what matches.
func Drop(matches ...Match) Rule { return newRule(All(matches...), 0, 0, "dropped by rule") }

// Hold delays what matches.
func Hold(d time.Duration, matches ...Match) Rule {
	return newRule(All(matches...), d, 1, "held by rule")
}

// Repeat lets what matches through and sends a copy after a while.
func Repeat(later time.Duration, matches ...Match) Rule {
	return newRule(All(matches...), later, 2, "repeated by rule")
}

func (r Rule) apply(now time.Time, g *Datagram) ([]time.Time, bool) {
	if !r.match(g) || !r.count.take() {
		return nil, false
	}
	g.Fate = r.fate
	switch r.copies {
	case 0:
		return nil, true
	case 1:
		return []time.Time{now.Add(r.delay)}, true
	}
	return []time.Time{now, now.Add(r.delay)}, true
}

// take uses up one turn.
func (c *counter) take() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.skip > 0 {
		c.skip--
		return false
	}
	if c.left == 0 {
		return false
	}
	if c.left > 0 {
		c.left--
	}
	c.met++
	return true
}
