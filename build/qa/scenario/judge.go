package scenario

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"collet/app/install"
	"collet/app/install/inspect"
	"collet/build/qa/fileset"
	"collet/netproto/release"
	"collet/platform"
)

// fileSet returns the hashes of a tree.
func (t tree) fileSet() (fileset.Set, error) {
	s := fileset.Set{}
	for name, f := range t {
		digest, err := digestOf(f.data)
		if err != nil {
			return nil, err
		}
		s[name] = digest.String()
	}
	return s, nil
}

// allFiles returns the hashes of all files in the folder.
func (v *volume) allFiles() (fileset.Set, error) {
	s := fileset.Set{}
	var walk func(folder string) error
	walk = func(folder string) error {
		entries, err := v.fsys.ReadDir(folder)
		for _, e := range entries {
			name := path.Join(folder, e.Name())
			if e.IsDir() {
				err = errors.Join(err, walk(name))
				continue
			}
			content, failed := v.content(name, e)
			s[name], err = content, errors.Join(err, failed)
		}
		return err
	}
	return s, walk(".")
}

func (v *volume) content(name string, e fs.DirEntry) (string, error) {
	if !e.Type().IsRegular() {
		return "other:" + e.Type().String(), nil
	}
	f, err := v.fsys.OpenFile(name, 0, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	digest, err := release.SHA256.DigestOf(f)
	return digest.String(), err
}

// live returns the files that belong to a set, without those of the updater, the player and others.
func (r *run) live(all fileset.Set) fileset.Set {
	live := fileset.Set{}
	for name, content := range all {
		_, player := r.sides["player"][name]
		_, disk := r.sides["disk"][name]
		_, old := r.from[name]
		_, now := r.to[name]
		if !fileset.Outside(name) && (old || now || !player && !disk) {
			live[name] = content
		}
	}
	return live
}

// promise returns the scenario's two sets.
func (r *run) promise() (p fileset.Promise, err error) {
	if r.begin != beginNone || len(r.from) > 0 {
		if p.Old, err = r.from.fileSet(); err != nil {
			return p, err
		}
	}
	p.New, err = r.to.fileSet()
	return p, err
}

// judgeSet checks for the expected set: old, new, old-or-new, or any.
func (r *run) judgeSet(v *volume, want, when string) error {
	all, err := v.allFiles()
	if err != nil {
		return err
	}
	if err := r.judgePlayer(v, all); err != nil {
		return fmt.Errorf("%s: %w", when, err)
	}
	if want == "any" {
		return nil
	}
	p, err := r.promise()
	if err != nil {
		return err
	}
	live := r.live(all)
	for name := range live { // a player's file under the name of a set's file is not part of the set
		if f, players := r.sides["player"][name]; players && p.Old[name] != live[name] && p.New[name] != live[name] {
			if digest, err := digestOf(f.data); err == nil && digest.String() == live[name] {
				delete(live, name)
			}
		}
	}
	which, err := p.Kept(live)
	if want == "old" && err == nil && which == "new" && len(live.Diff(p.Old)) == 0 {
		which = "old" // both sets are equal
	}
	if err == nil && which != want && want != "old-or-new" {
		err = fmt.Errorf("the %s set is there, want the %s one", which, want)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", when, err)
	}
	return nil
}

// judgePlayer checks that every file of the player is in its place or in the recycler.
func (r *run) judgePlayer(v *volume, all fileset.Set) error {
	for _, name := range r.sides["player"].names() {
		f := r.sides["player"][name]
		if f.link != "" {
			continue // links may be moved; they have no content
		}
		digest, err := digestOf(f.data)
		if err != nil {
			return err
		}
		if all[name] == digest.String() {
			if info, err := v.fsys.Lstat(name); err == nil && f.mode != 0 && info.Mode().Perm() != f.mode {
				return fmt.Errorf("the player's %s has mode %v, had %v", name, info.Mode().Perm(), f.mode)
			}
			continue
		}
		saved := false
		for other, content := range all {
			inRecycler := strings.HasPrefix(other, install.Recycler+"/") && strings.Contains(other, "/"+name)
			saved = saved || inRecycler && content == digest.String()
		}
		if !saved {
			return fmt.Errorf("the player's %s is lost", name)
		}
	}
	return nil
}

// judgeRecovered checks the folder after a start without a server.
func (r *run) judgeRecovered(v *volume) error {
	fallback := "old-or-new"
	if r.begin == beginNone || slices.ContainsFunc(r.faults, func(f fault) bool { return f.change != nil }) {
		fallback = "any"
	}
	return r.judgeSet(v, r.expected(r.direction, expectRecovered, fallback), "after the next start")
}

// judgeEnd checks the folder after the last run, which ended with err.
func (r *run) judgeEnd(ctx context.Context, v *volume, err error) error {
	refused := r.expected(r.direction, expectRefused, "")
	want := r.expected(r.direction, expectSet, "new")
	switch {
	case refused != "" && (err == nil || !strings.Contains(err.Error(), refused)):
		return fmt.Errorf("the last run should have been refused with %q, it ended with: %v", refused, err)
	case refused != "":
		want = "old"
	case err != nil && !(errors.Is(err, errBlocked) && want != "new"):
		return fmt.Errorf("the last run: %w", err)
	}
	if err := r.judgeSet(v, want, "at the end"); err != nil {
		return err
	}
	for _, e := range r.expects {
		if e.direction != "" && e.direction != r.direction || e.what != expectThere && e.what != expectAbsent {
			continue
		}
		if _, err := v.fsys.Lstat(e.value); (err == nil) != (e.what == expectThere) {
			return fmt.Errorf("at the end: %w", &textError{r.file, e.line, fmt.Sprintf("expected %s %s: %v", e.what, e.value, err)})
		}
	}
	if want == "new" {
		return r.judgeLeftovers(ctx, v)
	}
	return nil
}

// judgeLeftovers checks for a clean install: no pending set, no temporary files, no troubles.
func (r *run) judgeLeftovers(ctx context.Context, v *volume) error {
	found, err := inspect.Folder(ctx, v.fsys, nil, r.layout(), false)
	if err != nil {
		return err
	}
	if found.Pending || !found.Clean && found.State != install.None || found.NeedsAttention() {
		return fmt.Errorf("at the end the install is not clean: %s, pending %t, troubles %v", found.State, found.Pending, found.Problems)
	}
	if slices.ContainsFunc(r.faults, func(f fault) bool { return f.updaters }) {
		return nil // a damaged journal leaves files that the updater no longer knows
	}
	for _, s := range found.Strays {
		_, player := r.sides["player"][s.Name]
		_, disk := r.sides["disk"][s.Name]
		if s.What != "file" && s.What != "link" && !player && !disk {
			return fmt.Errorf("at the end %s (%s) is left over", s.Name, s.What)
		}
	}
	for _, folder := range []string{"previous", "parts"} {
		name := path.Join(install.StateDir, folder)
		if _, err := v.fsys.Lstat(name); err == nil {
			if left, err := filesBelow(v.fsys, name); err != nil || len(left) > 0 {
				return fmt.Errorf("at the end there is something in %s: %v %w", name, left, err)
			}
		}
	}
	return nil
}

func filesBelow(fsys platform.FS, folder string) (names []string, err error) {
	entries, err := fsys.ReadDir(folder)
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		if !e.IsDir() {
			names = append(names, name)
			continue
		}
		below, failed := filesBelow(fsys, name)
		names, err = append(names, below...), errors.Join(err, failed)
	}
	return names, err
}
