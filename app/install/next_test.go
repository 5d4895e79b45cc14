package install

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"collet/netproto/release"
)

var (
	wantedDigest   = release.FNVDigest(1)
	previousDigest = release.FNVDigest(2)
	backupDigest   = release.FNVDigest(3)
)

// disk is a folder in which a content is one letter: W wanted, P previous, O other, B what an earlier swap put to .bak.
type disk map[string]byte

func (d disk) String() string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(d)) {
		lines = append(lines, fmt.Sprintf("%s=%c", name, d[name]))
	}
	return strings.Join(lines, " ")
}

func (d disk) content(name string) Content {
	switch d[name] {
	case 0:
		return Absent
	case 'W':
		return Wanted
	case 'P':
		return Previous
	default:
		return Other
	}
}

func (d disk) look(j Journal) []Seen {
	seen := make([]Seen, len(j.Files))
	for i, e := range j.Files {
		seen[i] = Seen{Part: d.content(e.part()), Live: d.content(e.Live)}
		if e.Kind != pack {
			seen[i].Staged = d.content(e.staged())
		}
	}
	return seen
}

// change is one thing that a disk does at once.
type change func(disk)

func renaming(from, to string) change {
	return func(d disk) {
		if d[from] == 0 {
			panic("rename of " + from + ", which is not there")
		}
		d[to] = d[from]
		delete(d, from)
	}
}

// changes are what a step does, one after the other.
func (s Step) changes(exchange bool) []change {
	switch s.Do {
	case Place, Move, Try:
		return []change{renaming(s.From, s.To)}
	case Drop:
		return []change{func(d disk) { delete(d, s.From) }}
	case Replace:
		backup := s.To + BackupSuffix
		if !exchange {
			return []change{renaming(s.To, backup), renaming(s.From, s.To)}
		}
		swap := func(d disk) {
			if d[s.From] == 0 || d[s.To] == 0 {
				panic("exchange of what is not there")
			}
			d[s.From], d[s.To] = d[s.To], d[s.From]
		}
		return []change{swap, renaming(s.From, backup)}
	default:
		panic("step " + string(s.Do))
	}
}

// explore runs Next from d to its end, stops after every change of it, and runs on from there, until nothing new turns
// up. check sees every disk, and whether Next has nothing to add to it.
func explore(t *testing.T, j Journal, d disk, goal Goal, exchange bool, check func(d disk, end bool)) {
	t.Helper()
	known := map[string]bool{}
	var visit func(d disk)
	visit = func(d disk) {
		if known[d.String()] {
			return
		}
		known[d.String()] = true
		steps := Next(j, d.look(j), goal)
		if len(steps) > 0 && steps[0].Do == Restart {
			t.Errorf("lost on the way: %s", d)
			return
		}
		check(d, len(steps) == 0)
		d = maps.Clone(d)
		for _, step := range steps {
			for _, c := range step.changes(exchange) {
				c(d)
				visit(d)
			}
		}
		if rest := Next(j, d.look(j), goal); len(rest) > 0 {
			t.Errorf("after all steps %v on %s there are more: %v", steps, d, rest)
		}
	}
	visit(d)
}

// letters are all contents, for the loops below; 0 is absent.
var letters = []byte{0, 'W', 'P', 'O'}

// put is a disk with these contents.
func put(pairs map[string]byte) disk {
	d := disk{}
	for name, content := range pairs {
		if content != 0 {
			d[name] = content
		}
	}
	return d
}

// moduleCase is one combination of everything that Next looks at for a module.
type moduleCase struct {
	part, staged, live, backup byte
	unproven, exchange         bool
}

func (c moduleCase) journal() Journal {
	e := entry{Kind: module, Live: "m", Digest: wantedDigest}
	if c.live == 'P' || c.staged == 'P' {
		e.Old = previousDigest
	}
	j := Journal{State: Prepared, Files: []entry{e}}
	if c.unproven {
		j.Pending = []pendingModule{{Live: "m", Digest: previousDigest, Backup: backupDigest}, {Live: "other"}}
	}
	return j
}

func (c moduleCase) disk() disk {
	return put(map[string]byte{"~m": c.part, "m-staging": c.staged, "m": c.live, "m.bak": c.backup})
}

func (c moduleCase) has(content byte) bool {
	return c.part == content || c.staged == content || c.live == content
}

