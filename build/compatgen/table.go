package main

import (
	"fmt"
	"path/filepath"

	"collet/netproto/compat"
)

// table is everything that is generated from a project.
type table struct {
	project    *project
	components []component
	forms      map[string]string // of the project's logic version, by name
	lock       *lock             // as it is to be
	before     *lock             // as it was
	manifest   compat.Manifest   // of the project's logic version
	sets       map[int32]uint64  // the hash over all components for each supported version
	warnings   []string
}

// buildTable reads a project and computes everything. It writes nothing. now is what a change is dated with.
func buildTable(dir string, now stamp) (*table, error) {
	p, err := openProject(dir)
	if err != nil {
		return nil, err
	}
	all, warnings, err := p.readComponents()
	if err != nil {
		return nil, err
	}
	before, err := openLock(p.pathOf(p.Lock))
	if err != nil {
		return nil, err
	}
	if before.Logic > p.Logic {
		return nil, fmt.Errorf("%s: logic version %d is below %d, which was generated before: a logic version never goes back", filepath.Join(dir, projectFile), p.Logic, before.Logic)
	}
	ids, err := before.assignIDs(all)
	if err != nil {
		return nil, err
	}
	t := &table{project: p, components: all, before: before, warnings: warnings, sets: map[int32]uint64{}}
	for _, logic := range p.versions() {
		m, _, err := t.manifestOf(ids, logic)
		if err != nil {
			return nil, err
		}
		t.sets[logic] = m.Build.Components
	}
	_, t.forms = viewComponents(all, ids, p.Logic)
	t.lock = before.nextLock(all, ids, t.forms, p.Logic, now)
	t.manifest, _, err = t.manifestOf(ids, p.Logic)
	return t, err
}

// manifestOf is the manifest of a logic version as the source of today has it, with the dates of the lock where there is one.
func (t *table) manifestOf(ids map[string]uint16, logic int32) (compat.Manifest, map[string]string, error) {
	entries, forms := viewComponents(t.components, ids, logic)
	if t.lock != nil {
		for i, e := range entries {
			part := t.lock.Components[e.Name]
			entries[i].ChangedAt, entries[i].Since = part.ChangedAt, part.SinceLogic
		}
	}
	m := compat.Manifest{Mode: compat.ManifestFull, Build: compat.Build{Logic: logic}, Entries: entries}
	return m, forms, m.Seal()
}

// ids are the ids of the components, as the lock has them.
func (t *table) ids() map[string]uint16 {
	ids := make(map[string]uint16)
	for _, c := range t.components {
		ids[c.name] = t.lock.Components[c.name].ID
	}
	return ids
}
