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

// judge examines the disks that stops of one story leave. It keeps verdicts, because many stops leave equal disks. It is used by one goroutine.
type judge struct {
	story    story
	names    install.Names
	sets     namedSets
	player   Set // the player's files
	mutant   Mutant
	seed     maphash.Seed
	verdicts map[diskKey]verdict
}

func newJudge(s story, names install.Names, sets namedSets, m Mutant) *judge {
	return &judge{story: s, names: names, sets: sets, player: playerFiles(names), mutant: m, seed: maphash.MakeSeed(), verdicts: map[diskKey]verdict{}}
}

// client returns a client that works on a disk through a process.
func (j *judge) client(p *faultfs.FS) *client {
	return &client{names: j.names, sets: j.sets, mode: j.story.mode(), verify: j.story.verify, fsys: j.mutant.wrap(p)}
}

// of starts the client on a disk, checks it, runs the client once more, and checks again. It changes the disk.
func (j *judge) of(d *faultfs.Disk, key diskKey) (v verdict) {
	if known, seen := j.verdicts[key]; seen {
		return known
	}
	c := j.client(d.Open(faultfs.Options{}))
	c.verify = false
	err := c.openInstall()
	if err != nil {
		v.trouble = "the next start does not open the install: " + err.Error()
	} else {
		files := d.Files()
		v.found = j.liveSets(files)
		v.trouble = j.lostPlayerFile(files)
		if v.found == nil && v.trouble == "" {
			v.trouble = "the next start finds a mixed set" + j.compared(files)
		}
		if lost := c.dir.Lost(); lost != "" && v.trouble == "" {
			v.trouble = "the set was recorded as prepared, and " + lost + " has other bytes"
		}
		err = c.close()
	}
	if v.trouble == "" && err == nil {
		err = j.converges(d)
	}
	if v.trouble == "" && err != nil {
		v.trouble = err.Error()
	}
	j.verdicts[key] = v
	return v
}

// converges plays one more run, which must lead to the story's end, and one that must find nothing to do. After a set that always fails to
// start, an update to the next set must succeed.
func (j *judge) converges(d *faultfs.Disk) error {
	s := j.story
	if err := j.session(d, s.again); err != nil {
		return fmt.Errorf("one more run: %w", err)
	}
	if err := j.settled(d, s.end, !s.refused); err != nil {
		return fmt.Errorf("after one more run %w", err)
	}
	end, last := s.end, []step{opening(), {func(c *client) error { return c.wantNothing(s.end) }, nil}, closing()}
	if s.refused {
		end, last = "next", updating("", "next")
	}
	if err := j.session(d, last); err != nil {
		return fmt.Errorf("the run after that: %w", err)
	}
	if err := j.settled(d, end, true); err != nil {
		return fmt.Errorf("after the run after that %w", err)
	}
	return nil
}

// session is the life of one process.
func (j *judge) session(d *faultfs.Disk, steps []step) error {
	p := d.Open(faultfs.Options{})
	err := j.client(p).play(steps)
	p.Kill()
	return err
}

// settled checks for exactly one set and the player's files, and, if the set is proven, for no other files.
func (j *judge) settled(d *faultfs.Disk, set string, proven bool) error {
	files := d.Files()
	if lines := j.live(files).diff(j.sets[set]); lines != nil {
		return fmt.Errorf("the set is not %q\n%s", set, fileset.Difference(lines))
	}
	if lost := j.lostPlayerFile(files); lost != "" {
		return errors.New(lost)
	}
	if !proven {
		return nil
	}
	if left := j.leftovers(files); left != nil {
		return fmt.Errorf("something is left over: %s", strings.Join(left, ", "))
	}
	return j.recycled(files, set)
}

// live returns the set on a disk.
func (j *judge) live(files map[string]string) Set {
	mine, set := j.player, Set{}
	for name, content := range files {
		if _, players := mine[name]; !players && !strings.HasSuffix(name, "/") && !fileset.Outside(name) {
			set[name] = content
		}
	}
	return set
}

// liveSets returns the names of the live sets.
func (j *judge) liveSets(files map[string]string) (names []string) {
	live := j.live(files)
	for _, name := range slices.Sorted(maps.Keys(j.sets)) {
		if maps.Equal(live, j.sets[name]) {
			names = append(names, name)
		}
	}
	return names
}

// compared describes which sets the files of a mixed set come from.
func (j *judge) compared(files map[string]string) (text string) {
	live := j.live(files)
	for _, name := range j.allowedSets() {
		text += fmt.Sprintf("\ncompared with %q:\n%s", name, fileset.Difference(live.diff(j.sets[name])))
	}
	return text
}

// lostPlayerFile names the first changed or missing file of the player.
func (j *judge) lostPlayerFile(files map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(j.player)) {
		if files[name] != j.player[name] {
			return fmt.Sprintf("the player's file %s is lost or changed", name)
		}
	}
	if kept := j.story.foreign; kept != "" && !slices.Contains(slices.Collect(maps.Values(files)), kept) {
		return "the player's file that had the name of a pack is nowhere"
	}
	return ""
}

// mayRemain reports whether a file of the install may remain after all work is done.
func (j *judge) mayRemain(name string) bool {
	known := []string{"journal.0", "journal.1", "lists.0", "lists.1", "lock", "readers"}
	dir, base := path.Split(name)
	return dir == install.StateDir+"/" && slices.Contains(known, base) || name == j.names.Cache+"/hashes" ||
		strings.HasPrefix(name, install.Recycler+"/")
}

// leftovers lists obsolete files of the updater.
func (j *judge) leftovers(files map[string]string) (left []string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if _, players := j.player[name]; fileset.Outside(name) && !players && !strings.HasSuffix(name, "/") && !j.mayRemain(name) {
			left = append(left, name)
		}
	}
	return left
}

// recycled checks that files dropped by the release are in the recycler.
func (j *judge) recycled(files map[string]string, end string) error {
	had := j.sets[j.story.dropped]
	for _, name := range j.sets[end].missing(had) {
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

func (j *judge) key(d *faultfs.Disk) diskKey {
	var h maphash.Hash
	h.SetSeed(j.seed)
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

// broken describes how a verdict breaks the promise; empty if it does not.
func (j *judge) broken(v verdict, may []string) string {
	if v.trouble == "" && !slices.ContainsFunc(v.found, func(name string) bool { return slices.Contains(may, name) }) {
		return fmt.Sprintf("the next start finds the set %q, want %q", strings.Join(v.found, " = "), strings.Join(may, `" or "`))
	}
	return v.trouble
}

// allowedSets returns the names of the sets that a story may leave.
func (j *judge) allowedSets() (names []string) {
	for _, s := range j.story.act {
		for _, name := range s.allowed {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