func moduleCases() (cases []moduleCase) {
	for _, part := range []byte{0, 'W', 'O'} {
		for _, staged := range letters {
			for _, live := range letters {
				for _, backup := range []byte{0, 'B'} {
					for _, unproven := range []bool{false, true} {
						for _, exchange := range []bool{true, false} {
							cases = append(cases, moduleCase{part, staged, live, backup, unproven, exchange})
						}
					}
				}
			}
		}
	}
	return cases
}

// TestSwapOfEveryModule walks every combination through every stop. In words: the wanted bytes are never lost and end
// live; a backup that an unproven module has is not touched; a proven module that was live ends as backup, and is
// somewhere all the time; the live name is never missing where names can be exchanged, and otherwise only while the
// backup holds what was there; nothing stays under a staging name.
func TestSwapOfEveryModule(t *testing.T) {
	restarts := 0
	for _, c := range moduleCases() {
		t.Run(fmt.Sprintf("%q %v", []byte{c.part, c.staged, c.live, c.backup}, []bool{c.unproven, c.exchange}), func(t *testing.T) {
			j, d := c.journal(), c.disk()
			if steps := Next(j, d.look(j), Swap); !c.has('W') {
				if restarts++; len(steps) != 1 || steps[0] != (Step{Do: Restart, From: "m"}) {
					t.Errorf("nothing wanted is there, and the answer is %v", steps)
				}
				return
			}
			provenLive := c.live == 'P' && !c.unproven
			explore(t, j, d, Swap, c.exchange, func(d disk, end bool) {
				if end && (d["m"] != 'W' || d["m-staging"] != 0 || d["~m"] == 'W') {
					t.Errorf("ends with %s", d)
				}
				if c.unproven && d["m.bak"] != c.backup {
					t.Errorf("the last proven module is lost: %s", d)
				}
				if provenLive && d["m"] != 'P' && d["m-staging"] != 'P' && d["m.bak"] != 'P' {
					t.Errorf("the replaced module is lost: %s", d)
				}
				if end && provenLive && d["m.bak"] != 'P' {
					t.Errorf("ends without a backup: %s", d)
				}
				if missing := c.live != 0 && d["m"] == 0; missing && (c.exchange || d["m.bak"] != 'P') {
					t.Errorf("the live name is missing: %s", d)
				}
			})
		})
	}
	if restarts == 0 {
		t.Error("no case without the wanted bytes")
	}
}

// TestStageLeavesWhatIsLive walks every combination to the first goal: a child may have the live module loaded.
func TestStageLeavesWhatIsLive(t *testing.T) {
	for _, c := range moduleCases() {
		if !c.has('W') {
			continue
		}
		j := c.journal()
		explore(t, j, c.disk(), Stage, c.exchange, func(d disk, end bool) {
			if d["m"] != c.live || d["m.bak"] != c.backup {
				t.Errorf("%+v: touched what is live: %s", c, d)
			}
			if end && d["m"] != 'W' && d["m-staging"] != 'W' {
				t.Errorf("%+v: not staged: %s", c, d)
			}
			// Whatever the first goal left, the second one is reached from there.
			explore(t, j, d, Swap, c.exchange, func(d disk, end bool) {
				if end && d["m"] != 'W' {
					t.Errorf("%+v: not swapped: %s", c, d)
				}
			})
		})
	}
}

// TestHalfOfAReplacement goes on from the middle of a swap, named in full because that is what a player's folder holds.
func TestHalfOfAReplacement(t *testing.T) {
	j := Journal{State: Prepared, Files: []entry{{Kind: module, Live: "m", Digest: wantedDigest, Old: previousDigest}}}
	for name, test := range map[string]struct {
		disk disk
		want []Step
	}{
		"before":                 {disk{"m": 'P', "m-staging": 'W'}, []Step{{Replace, "m-staging", "m"}}},
		"exchanged":              {disk{"m": 'W', "m-staging": 'P'}, []Step{{Move, "m-staging", "m.bak"}}},
		"first of two moves":     {disk{"m.bak": 'P', "m-staging": 'W'}, []Step{{Move, "m-staging", "m"}}},
		"done":                   {disk{"m": 'W', "m.bak": 'P'}, nil},
		"from the part":          {disk{"m": 'P', "~m": 'W'}, []Step{{Place, "~m", "m-staging"}, {Replace, "m-staging", "m"}}},
		"damaged meanwhile":      {disk{"m": 'O', "m-staging": 'W', "m.bak": 'B'}, []Step{{Move, "m-staging", "m"}}},
		"foreign staged file":    {disk{"m": 'W', "m-staging": 'O'}, []Step{{Do: Drop, From: "m-staging"}}},
		"live although a part":   {disk{"m": 'W', "~m": 'W', "m-staging": 'P'}, []Step{{Do: Drop, From: "~m"}, {Move, "m-staging", "m.bak"}}},
		"everything taken away":  {disk{"m": 'P', "m.bak": 'B'}, []Step{{Do: Restart, From: "m"}}},
		"staged bytes are wrong": {disk{"m": 'P', "m-staging": 'O'}, []Step{{Do: Restart, From: "m"}}},
	} {
		if got := Next(j, test.disk.look(j), Swap); !slices.Equal(got, test.want) {
			t.Errorf("%s: %s: got %v, want %v", name, test.disk, got, test.want)
		}
	}
}

