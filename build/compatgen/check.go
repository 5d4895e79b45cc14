package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"collet/netproto/compat"
)

// baselinePath is where the baseline of a logic version is.
func (p *project) baselinePath(logic int32) string {
	return filepath.Join(p.pathOf(p.Baselines), fmt.Sprintf("%d.json", logic))
}

// baseline returns the shipped manifest of a logic version; nil if it was not kept.
func (p *project) baseline(logic int32) (*compat.Manifest, error) {
	path := p.baselinePath(logic)
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := compat.ParseManifest(data)
	if err == nil && m.Build.Logic != logic {
		err = fmt.Errorf("it is the baseline of logic version %d", m.Build.Logic)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &m, nil
}

// checkAll lists everything that must be fixed before this source may be shipped. A reused id is already an error of buildTable.
func (t *table) checkAll() (problems []string, err error) {
	for _, look := range []func() ([]string, error){t.checkBaselines, t.checkStale} {
		found, err := look()
		if err != nil {
			return nil, err
		}
		problems = append(problems, found...)
	}
	return problems, nil
}

// checkStale lists generated files that differ from the output of gen.
func (t *table) checkStale() (problems []string, err error) {
	files, err := t.outputs()
	if err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		same, err := fileHas(path, files[path])
		if err != nil {
			return nil, err
		}
		if _, missing := os.Stat(path); missing != nil {
			problems = append(problems, fmt.Sprintf("%s is missing: run compatgen gen", path))
		} else if !same {
			problems = append(problems, fmt.Sprintf("%s is stale: run compatgen gen", path))
		}
	}
	return problems, nil
}

// checkBaselines compares today's source, in the view of each released version, with what that version shipped.
func (t *table) checkBaselines() (problems []string, err error) {
	for _, logic := range t.project.versions() {
		shipped, err := t.project.baseline(logic)
		if err != nil {
			return nil, err
		}
		if shipped == nil {
			if slices.Contains(t.lock.Released, logic) {
				problems = append(problems, fmt.Sprintf("%s is missing, and logic version %d was released and is supported: bring it back, or raise \"supported_min\"", t.project.baselinePath(logic), logic))
			}
			continue
		}
		now, _, err := t.manifestOf(t.ids(), logic)
		if err != nil {
			return nil, err
		}
		for _, item := range compat.DiffManifests(&now, shipped).Items {
			problems = append(problems, t.describeProblem(logic, item))
		}
	}
	return problems, nil
}

// describeProblem is one difference between the source and a baseline, with a remedy.
func (t *table) describeProblem(logic int32, item compat.Difference) string {
	if item.Class == compat.ClassRenumbered {
		return fmt.Sprintf("component %s, as logic version %d sees it, has the id %d, and had %d: give it back, because clients of that version know it by that",
			item.Name, logic, item.Server.WireID, item.Client.WireID)
	}
	what := map[compat.Side]string{compat.OnServer: "is new", compat.OnClient: "is gone", compat.OnBoth: "changed"}[item.Side]
	if logic == t.project.Logic {
		return fmt.Sprintf("component %s %s, but logic version %d is released: set \"logic\" to %d and mark what is new with since=%d and what goes with until=%d",
			item.Name, what, logic, logic+1, logic+1, logic+1)
	}
	return fmt.Sprintf("component %s, as logic version %d sees it, %s since that version shipped: mark what came later with since=, and what went with until=; compatgen explain %s --logic %d shows it",
		item.Name, logic, what, item.Name, logic)
}

// writeBaseline freezes the manifest of the project's logic version as its baseline.
func (t *table) writeBaseline(b compat.Build) (path string, err error) {
	if problems, err := t.checkAll(); err != nil {
		return "", err
	} else if len(problems) > 0 {
		return "", fmt.Errorf("nothing was released: %s", problems[0])
	}
	logic := t.project.Logic
	m := t.manifest
	b.Logic, b.Components = m.Build.Logic, m.Build.Components
	if m.Build = b; b.Compatibility == "" {
		m.Build.Compatibility = compat.Derived(b.Logic, b.Components)
	}
	data, err := compat.EncodeManifest(&m)
	if err != nil {
		return "", err
	}
	path = t.project.baselinePath(logic)
	if shipped, err := t.project.baseline(logic); err != nil {
		return "", err
	} else if shipped == nil {
		if err := replaceFile(path, data); err != nil {
			return "", err
		}
	}
	if !slices.Contains(t.lock.Released, logic) {
		t.lock.Released = append(t.lock.Released, logic)
		slices.Sort(t.lock.Released)
	}
	locked, err := t.lock.encode()
	if err != nil {
		return "", err
	}
	return path, replaceFile(t.project.pathOf(t.project.Lock), locked)
}
