package operator

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"collet/netproto/compat"
	"collet/netproto/product"
)

// Session is a connection whose client was judged.
type Session struct {
	Hello     compat.Hello
	Account   string // empty for none
	Judgement compat.Judgement
	Adapt     func(*compat.Snapshot) *compat.Snapshot // what would judge the client if it reconnected; nil: the snapshot itself
	End       func()                                  // ends the connection; it may be called repeatedly and concurrently
}

// Sessions are the connected clients, and the handshakes of the last hour. It is safe for concurrent use.
type Sessions struct {
	metrics *metrics

	mu        sync.Mutex
	connected map[*Session]struct{}
	minutes   [historyMinutes]minute // a ring
}

// Connect counts a judged client under the snapshot that judged it, and lists it as connected until remove is called.
func (c *Sessions) Connect(s *compat.Snapshot, session Session) (remove func()) {
	group := labelsOf(s).group(session.Hello)
	c.metrics.countVerdict(session.Judgement, group)
	return c.addSession(&session, group, time.Now())
}

// minute counts the handshakes of one minute.
type minute struct {
	number int64 // minutes since 1970
	counts map[Group]int
}

const (
	// historyMinutes is how far back handshakes are counted.
	historyMinutes = 60
	// maxGroups is how many groups of clients are counted separately in a minute: 8 logic versions on 10 targets with 10 verdicts
	// are 800. Others are counted together.
	maxGroups = 1000
	// OtherGroup stands for values that are not counted separately.
	OtherGroup = "other"
	// NoLogicGroup stands for clients that name no logic version.
	NoLogicGroup = "none"
)

func newSessions(m *metrics) *Sessions {
	return &Sessions{metrics: m, connected: map[*Session]struct{}{}}
}

// addSession counts a handshake, and lists its session until remove is called.
func (c *Sessions) addSession(s *Session, group Group, now time.Time) (remove func()) {
	group.Verdict = s.Judgement.Verdict.String()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.connected[s] = struct{}{}
	number := now.Unix() / 60
	m := &c.minutes[number%historyMinutes]
	if m.number != number {
		*m = minute{number: number, counts: map[Group]int{}}
	}
	if _, there := m.counts[group]; !there && len(m.counts) >= maxGroups {
		group = Group{Logic: OtherGroup, Target: OtherGroup, Verdict: OtherGroup}
	}
	m.counts[group]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.connected, s)
	}
}

// list are the connected clients.
func (c *Sessions) list() []*Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.connected))
}

// connectedGroups counts the connected clients.
func (c *Sessions) connectedGroups(known labels) []Group {
	counts := map[Group]int{}
	for _, g := range c.list() {
		counts[known.group(g.Hello)]++
	}
	return sortGroups(counts)
}

// lastHour counts the handshakes of the last hour.
func (c *Sessions) lastHour(now time.Time) []Group {
	oldest := now.Unix()/60 - historyMinutes
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
	return sortGroups(counts)
}

// countByTarget counts the connected clients of each target.
func (c *Sessions) countByTarget() map[string]int {
	counts := map[string]int{}
	for _, g := range c.list() {
		counts[g.Hello.Target]++
	}
	return counts
}

func sortGroups(counts map[Group]int) []Group {
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

// labels are the logic versions and targets that a server knows. Other values of clients become neither labels of metrics nor
// rows of tables.
type labels struct {
	versions compat.Range
	ranged   bool
	targets  map[string]compat.Target
}

func labelsOf(s *compat.Snapshot) labels {
	return labels{versions: s.Supported, ranged: s.Versioned, targets: s.Targets}
}

// group is the group that a client is counted in. Unsupported logic versions and unknown targets count as OtherGroup.
func (c labels) group(h compat.Hello) Group {
	return Group{Logic: c.logic(h.Logic()), Target: c.target(h.Target)}
}

func (c labels) logic(v int32) string {
	switch {
	case v < 0:
		return NoLogicGroup
	case c.ranged && c.versions.Has(v):
		return strconv.Itoa(int(v))
	default:
		return OtherGroup
	}
}

func (c labels) target(name string) string {
	if _, known := c.targets[name]; known || slices.Contains(product.Targets(), product.Target(name)) {
		return name
	}
	return OtherGroup
}
