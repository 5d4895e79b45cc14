package install

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"collet/netproto/release"
)

// disk is a folder in which each content is one letter: W wanted, P previous, O other, B file of the last proven set, F
// folder. Recycled files get names that begin with "recycled".
type disk map[string]byte

func (d disk) String() string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(d)) {
		lines = append(lines, fmt.Sprintf("%s=%c", name, d[name]))
	}
	return strings.Join(lines, " ")
}

func (d disk) content(name string) Content {
	return map[byte]Content{0: Absent, 'W': Wanted, 'P': Previous, 'F': Folder, 'O': Other, 'B': Other}[d[name]]
}

// has reports whether any name holds a content.
func (d disk) has(content byte) bool { return slices.Contains(slices.Collect(maps.Values(d)), content) }

// diskOf is a disk with these contents.
func diskOf(pairs map[string]byte) disk {
	d := disk{}
	for name, content := range pairs {
		if content != 0 {
			d[name] = content
		}
	}
	return d
}

// look simulates Dir.look.
func (d disk) look(files []entry, w swapOptions) []Seen {
	seen := make([]Seen, len(files))
	for i, e := range files {
		seen[i].Live = d.content(e.Live)
		if !e.gone() {
			seen[i].Part = d.content(e.part())
		}
		if !e.gone() && e.Kind != Pack {
			seen[i].Staged = d.content(e.staged())
		}
		if !w.backedUp[e.Live] && !e.Repair {
			seen[i].Backup = d.content(e.backup())
		}
	}
	return seen
}

// do simulates Dir.perform. A step on a missing file is a bug of the planner.
func (d disk) do(s Step) {
	if s.Do != Drop && s.Do != Recycle && d[s.From] == 0 || s.Do == Exchange && d[s.To] == 0 {
		panic(fmt.Sprint(s, " of what is not there: ", d))
	}
	if parent, _, below := strings.Cut(s.To, "/"); below && d[parent] != 0 && d[parent] != 'F' {
		panic(fmt.Sprint(s, " below a file: ", d))
	}
	switch s.Do {
	case Place, Keep:
		d[s.To] = d[s.From]
		delete(d, s.From)
	case Exchange:
		d[s.From], d[s.To] = d[s.To], d[s.From]
	case Recycle:
		if d[s.From] != 0 {
			d["recycled "+s.From] = d[s.From]
		}
		delete(d, s.From)
	case Clear, Drop:
		delete(d, s.From)
	default:
		panic(s.Do)
	}
}

// inBatches splits steps like Dir.perform.
func inBatches(steps []Step) (all [][]Step) {
	b := newBatch("")
	for _, s := range steps {
		if !b.takes(s) {
			b = newBatch(s.Do)
			all = append(all, nil)
		}
		b.used(s.From)
		if s.To != "" {
			b.used(s.To)
		}
		all[len(all)-1] = append(all[len(all)-1], s)
	}
	return all
}

// explore runs a planner from d to its end. It also stops with every subset of every batch done, as after a power cut, and
// continues from there, until no new state appears. check sees every disk, and whether the planner has reached its end.
func explore(t *testing.T, begin disk, next func(disk) []Step, check func(d disk, end bool)) {
	t.Helper()
	known := map[string]bool{}
	var visit func(d disk)
	visit = func(d disk) {
		if known[d.String()] || t.Failed() {
			return
		}
		known[d.String()] = true
		steps := next(d)
		check(d, len(steps) == 0)
		d = maps.Clone(d)
		for _, batch := range inBatches(steps) {
			for subset := range 1 << len(batch) {
				some := maps.Clone(d)
				for i, s := range batch {
					if subset>>i&1 != 0 {
						some.do(s)
					}
				}
				visit(some)
			}
			for _, s := range batch {
				d.do(s)
			}
		}
		if rest := next(d); len(rest) > 0 {
			t.Errorf("after all steps %v on %s there are more: %v", steps, d, rest)
		}
	}
	visit(begin)
}

