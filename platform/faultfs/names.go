package faultfs

import (
	"maps"
	"slices"
)

// maxNamings is how many changes of names may be unsynced. Beyond it the oldest become durable, as on real systems after some seconds.
const maxNamings = 1 << 16

// namesNumber is the dice number for choices about names; choices about a node use the node's.
const namesNumber = 0

// naming is one change of names that is not durable yet: a creation, a removal, a rename, a link, an exchange. It survives completely or
// not at all.
type naming struct {
	sets    []set
	folders []*node // the one or two folders whose names it changes
	synced  []bool  // whether they were synced since
	done    bool    // it became durable

	// The namings that it depends on:
	needs   []*naming // earlier ones of the same names, and those inside of a folder that it removes
	places  []*naming // those that placed the target folder of a move, and its parents
	follows []*naming // the previous one in each of its folders, for a journal
}

// set is the effect of a naming on one name: it gets the entry, or is removed if that is zero.
type set struct {
	folder *node
	key    string
	entry  entry
}

func (s set) apply(names map[string]entry) {
	if s.entry.node == nil {
		delete(names, s.key)
	} else {
		names[s.key] = s.entry
	}
}

// journal is the changes of names that are not durable yet.
type journal struct {
	pending []*naming // in order
}

// changeNames performs a change of names. removed is the node that loses its name, or nil.
func (j *journal) changeNames(removed *node, sets ...set) {
	n := &naming{sets: sets}
	for _, s := range sets {
		n.in(s.folder)
		n.needs = after(n.needs, s.folder.touched[s.key])
	}
	if removed != nil && removed.isFolder() {
		n.needs = after(n.needs, j.within(removed)...)
	}
	for _, s := range sets {
		for f := s.folder; len(n.folders) > 1 && s.entry.node != nil && f != nil; f = f.parent {
			n.places = after(n.places, f.placed)
		}
	}
	for _, f := range n.folders {
		n.follows = after(n.follows, f.newest)
		f.newest = n
	}
	n.perform()
	if j.pending = append(j.pending, n); len(j.pending) > maxNamings {
		j.writeBack(maxNamings / 2)
	}
}

// perform applies the change to the names that a reader sees.
func (n *naming) perform() {
	for _, s := range n.sets {
		s.apply(s.folder.entries)
		s.folder.touched[s.key] = n
		if made := s.entry.node; made != nil && made.isFolder() {
			made.parent, made.placed = s.folder, n
		}
	}
}

// within are the pending namings in a folder.
func (j *journal) within(f *node) (list []*naming) {
	for _, n := range j.pending {
		if slices.Contains(n.folders, f) {
			list = append(list, n)
		}
	}
	return list
}

// after appends the namings that are not durable yet.
func after(list []*naming, others ...*naming) []*naming {
	for _, n := range others {
		if n != nil && !n.done {
			list = append(list, n)
		}
	}
	return list
}

// writeBack makes the first n namings durable. None of them depends on a later one.
func (j *journal) writeBack(n int) {
	for _, old := range j.pending[:n] {
		old.makeDurable()
	}
	j.pending = slices.Delete(j.pending, 0, n)
}

// in adds a folder, once.
func (n *naming) in(f *node) {
	if !slices.Contains(n.folders, f) {
		n.folders, n.synced = append(n.folders, f), append(n.synced, false)
	}
}

// certain reports whether the naming survives every power cut: its folders were synced since, and their places are certain.
func (n *naming) certain() bool {
	return n.done || !slices.Contains(n.synced, false) && every(n.places, (*naming).certain)
}

func isDone(n *naming) bool { return n.done }

// every reports whether is holds for all namings.
func every(list []*naming, is func(*naming) bool) bool {
	return !slices.ContainsFunc(list, func(n *naming) bool { return !is(n) })
}

// syncFolder makes changes of names in f durable, unless they need another folder to be synced.
func (j *journal) syncFolder(f *node) {
	f.durable = f.now
	for _, n := range j.pending {
		if i := slices.Index(n.folders, f); i >= 0 {
			n.synced[i] = true
		}
	}
	j.settleCertain()
}

