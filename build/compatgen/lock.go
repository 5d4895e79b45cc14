package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"collet/netproto/compat"
)

// lock is the content of compat.lock, which is committed: the last generated state, and data that the source does not have. It
// assigns ids to components without one, keeps the ids of removed components reserved, and records when each component last
// changed. Dates never enter a hash.
type lock struct {
	Format     int                   `json:"format"`   // lockFormat
	Logic      int32                 `json:"logic"`    // at the last gen
	Released   []int32               `json:"released"` // logic versions that were released, the oldest first
	Components map[string]lockedPart `json:"components"`
}

const lockFormat = 1

// lockedPart is one component of a lock.
type lockedPart struct {
	ID         uint16 `json:"id"`
	Hash       string `json:"hash"`        // 16 hex digits
	SinceLogic int32  `json:"since_logic"` // the logic version that brought it; 0 is from the beginning
	ChangedAt  int64  `json:"changed_at"`  // seconds since 1970; 0 is unknown
	ChangedSeq uint64 `json:"changed_seq"` // number of commits; 0 is unknown
	Gone       bool   `json:"gone,omitempty"`
}

// stamp is the commit that a change belongs to.
type stamp struct {
	at  int64
	seq uint64
}

// openLock reads a lock; a missing one is empty.
func openLock(path string) (*lock, error) {
	l := &lock{Format: lockFormat, Released: []int32{}, Components: map[string]lockedPart{}}
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = strictJSON(data, l)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if l.Format != lockFormat {
		return nil, fmt.Errorf("%s: format %d is not known; this tool knows %d", path, l.Format, lockFormat)
	}
	return l, nil
}

func (l *lock) encode() ([]byte, error) {
	data, err := json.MarshalIndent(l, "", "  ")
	return append(data, '\n'), err
}

// assignIDs are the ids of all components: their own, those that the lock remembers, or for new ones the lowest that are free. An id
// that another component had, also one that is gone, is an error: clients that still have that one would take the one for the
// other.
func (l *lock) assignIDs(all []component) (map[string]uint16, error) {
	owners := make(map[uint16]string)
	for _, name := range slices.Sorted(maps.Keys(l.Components)) {
		owners[l.Components[name].ID] = name
	}
	ids := make(map[string]uint16)
	for _, c := range all {
		if c.id == noID {
			continue
		}
		id := uint16(c.id)
		if owner, taken := owners[id]; taken && owner != c.name && !l.isRenumbered(owner, all) {
			return nil, fmt.Errorf("%s: component %s has the id %d, which %s had: an id is never used again, take one above %d", c.where, c.name, id, owner, slices.Max(slices.Collect(maps.Keys(owners))))
		}
		ids[c.name] = id
	}
	taken := make(map[uint16]bool)
	for id := range owners {
		taken[id] = true
	}
	for _, id := range ids {
		taken[id] = true
	}
	for _, c := range all {
		if _, own := ids[c.name]; own {
			continue
		}
		if known, is := l.Components[c.name]; is {
			ids[c.name] = known.ID
			continue
		}
		id := lowestFree(taken)
		ids[c.name], taken[id] = id, true
	}
	return ids, checkIDs(all, ids)
}

// isRenumbered reports whether the component that had an id is still there and has been given another one in the source: then the id
// was not taken from something that is gone, but people renumbered, which changes the set and is told as such.
func (l *lock) isRenumbered(owner string, all []component) bool {
	return slices.ContainsFunc(all, func(c component) bool {
		return c.name == owner && c.id != noID && c.id != int(l.Components[owner].ID)
	})
}

func lowestFree(taken map[uint16]bool) (id uint16) {
	for id = 1; taken[id]; id++ {
	}
	return id
}

func checkIDs(all []component, ids map[string]uint16) error {
	owners := make(map[uint16]string)
	for _, c := range all {
		if other, taken := owners[ids[c.name]]; taken {
			return fmt.Errorf("%s: component %s has the id %d of %s", c.where, c.name, ids[c.name], other)
		}
		owners[ids[c.name]] = c.name
	}
	return nil
}

// nextLock is the lock after a gen: what did not change keeps its dates, what did gets those of the commit, what is gone stays as a
// note.
func (l *lock) nextLock(all []component, ids map[string]uint16, forms map[string]string, logic int32, now stamp) *lock {
	n := &lock{Format: lockFormat, Logic: logic, Released: l.Released, Components: maps.Clone(l.Components)}
	for name, part := range n.Components {
		part.Gone = true
		n.Components[name] = part
	}
	for _, c := range all {
		form, visible := forms[c.name]
		old, known := l.Components[c.name]
		part := lockedPart{ID: ids[c.name], SinceLogic: c.span.Since, ChangedAt: now.at, ChangedSeq: now.seq}
		if part.Hash = ""; visible {
			part.Hash = hexHash(compat.ComponentHash(form))
		}
		switch {
		case c.span.Since != 0: // the source says it
		case known:
			part.SinceLogic = old.SinceLogic
		case len(l.Components) > 0:
			part.SinceLogic = logic
		}
		if known && old.Hash == part.Hash && !old.Gone {
			part.ChangedAt, part.ChangedSeq = old.ChangedAt, old.ChangedSeq
		}
		n.Components[c.name] = part
	}
	return n
}

func hexHash(h uint64) string { return fmt.Sprintf("%016x", h) }
