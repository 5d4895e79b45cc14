package server

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"collet/netproto/compat"
)

// crowd is who is connected, and who came in the last hour. It is safe for concurrent use.
type crowd struct {
	mu      sync.Mutex
	guests  map[*guest]struct{}
	minutes [crowdMinutes]minute // a ring
}

// guest is one connection that was greeted.
type guest struct {
	hello   compat.Hello
	account string
	plays   bool   // it was let in
	leave   func() // ends the connection; it may be called more than once
}

// minute counts the handshakes of one minute.
type minute struct {
	number int64 // minutes since 1970
	counts map[Group]int
}

const (
	// crowdMinutes is how far back handshakes are counted.
	crowdMinutes = 60
	// maxGroups is how many kinds of clients are told apart in a minute: 8 logic versions on 10 targets with 10 verdicts are
	// 800. Others are counted together.
	maxGroups = 1000
	// otherGroup stands for what is not told apart.
	otherGroup = "other"
	// noLogic stands for clients that name no logic version.
	noLogic = "none"
)

func newCrowd() *crowd { return &crowd{guests: map[*guest]struct{}{}} }

// enter counts a handshake, and the guest among those who are connected until the function that it returns is called.
func (c *crowd) enter(g *guest, v compat.Verdict, group Group, now time.Time) (left func()) {
	group.Verdict = v.String()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.guests[g] = struct{}{}
	number := now.Unix() / 60
	m := &c.minutes[number%crowdMinutes]
	if m.number != number {
		*m = minute{number: number, counts: map[Group]int{}}
	}
	if _, there := m.counts[group]; !there && len(m.counts) >= maxGroups {
		group = Group{Logic: otherGroup, Target: otherGroup, Verdict: otherGroup}
	}
	m.counts[group]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.guests, g)
	}
}

// all are those who are connected now.
func (c *crowd) all() []*guest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.guests))
}

// groups counts those who are connected now.
func (c *crowd) groups(known clamp) []Group {
	counts := map[Group]int{}
	for _, g := range c.all() {
		counts[known.group(g.hello)]++
	}
	return grouped(counts)
}

// lastHour counts the handshakes of the last hour.
func (c *crowd) lastHour(now time.Time) []Group {
	oldest := now.Unix()/60 - crowdMinutes
	counts := map[Group]int{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.minutes {
		if m.number <= oldest {
			continue
		}
		for g, n := range m.counts {
			counts[g] += n
		}
	}
	return grouped(counts)
}

// byTarget counts those who are connected now.
func (c *crowd) byTarget() map[string]int {
	counts := map[string]int{}
	for _, g := range c.all() {
		counts[g.hello.Target]++
	}
	return counts
}

func grouped(counts map[Group]int) []Group {
	all := make([]Group, 0, len(counts))
	for g, n := range counts {
		g.Count = n
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b Group) int {
		return cmp.Or(cmp.Compare(len(a.Logic), len(b.Logic)), cmp.Compare(a.Logic, b.Logic), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Verdict, b.Verdict))
	})
	return all
}

// clamp knows what a server knows: nothing else that a client says becomes a label of a metric or a row of a table.
type clamp struct {
	versions compat.Range
	ranged   bool
	targets  map[string]compat.Target
}

func (st *standing) clamp() clamp {
	return clamp{versions: st.declared.Supported, ranged: st.declared.Versioned, targets: st.declared.Targets}
}

// group is what a client counts as. Of unsupported logic versions the one below and the one above all others stand for the rest.
func (c clamp) group(h compat.Hello) Group {
	return Group{Logic: c.logic(logicOf(h)), Target: c.target(h.Target)}
}

func (c clamp) logic(v int32) string {
	switch {
	case v < 0:
		return noLogic
	case c.ranged && c.versions.Has(v):
		return strconv.Itoa(int(v))
	default:
		return otherGroup
	}
}

func (c clamp) target(name string) string {
	if _, known := c.targets[name]; known || slices.Contains(targetNames(), name) {
		return name
	}
	return otherGroup
}

// logicOf is the logic version that a client says it has, in its tags or in a derived compatibility version.
func logicOf(h compat.Hello) int32 {
	if h.Tagged {
		return h.Build.Logic
	}
	if logic, _, derived := compat.ParseDerived(h.Build.Compatibility); derived {
		return logic
	}
	return compat.NoLogic
}