// settleCertain makes certain namings durable whose dependencies are durable. Other certain ones stay in the list: they survive every power
// cut, together with their dependencies.
func (j *journal) settleCertain() {
	j.pending = slices.DeleteFunc(j.pending, func(n *naming) bool {
		ready := n.certain() && every(n.needs, isDone) && every(n.places, isDone) && every(n.follows, isDone)
		if ready {
			n.makeDurable()
		}
		return ready
	})
}

// makeDurable makes a naming durable and removes all references to it.
func (n *naming) makeDurable() {
	n.done, n.needs, n.places, n.follows = true, nil, nil, nil
	for _, s := range n.sets {
		s.apply(s.folder.settled)
		if s.folder.touched[s.key] == n {
			delete(s.folder.touched, s.key)
		}
		if made := s.entry.node; made != nil && made.isFolder() && made.placed == n {
			made.placed = nil
		}
	}
	for _, f := range n.folders {
		if f.newest == n {
			f.newest = nil
		}
	}
}

// survivingNames are the names after a cut in those folders whose names differ from the durable ones.
func (j *journal) survivingNames(c Cut) map[*node]map[string]entry {
	chosen, names := j.chooseNames(c), map[*node]map[string]entry{}
	for _, n := range j.pending {
		if !chosen.kept[n] {
			continue
		}
		for _, s := range n.sets {
			if names[s.folder] == nil {
				names[s.folder] = maps.Clone(s.folder.settled)
			}
			s.apply(names[s.folder])
		}
	}
	return names
}

// choice is the pending namings that survive a power cut.
type choice struct {
	kept    map[*naming]bool
	ordered bool // names survive in the order of a journal
}

// chooseNames keeps the certain namings, and of the others those that are drawn and whose dependencies survive.
func (j *journal) chooseNames(c Cut) choice {
	chosen := choice{map[*naming]bool{}, !c.Unordered}
	for _, n := range j.pending {
		if n.certain() {
			chosen.keepNaming(n)
		}
	}
	lucky := j.drawLuck(c)
	for i, n := range j.pending {
		if lucky(i, n) && every(chosen.conditions(n), chosen.has) {
			chosen.kept[n] = true
		}
	}
	return chosen
}

func (c choice) has(n *naming) bool { return n.done || c.kept[n] }

// conditions are the namings that have to survive if n does.
func (c choice) conditions(n *naming) []*naming {
	if c.ordered {
		return slices.Concat(n.needs, n.places, n.follows)
	}
	return slices.Concat(n.needs, n.places)
}

// keepNaming keeps a naming and what it depends on.
func (c choice) keepNaming(n *naming) {
	if c.has(n) {
		return
	}
	c.kept[n] = true
	for _, other := range c.conditions(n) {
		c.keepNaming(other)
	}
}

// drawLuck draws how far the journal was written: for all folders together, as for one file system, or for each folder. Without a journal
// each naming is drawn separately. The result has to be called once for each naming, in order.
func (j *journal) drawLuck(c Cut) func(i int, n *naming) bool {
	dice := throw(c.Seed, namesNumber, c.Names)
	if c.Unordered {
		return func(int, *naming) bool { return dice.chance() }
	}
	if dice.IntN(2) == 0 {
		end := dice.upTo(len(j.pending))
		return func(i int, _ *naming) bool { return i < end }
	}
	left := j.drawShares(dice)
	return func(_ int, n *naming) bool {
		lucky := true
		for _, f := range n.folders {
			left[f]--
			lucky = lucky && left[f] >= 0
		}
		return lucky
	}
}

// drawShares draws for each folder how many of its namings survive.
func (j *journal) drawShares(dice *dice) map[*node]int {
	left := map[*node]int{}
	var folders []*node // in order, so that one seed gives one answer
	for _, n := range j.pending {
		for _, f := range n.folders {
			if left[f]++; left[f] == 1 {
				folders = append(folders, f)
			}
		}
	}
	for _, f := range folders {
		left[f] = dice.upTo(left[f])
	}
	return left
}
