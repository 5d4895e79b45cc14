package faultfs

import (
	"fmt"
	"maps"
	"slices"
)

// Cut is a power cut: the shares of unsynced changes that survive, and the seed of its choices. One cut of one state gives one result.
type Cut struct {
	Names     int    // percent of the unsynced changes of names, permissions and times that survive
	Data      int    // percent of the unsynced changes of file content that survive
	Seed      uint64 // of the choices, where a share is neither 0 nor 100
	Unordered bool   // names survive in any order, as without a journal; otherwise in the order in which they were changed
}

// Keep is a cut with the same share for names and data.
func Keep(percent int, seed uint64) Cut { return Cut{Names: percent, Data: percent, Seed: seed} }

func (c Cut) String() string {
	text := fmt.Sprintf("%d %% of names and %d %% of data kept, seed %d", c.Names, c.Data, c.Seed)
	if c.Unordered {
		text += ", names in any order"
	}
	return text
}

// Crash returns the volume after a power cut at this moment. The disk itself and its processes are unchanged, so that many cuts can be
// examined. The result has no unsynced changes, no locks and no processes.
func (d *Disk) Crash(c Cut) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := recovery{cut: c, names: d.survivingNames(c), seen: map[*node]*node{}}
	after := d.emptyCopy()
	after.root = r.recoverNode(d.root)
	after.used = r.used
	return after
}

// emptyCopy is an empty volume of the same kind.
func (d *Disk) emptyCopy() *Disk {
	after := &Disk{volume: volume{cfg: d.cfg, clock: d.clock, number: d.number, claimed: d.claimed}}
	after.foldCase = d.foldCase
	return after
}

// recovery makes the volume that the next start finds after a cut.
type recovery struct {
	cut   Cut
	names map[*node]map[string]entry // of folders whose names differ from the durable ones
	seen  map[*node]*node            // recovered nodes: one may have several names
	used  int64                      // bytes of recovered files
}

// recoverNode returns a node, and everything below it, as the cut leaves it.
func (r *recovery) recoverNode(n *node) *node {
	if m := r.seen[n]; m != nil {
		m.names++
		return m
	}
	m := &node{number: n.number, kind: n.kind, target: n.target, names: 1, durable: n.durable}
	r.seen[n] = m
	if throw(r.cut.Seed, ^n.number, r.cut.Names).chance() {
		m.durable = n.now
	}
	m.now = m.durable
	switch {
	case n.isFile():
		m.content = n.history.survivor(&n.content, throw(r.cut.Seed, n.number, r.cut.Data))
		m.history.base = m.content.share()
		r.used += m.content.stored
	case n.isFolder():
		entries, changed := r.names[n]
		if !changed {
			entries = n.settled
		}
		m.folder = folder{entries: make(map[string]entry, len(entries)), touched: map[string]*naming{}}
		for key, e := range entries {
			child := r.recoverNode(e.node)
			child.parent = m
			m.entries[key] = entry{e.name, child}
		}
		m.settled = maps.Clone(m.entries)
	}
	return m
}

// Clone returns a second volume in the same state, with its unsynced changes. It has no processes and no locks, and no files without a
// name.
func (d *Disk) Clone() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := copier{map[*node]*node{}, map[*naming]*naming{}}
	for _, n := range d.pending {
		c.namings[n] = &naming{}
	}
	to := d.emptyCopy()
	to.root = c.node(d.root)
	for _, n := range d.pending {
		to.pending = append(to.pending, c.naming(n))
	}
	for _, n := range c.nodes {
		to.free(n)
		to.used += n.content.stored
	}
	return to
}

// copier remembers what it copied, so that what was one stays one.
type copier struct {
	nodes   map[*node]*node
	namings map[*naming]*naming // made beforehand, for all that wait
}

func (c copier) node(n *node) *node {
	if m, known := c.nodes[n]; known || n == nil {
		return m
	}
	m := &node{number: n.number, kind: n.kind, now: n.now, durable: n.durable, target: n.target, names: n.names}
	c.nodes[n] = m
	m.content, m.history.base = n.content.share(), n.history.base.share()
	m.history.changes = slices.Clone(n.history.changes)
	if n.isFolder() {
		m.folder = folder{parent: c.node(n.parent), entries: c.entries(n.entries), settled: c.entries(n.settled),
			placed: c.namings[n.placed], newest: c.namings[n.newest], touched: map[string]*naming{}}
		for key, last := range n.touched {
			m.touched[key] = c.namings[last]
		}
	}
	return m
}

func (c copier) entries(from map[string]entry) map[string]entry {
	to := make(map[string]entry, len(from))
	for key, e := range from {
		to[key] = entry{e.name, c.node(e.node)}
	}
	return to
}

// naming fills the copy that was made beforehand.
func (c copier) naming(n *naming) *naming {
	m := c.namings[n]
	m.synced = slices.Clone(n.synced)
	for _, s := range n.sets {
		m.sets = append(m.sets, set{c.node(s.folder), s.key, entry{s.entry.name, c.node(s.entry.node)}})
	}
	for _, f := range n.folders {
		m.folders = append(m.folders, c.node(f))
	}
	m.needs, m.places, m.follows = c.waiting(n.needs), c.waiting(n.places), c.waiting(n.follows)
	return m
}

// waiting copies dependencies, without those that became durable.
func (c copier) waiting(list []*naming) (copied []*naming) {
	for _, n := range list {
		if !n.done {
			copied = append(copied, c.namings[n])
		}
	}
	return copied
}

// Files is all files below the folder, as a reader sees them: content by name. The name of a folder ends in a slash, and the content of
// a link is "-> " and its target.
func (d *Disk) Files() map[string]string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	files := map[string]string{}
	for name, n := range d.everything() {
		switch {
		case n == d.root:
		case n.isFolder():
			files[name+"/"] = ""
		case n.isLink():
			files[name] = "-> " + n.target
		default:
			files[name] = string(n.content.readAll())
		}
	}
	return files
}