// TestPacksAndCompanions walks every combination of one file of these kinds, to both goals.
func TestPacksAndCompanions(t *testing.T) {
	three := []byte{0, 'W', 'O'}
	for _, k := range []kind{pack, companion} {
		for _, part := range three {
			for _, staged := range three {
				for _, live := range three {
					e := entry{Kind: k, Live: "d/f", Digest: wantedDigest}
					j := Journal{State: Prepared, Files: []entry{e}}
					d := put(map[string]byte{"d/~f": part, "d/f-staging": staged, "d/f": live})
					there := part == 'W' || live == 'W' || (k == companion && staged == 'W')
					if k == pack && !there {
						if steps := Next(j, d.look(j), Stage); len(steps) != 1 || steps[0].Do != Restart {
							t.Errorf("%s: %v", d, steps)
						}
						continue
					}
					for _, goal := range []Goal{Stage, Swap} {
						explore(t, j, d, goal, true, func(now disk, end bool) {
							if k == pack && now["d/f-staging"] != staged {
								t.Errorf("%s: a pack has no staging name: %s", d, now)
							}
							if live != 0 && now["d/f"] == 0 {
								t.Errorf("%s: live went missing: %s", d, now)
							}
							if k == companion && goal == Stage && now["d/f"] != live {
								t.Errorf("%s: live before the swap: %s", d, now)
							}
							if end && there && (k == pack || goal == Swap) && now["d/f"] != 'W' {
								t.Errorf("%s: ends with %s", d, now)
							}
						})
					}
				}
			}
		}
	}
}

// TestOrderOfSteps combines all kinds: parts leave their names first, then modules are swapped, companions come last.
func TestOrderOfSteps(t *testing.T) {
	rank := map[Verb]int{Place: 0, Replace: 1, Move: 1, Drop: 1, Try: 2}
	for _, c := range moduleCases() {
		if !c.has('W') {
			continue
		}
		for _, symbols := range []byte{0, 'W'} {
			j := c.journal()
			j.Files = append([]entry{{Kind: companion, Live: "m.pdb", Digest: wantedDigest}}, j.Files...)
			j.Files = append(j.Files, entry{Kind: pack, Live: "d/p", Digest: wantedDigest})
			d := c.disk()
			maps.Copy(d, put(map[string]byte{"~m.pdb": symbols, "d/~p": 'W', "d/p": 'O'}))
			steps := Next(j, d.look(j), Swap)
			if !slices.IsSortedFunc(steps, func(a, b Step) int { return rank[a.Do] - rank[b.Do] }) {
				t.Errorf("%s: %v", d, steps)
			}
			explore(t, j, d, Swap, c.exchange, func(d disk, end bool) {
				if end && (d["m"] != 'W' || d["d/p"] != 'W' || d["m.pdb"] != symbols) {
					t.Errorf("ends with %s", d)
				}
			})
		}
	}
}

// TestNextIsForPreparedOnly gives no step in any other state, nor for a look at other files.
func TestNextIsForPreparedOnly(t *testing.T) {
	c := moduleCase{staged: 'W', live: 'P'}
	j := c.journal()
	seen := c.disk().look(j)
	for _, state := range []State{None, Staging, Swapped, Confirmed, RolledBack, "future"} {
		other := j
		other.State = state
		steps, possible := Withdraw(other, seen)
		if got := Next(other, seen, Swap); got != nil || steps != nil || possible {
			t.Errorf("%q: %v, %v", state, got, steps)
		}
	}
	for _, wrong := range [][]Seen{nil, append(seen, seen...)} {
		steps, possible := Withdraw(j, wrong)
		if got := Next(j, wrong, Swap); got != nil || steps != nil || possible {
			t.Errorf("%d files: %v, %v", len(wrong), got, steps)
		}
	}
}