// swapCase is one combination of all inputs of Next for a file.
type swapCase struct {
	kind                              Kind
	part, staged, live, backup        byte
	gone, repair, backedUp, exchanges bool
}

func (c swapCase) entry() entry {
	e := entry{Kind: c.kind, Live: "m", Digest: wantedDigest, Old: previousDigest, Repair: c.repair}
	if c.gone {
		e.Digest = release.Digest{}
	}
	if c.repair || c.live != 'P' && c.staged != 'P' && c.part != 'P' && c.backup != 'P' {
		e.Old = release.Digest{}
	}
	return e
}

func (c swapCase) ways() swapOptions {
	return swapOptions{exchange: c.exchanges, backedUp: map[string]bool{"m": c.backedUp}}
}

func (c swapCase) disk() disk {
	e := c.entry()
	return diskOf(map[string]byte{e.part(): c.part, e.staged(): c.staged, "m": c.live, e.backup(): c.backup})
}

// possible excludes impossible states: previous bytes of a file that had none, or in two places; a folder under a module's
// name; parts of a removed file; a removed file under repair.
func (c swapCase) possible() bool {
	previous := 0
	for _, at := range []byte{c.part, c.staged, c.live, c.backup} {
		if at == 'P' {
			previous++
		}
	}
	waits := c.staged
	if c.kind == Pack {
		waits = c.part
	}
	switch {
	case previous > 1, c.repair && (previous > 0 || c.gone || c.backedUp), c.kind == Pack && c.staged != 0, c.kind != Pack && c.part == 'P':
		return false
	case c.gone && (c.part != 0 || c.staged != 0 || c.live == 'W' || c.live == 'F'):
		return false
	case waits == 'P' && c.live != 'W', c.backup == 'P' && (c.live == 'O' || c.live == 'F'):
		return false // the file replaced by an exchange, and the one moved away by two renames
	case c.backup == 'B' != c.backedUp, c.live == 'F' && c.kind != Pack:
		return false
	}
	return true
}

func swapCases() (cases []swapCase) {
	kinds, flags := []Kind{Pack, Module, Companion}, []bool{false, true}
	each := func(contents string, f func(byte)) {
		for _, c := range []byte(contents) {
			f(letter(c))
		}
	}
	for _, k := range kinds {
		each(" WPO", func(part byte) {
			each(" WPO", func(staged byte) {
				each(" WPOF", func(live byte) {
					each(" POB", func(backup byte) {
						for bits := range 16 {
							c := swapCase{k, part, staged, live, backup, flags[bits&1], flags[bits>>1&1], flags[bits>>2&1], flags[bits>>3&1]}
							if c.possible() {
								cases = append(cases, c)
							}
						}
					})
				})
			})
		})
	}
	return cases
}

// there reports whether the new bytes of the file exist anywhere.
func (c swapCase) there() bool { return c.part == 'W' || c.staged == 'W' || c.live == 'W' }

// check describes violated invariants on the way to a goal.
func (c swapCase) check(goal Goal, begin, d disk, end bool) error {
	e := c.entry()
	hadPrevious := begin.has('P') && !c.backedUp
	switch live := d["m"]; {
	case begin.has('O') && c.live == 'O' && !c.repair && !d.has('O'):
		return fmt.Errorf("a foreign file is lost")
	case c.backup == 'O' && d[e.backup()] != 'O' && d["recycled "+e.backup()] != 'O':
		return fmt.Errorf("a backup that is not ours is lost")
	case c.backedUp && d[e.backup()] != 'B':
		return fmt.Errorf("the last proven file is lost")
	case hadPrevious && !d.has('P'):
		return fmt.Errorf("the replaced file is lost")
	case c.exchanges && !c.gone && c.live == 'P' && live == 0, c.exchanges && c.live == 'W' && live != 'W':
		return fmt.Errorf("the live name is missing")
	case goal == BeforeSwap && (live != c.live || d[e.backup()] != c.backup):
		return fmt.Errorf("touched what is live")
	case !end || goal == BeforeSwap:
		return nil
	case c.gone && (live == 'P' || hadPrevious && d[e.backup()] != 'P'):
		return fmt.Errorf("ends with a file that goes, or without its backup")
	case c.gone:
		return nil
	case c.there() && live != 'W':
		return fmt.Errorf("ends without the new file")
	case c.there() && (d[e.ready()] != 0 || d[e.part()] == 'W' || hadPrevious && d[e.backup()] != 'P'):
		return fmt.Errorf("ends with something left, or without a backup")
	case !c.there() && c.kind == Companion && live != c.live:
		return fmt.Errorf("lost a companion that nothing replaces")
	}
	return nil
}

