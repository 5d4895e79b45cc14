package crash

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"path"
	"slices"
	"strings"

	"collet/app/install"
	"collet/build/qa/fileset"
	"collet/platform"
	"collet/platform/faultfs"
)

// verdict is the result of the next start on a disk.
type verdict struct {
	found   []string // names of the sets found after Open; several if sets are equal
	trouble string   // an error regardless of the expected set; empty if there was none
}

// judge starts the client on a disk, checks it, runs the client once more, and checks again. It changes the disk.
func (r *storyRun) judge(d *faultfs.Disk, key diskKey) (v verdict) {
	if known, seen := r.verdicts[key]; seen {
		return known
	}
	c := r.client(d, r.newProcess(d))
	c.verify = false
	err := c.open()
	if err != nil {
		v.trouble = "the next start does not open the install: " + err.Error()
	} else {
		files := d.Files()
		v.found = r.liveSets(files)
		v.trouble = r.lostPlayerFile(files)
		if v.found == nil && v.trouble == "" {
			v.trouble = "the next start finds a mixed set" + r.compared(files)
		}
		if lost := c.dir.Lost(); lost != "" && v.trouble == "" {
			v.trouble = "the set was recorded as prepared, and " + lost + " has other bytes"
		}
		err = c.close()
	}
	if v.trouble == "" && err == nil {
		err = r.converges(d)
	}
	if v.trouble == "" && err != nil {
		v.trouble = err.Error()
	}
	r.verdicts[key] = v
	return v
}

// converges plays one more run, which must lead to the story's end, and one that must find nothing to do. After a set that always fails to
// start, an update to the next set must succeed.
func (r *storyRun) converges(d *faultfs.Disk) error {
	s := r.story
	if err := r.session(d, s.again); err != nil {
		return fmt.Errorf("one more run: %w", err)
	}
	if err := r.settled(d, s.end, !s.refused); err != nil {
		return fmt.Errorf("after one more run %w", err)
	}
	end, last := s.end, []step{opening(), {func(c *client) error { return c.wantNothing(s.end) }, nil}, closing()}
	if s.refused {
		end, last = "next", updating("", "next")
	}
	if err := r.session(d, last); err != nil {
		return fmt.Errorf("the run after that: %w", err)
	}
	if err := r.settled(d, end, true); err != nil {
		return fmt.Errorf("after the run after that %w", err)
	}
	return nil
}

// session is the life of one process.
func (r *storyRun) session(d *faultfs.Disk, steps []step) error {
	p := r.newProcess(d)
	err := r.client(d, p).play(steps)
	p.Kill()
	return err
}

// settled checks for exactly one set and the player's files, and, if the set is proven, for no other files.
func (r *storyRun) settled(d *faultfs.Disk, set string, proven bool) error {
	files := d.Files()
	if lines := r.live(files).diff(r.sets[set]); lines != nil {
		return fmt.Errorf("the set is not %q\n%s", set, fileset.Difference(lines))
	}
	if lost := r.lostPlayerFile(files); lost != "" {
		return errors.New(lost)
	}
	if !proven {
		return nil
	}
	if left := r.leftovers(files); left != nil {
		return fmt.Errorf("something is left over: %s", strings.Join(left, ", "))
	}
	return r.recycled(files, set)
}

// live returns the set on a disk.
func (r *storyRun) live(files map[string]string) Set {
	mine, set := r.player, Set{}
	for name, content := range files {
		if _, players := mine[name]; !players && !strings.HasSuffix(name, "/") && !fileset.Outside(name) {
			set[name] = content
		}
	}
	return set
}

// liveSets returns the names of the live sets.
func (r *storyRun) liveSets(files map[string]string) (names []string) {
	live := r.live(files)
	for _, name := range slices.Sorted(maps.Keys(r.sets)) {
		if maps.Equal(live, r.sets[name]) {
			names = append(names, name)
		}
	}
	return names
}

// compared describes which sets the files of a mixed set come from.
func (r *storyRun) compared(files map[string]string) (text string) {
	live := r.live(files)
	for _, name := range r.allowedSets() {
		text += fmt.Sprintf("\ncompared with %q:\n%s", name, fileset.Difference(live.diff(r.sets[name])))
	}
	return text
}

// lostPlayerFile names the first changed or missing file of the player.
func (r *storyRun) lostPlayerFile(files map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(r.player)) {
		if files[name] != r.player[name] {
			return fmt.Sprintf("the player's file %s is lost or changed", name)
		}
	}
	if kept := r.story.foreign; kept != "" && !slices.Contains(slices.Collect(maps.Values(files)), kept) {
		return "the player's file that had the name of a pack is nowhere"
	}
	return ""
}

// mayRemain reports whether a file of the install may remain after all work is done.
func (r *storyRun) mayRemain(name string) bool {
	known := []string{"journal.0", "journal.1", "lists.0", "lists.1", "lock", "readers"}
	dir, base := path.Split(name)
	return dir == install.StateDir+"/" && slices.Contains(known, base) || name == r.options.Names.Cache+"/hashes" ||
		strings.HasPrefix(name, install.Recycler+"/")
}

// leftovers lists obsolete files of the updater.
func (r *storyRun) leftovers(files map[string]string) (left []string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if _, players := r.player[name]; fileset.Outside(name) && !players && !strings.HasSuffix(name, "/") && !r.mayRemain(name) {
			left = append(left, name)
		}
	}
	return left
}

// recycled checks that files dropped by the release are in the recycler.
func (r *storyRun) recycled(files map[string]string, end string) error {
	had := r.sets[r.story.dropped]
	for _, name := range r.sets[end].missing(had) {
		found := false
		for at, content := range files {
			found = found || strings.HasPrefix(at, install.Recycler+"/") && strings.HasSuffix(at, "/"+name) && content == had[name]
		}
		if !found {
			return fmt.Errorf("%s, which the release dropped, is not in the recycler", name)
		}
	}
	return nil
}

// diskKey is a hash of a disk: names, contents and identities.
type diskKey uint64

func (r *storyRun) key(d *faultfs.Disk) diskKey {
	var h maphash.Hash
	h.SetSeed(r.seed)
	files, fsys := d.Files(), d.Open(faultfs.Options{})
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h.WriteString(name)
		h.WriteByte(0)
		h.WriteString(files[name])
		h.WriteByte(0)
		if info, err := fsys.Lstat(strings.TrimSuffix(name, "/")); err == nil {
			id := platform.IdentityOf(info)
			var numbers []byte
			for _, n := range []int64{int64(id.Inode), id.Modified.UnixNano(), id.Changed.UnixNano()} {
				numbers = binary.LittleEndian.AppendUint64(numbers, uint64(n))
			}
			h.Write(numbers)
		}
	}
	return diskKey(h.Sum64())
}