// TestWithdrawEveryModule walks every combination: what is live and the backup stay, complete bytes become a part, and
// wherever it stops the module can still go forward. Once a swap has begun there is no way back.
func TestWithdrawEveryModule(t *testing.T) {
	for _, c := range moduleCases() {
		if !c.has('W') {
			continue
		}
		j, d := c.journal(), c.disk()
		steps, possible := Withdraw(j, d.look(j))
		firstInstall := c.live == 0 && j.Files[0].Old.IsZero()
		if want := c.live == 'P' || firstInstall; possible != want {
			t.Errorf("%s: possible %v", d, possible)
		}
		if !possible {
			if steps != nil {
				t.Errorf("%s: impossible, and yet %v", d, steps)
			}
			continue
		}
		for _, step := range steps {
			explore(t, j, d, Swap, c.exchange, func(d disk, end bool) {
				if end && d["m"] != 'W' {
					t.Errorf("%+v: can't go forward: %s", c, d)
				}
			})
			for _, change := range step.changes(c.exchange) {
				change(d)
			}
		}
		if d["m"] != c.live || d["m.bak"] != c.backup || d["~m"] != 'W' || d["m-staging"] == 'W' {
			t.Errorf("%+v: withdrawn to %s", c, d)
		}
	}
}

// TestWithdrawTakesCompanionsAlong and leaves packs alone.
func TestWithdrawTakesCompanionsAlong(t *testing.T) {
	j := Journal{State: Prepared, Files: []entry{
		{Kind: pack, Live: "p"}, {Kind: companion, Live: "m.pdb"}, {Kind: module, Live: "m", Old: previousDigest}, {Kind: companion, Live: "n.pdb"},
	}}
	d := disk{"p": 'W', "m.pdb-staging": 'W', "m.pdb": 'O', "m-staging": 'W', "m": 'P', "n.pdb-staging": 'O'}
	steps, possible := Withdraw(j, d.look(j))
	want := []Step{{Move, "m.pdb-staging", "~m.pdb"}, {Move, "m-staging", "~m"}}
	if !possible || !slices.Equal(steps, want) {
		t.Errorf("%v %v", steps, possible)
	}
}

func TestRestore(t *testing.T) {
	want := []Step{{Move, "m.bak", "m"}}
	for _, live := range []bool{false, true} {
		for _, backup := range []bool{false, true} {
			got := Restore("m", live, backup)
			if needed := !live && backup; needed != slices.Equal(got, want) || !needed && got != nil {
				t.Errorf("live %v, backup %v: %v", live, backup, got)
			}
		}
	}
}

func TestPendingAfter(t *testing.T) {
	other := pendingModule{Live: "other", Digest: release.FNVDigest(9)}
	files := []entry{{Kind: pack, Live: "p"}, {Kind: module, Live: "m", Digest: wantedDigest, Old: previousDigest}, {Kind: companion, Live: "m.pdb"}}
	for name, test := range map[string]struct {
		files        []entry
		before, want []pendingModule
	}{
		"no module":       {files[:1], []pendingModule{other}, []pendingModule{other}},
		"first swap":      {files, nil, []pendingModule{{Live: "m", Digest: wantedDigest, Backup: previousDigest}}},
		"of another host": {files, []pendingModule{other}, []pendingModule{other, {Live: "m", Digest: wantedDigest, Backup: previousDigest}}},
		"over an unproven": {files, []pendingModule{{Live: "m", Digest: previousDigest, Backup: backupDigest}, other},
			[]pendingModule{other, {Live: "m", Digest: wantedDigest, Backup: backupDigest}}},
		"over a proven one": {files, []pendingModule{{Live: "m", Digest: previousDigest, Backup: backupDigest, Proven: true}},
			[]pendingModule{{Live: "m", Digest: wantedDigest, Backup: previousDigest}}},
		"over an unproven without a backup": {files, []pendingModule{{Live: "m", Digest: previousDigest}},
			[]pendingModule{{Live: "m", Digest: wantedDigest}}},
	} {
		j := Journal{State: Prepared, Files: test.files, Pending: slices.Clone(test.before)}
		if got := j.pendingAfter(); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v", name, got)
		}
		if !slices.Equal(j.Pending, test.before) {
			t.Errorf("%s: changed the journal: %v", name, j.Pending)
		}
	}
}