// TestNextOfEveryFile runs every combination through every stop, to both goals.
func TestNextOfEveryFile(t *testing.T) {
	walked, lost := 0, 0
	for _, c := range swapCases() {
		files := []entry{c.entry()}
		if !c.there() && !c.gone && c.kind != Companion {
			lost++
			c.losesItsBytes(t, files)
			continue
		}
		for _, goal := range []Goal{BeforeSwap, Swap} {
			begin := c.disk()
			next := func(d disk) []Step { return Next(files, d.look(files, c.ways()), goal, c.ways()) }
			explore(t, begin, next, func(d disk, end bool) {
				walked++
				if err := c.check(goal, begin, d, end); err != nil {
					t.Errorf("%+v to goal %d: %v: %s, then %s", c, goal, err, begin, d)
				}
			})
		}
	}
	if walked < 2000 || lost < 100 {
		t.Errorf("only %d disks, %d without the new bytes", walked, lost)
	}
	t.Logf("%d disks, and %d without the new bytes", walked, lost)
}

// losesItsBytes checks the answer if the prepared bytes are lost: Revert if a live name has changed, otherwise Discard.
func (c swapCase) losesItsBytes(t *testing.T, files []entry) {
	t.Helper()
	steps := Next(files, c.disk().look(files, c.ways()), Swap, c.ways())
	want := Discard
	if !files[0].Old.IsZero() && c.live == 0 {
		want = Revert
	}
	if len(steps) != 1 || steps[0] != (Step{Do: want, From: "m"}) {
		t.Errorf("%+v: %v, want %s", c, steps, want)
	}
}

// TestFoundOfEveryFile checks that the file replaced by an exchange becomes a backup, wherever the steps stop, unless a
// backup exists or the file is unproven. Nothing else changes.
func TestFoundOfEveryFile(t *testing.T) {
	kept := 0
	for _, c := range swapCases() {
		files, want := []entry{c.entry()}, c.disk()
		waits := files[0].ready()
		if want[waits] == 'P' && !c.backedUp {
			kept++
			if c.backup == 'O' {
				want["recycled "+files[0].backup()] = 'O'
			}
			want[files[0].backup()] = 'P'
			delete(want, waits)
		}
		next := func(d disk) []Step { return KeepReplaced(files, d.look(files, c.ways()), c.ways()) }
		explore(t, c.disk(), next, func(d disk, end bool) {
			if end && d.String() != want.String() {
				t.Errorf("%+v: ends with %s, want %s", c, d, want)
			}
		})
	}
	if kept < 20 {
		t.Errorf("only %d had anything to keep", kept)
	}
}

// TestWithdrawOfEveryFile withdraws prepared sets: live file and backup stay, complete bytes become a part, and the set can
// still go forward after any stop.
func TestWithdrawOfEveryFile(t *testing.T) {
	possible := 0
	for _, c := range swapCases() {
		files := []entry{c.entry()}
		begin := c.disk()
		steps, can := Withdraw(files, begin.look(files, c.ways()))
		changed := c.gone && c.live == 0 || !c.gone && c.live == 'W' || !files[0].Old.IsZero() && c.live == 0
		if can == changed {
			t.Errorf("%+v: possible %v", c, can)
		}
		if !can {
			continue
		}
		possible++
		d := c.disk()
		for _, s := range steps {
			d.do(s)
		}
		if d["m"] != c.live || d[files[0].backup()] != c.backup || c.staged == 'W' && (d[files[0].part()] != 'W' || d[files[0].staged()] == 'W') {
			t.Errorf("%+v: withdrawn to %s", c, d)
		}
		if c.there() && len(Next(files, d.look(files, c.ways()), Swap, c.ways())) == 0 {
			t.Errorf("%+v: can't go forward from %s", c, d)
		}
	}
	if possible < 100 {
		t.Errorf("only %d could be taken back", possible)
	}
}

// undoCase is one combination of all inputs of Undo for a file.
type undoCase struct {
	kind         Kind
	live, backup byte
	nothing      bool // there was no file before
	goes         bool // the set has no file
	exchanges    bool
}

func undoCases() (cases []undoCase) {
	for _, k := range []Kind{Pack, Module, Companion} {
		for _, live := range []byte{0, 'W', 'P', 'O', 'F'} {
			for _, backup := range []byte{0, 'W', 'P', 'O'} {
				for bits := range 8 {
					c := undoCase{k, live, backup, bits&1 != 0, bits&2 != 0, bits&4 != 0}
					none := c.nothing && (live == 'P' || backup != 0)
					if none || c.goes && (live == 'W' || backup == 'W') || backup == 'W' && live != 'P' || live == 'F' && k != Pack {
						continue
					}
					cases = append(cases, c)
				}
			}
		}
	}
	return cases
}

// TestUndoOfEveryFile runs the rollback through every stop.
func TestUndoOfEveryFile(t *testing.T) {
	walked, lost := 0, 0
	for _, c := range undoCases() {
		u, now := undo{Kind: c.kind, Live: "m", Digest: previousDigest}, entry{Kind: c.kind, Live: "m", Digest: wantedDigest, Aside: true}
		if c.nothing {
			u.Digest = release.Digest{}
		}
		if c.goes {
			now.Digest = release.Digest{}
		}
		backup := u.entry().backup()
		begin := diskOf(map[string]byte{"m": c.live, backup: c.backup})
		w := swapOptions{exchange: c.exchanges}
		next := func(d disk) []Step {
			s := Seen{Live: d.content("m")}
			if !c.nothing {
				s.Backup = d.content(backup)
			}
			steps, gone := Undo([]undo{u}, []entry{now}, []Seen{s}, w)
			if (gone != "") != (c.kind != Companion && !c.nothing && !begin.has('P')) {
				t.Errorf("%+v: lost %q on %s", c, gone, d)
			}
			return steps
		}
		if len(next(begin)) == 0 && !c.nothing && !begin.has('P') {
			lost++
			continue
		}
		explore(t, begin, next, func(d disk, end bool) {
			walked++
			if err := c.check(begin, d, end); err != nil {
				t.Errorf("%+v: %v: %s, then %s", c, err, begin, d)
			}
		})
	}
	if walked < 200 || lost == 0 {
		t.Errorf("only %d disks, %d without a backup", walked, lost)
	}
}

func (c undoCase) check(begin, d disk, end bool) error {
	switch live := d["m"]; {
	case begin.has('P') && !d.has('P'):
		return fmt.Errorf("what comes back is lost")
	case begin.has('O') && !d.has('O'):
		return fmt.Errorf("a foreign file is lost")
	case begin.has('W') && !d.has('W'):
		return fmt.Errorf("the set's file is lost")
	case c.exchanges && c.live == 'W' && c.backup == 'P' && live == 0:
		return fmt.Errorf("the live name is missing")
	case end && begin.has('P') && live != 'P', end && c.nothing && (live == 'W' || live == 'O'):
		return fmt.Errorf("does not come back")
	}
	return nil
}

// TestSetsWalkTogether combines all kinds with a file that becomes a folder and a folder that becomes a file. Parts leave
// their names first, a name is free before another file takes it, and any subset of a batch may be done.
func TestSetsWalkTogether(t *testing.T) {
	zero := release.Digest{}
	files := []entry{
		{Kind: Pack, Live: "x", Old: previousDigest}, {Kind: Pack, Live: "y/i", Old: previousDigest},
		{Kind: Module, Live: "m", Digest: wantedDigest, Old: previousDigest},
		{Kind: Companion, Live: "m.pdb", Digest: wantedDigest, Old: previousDigest},
		{Kind: Pack, Live: "x/i", Digest: wantedDigest, Aside: true}, {Kind: Pack, Live: "y", Digest: wantedDigest},
	}
	begin := disk{"x": 'P', "y": 'F', "y/i": 'P', "m": 'P', "m.pdb": 'P', "~m": 'W', "~m.pdb": 'W', ".collet/parts/x/i": 'W', "~y": 'W'}
	for _, exchanges := range []bool{true, false} {
		w := swapOptions{exchange: exchanges}
		next := func(d disk) []Step { return Next(files, d.look(files, w), Swap, w) }
		explore(t, begin, next, func(d disk, end bool) {
			want := "y=W"
			for _, e := range files {
				if !e.gone() && end && d[e.Live] != 'W' || e.Old != zero && end && d[e.backup()] != 'P' {
					t.Errorf("ends with %s, %s", d, want)
				}
			}
		})
	}
}

func TestClean(t *testing.T) {
	undone := []undo{
		{Kind: Module, Live: "m", Digest: previousDigest, Proven: true},
		{Kind: Module, Live: "waits", Digest: previousDigest},
		{Kind: Pack, Live: "was nothing", Proven: true},
		{Kind: Pack, Live: "replaced", Digest: previousDigest, Proven: true},
		{Kind: Pack, Live: "dropped", Digest: previousDigest, Proven: true, Gone: true},
		{Kind: Pack, Live: "yours", Digest: previousDigest, Proven: true, Foreign: true},
		{Kind: Pack, Live: "waits, too", Digest: previousDigest, Gone: true},
	}
	want := []Step{
		{Recycle, ".collet/previous/dropped", "dropped", true}, {Recycle, ".collet/previous/yours", "yours", true},
		{Drop, "m.bak", "", false}, {Drop, ".collet/previous/replaced", "", false},
	}
	if got := Clean(undone); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestHalfOfASwap continues from the middle of a swap, with real names.
func TestHalfOfASwap(t *testing.T) {
	files := []entry{{Kind: Module, Live: "m", Digest: wantedDigest, Old: previousDigest}}
	for name, test := range map[string]struct {
		disk disk
		want []Step
	}{
		"before":                 {disk{"m": 'P', "m-staging": 'W'}, []Step{{Exchange, "m-staging", "m", false}, {Keep, "m-staging", "m.bak", false}}},
		"exchanged":              {disk{"m": 'W', "m-staging": 'P'}, []Step{{Keep, "m-staging", "m.bak", false}}},
		"first of two moves":     {disk{"m.bak": 'P', "m-staging": 'W'}, []Step{{Place, "m-staging", "m", false}}},
		"done":                   {disk{"m": 'W', "m.bak": 'P'}, nil},
		"damaged meanwhile":      {disk{"m": 'O', "m-staging": 'W'}, []Step{{Recycle, "m", "", false}, {Place, "m-staging", "m", false}}},
		"foreign staged file":    {disk{"m": 'W', "m-staging": 'O'}, []Step{{Drop, "m-staging", "", false}}},
		"everything taken away":  {disk{"m": 'P'}, []Step{{Do: Discard, From: "m"}}},
		"staged bytes are wrong": {disk{"m": 'P', "m-staging": 'O'}, []Step{{Do: Discard, From: "m"}}},
		"taken in the middle":    {disk{"m.bak": 'P'}, []Step{{Do: Revert, From: "m"}}},
	} {
		w := swapOptions{exchange: true}
		if got := Next(files, test.disk.look(files, w), Swap, w); !slices.Equal(got, test.want) {
			t.Errorf("%s: %s: got %v, want %v", name, test.disk, got, test.want)
		}
	}
}

// letter is a content; a space stands for a missing file.
func letter(c byte) byte {
	if c == ' ' {
		return 0
	}
	return c
}
