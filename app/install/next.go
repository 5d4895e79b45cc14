package install

// Content is what a name holds, as far as the journal gives it a meaning.
type Content uint8

const (
	Absent   Content = 0
	Wanted   Content = 1 // exactly what the transaction means it to become
	Previous Content = 2 // exactly what was live when the transaction began (modules only)
	Other    Content = 3 // anything else
)

// Seen is what is on disk for one file of the transaction.
type Seen struct {
	Part, Staged, Live Content
}

// Goal says how far a transaction may go now.
type Goal uint8

const (
	// Stage brings modules to their staging name and packs live. It is allowed while the old module runs.
	Stage Goal = 1
	// Swap also makes staged modules live. It needs that no child has the module loaded.
	Swap Goal = 2
)

// Step is one change of names. Steps are done in order; after a stop anywhere, Next tells from what is then on disk what
// is still to do.
type Step struct {
	Do   Verb
	From string
	To   string
}

// Verb is what a Step does.
type Verb string

const (
	Place   Verb = "place"   // rename a part over To; the folders are synced once, before any other kind of step
	Move    Verb = "move"    // rename From over To and sync the folder
	Replace Verb = "replace" // From becomes To and To becomes To.bak: an exchange and a move, or two moves where the system can't exchange
	Try     Verb = "try"     // Move, but failing is only worth a log line
	Drop    Verb = "drop"    // remove From if it is there, and sync the folder
	Restart Verb = "restart" // what PREPARED promised of From is gone: fetch again
)

// Next says what leads on from PREPARED. It is pure and total. An empty answer means that the goal is reached, or that
// there is nothing to reach; Restart stands alone.
//
// The order matters for a stop in between: all modules and companions reach their staging names before any swap, packs
// become live one by one (only forward), and a backup is not overwritten while it holds the last proven module.
func Next(j Journal, seen []Seen, goal Goal) []Step {
	if j.State != Prepared || len(seen) != len(j.Files) {
		return nil
	}
	if name, lost := lost(j, seen); lost {
		return []Step{{Do: Restart, From: name}}
	}
	var steps []Step
	for i, e := range j.Files {
		if seen[i].Part == Wanted && !(e.Kind == module && seen[i].Live == Wanted) {
			steps = append(steps, Step{Place, e.part(), e.target()})
		}
	}
	if goal < Swap {
		return steps
	}
	for i, e := range j.Files {
		if e.Kind == module {
			steps = append(steps, swapSteps(e, seen[i], j.unproven(e.Live))...)
		}
	}
	for i, e := range j.Files {
		if e.Kind == companion && (seen[i].Part == Wanted || seen[i].Staged == Wanted) {
			steps = append(steps, Step{Try, e.staged(), e.Live})
		}
	}
	return steps
}

// lost finds a file whose promised bytes are nowhere. Companions are best effort and never lost.
func lost(j Journal, seen []Seen) (name string, lost bool) {
	for i, e := range j.Files {
		s := seen[i]
		there := s.Part == Wanted || s.Live == Wanted || (e.Kind != pack && s.Staged == Wanted)
		if !there && e.Kind != companion {
			return e.Live, true
		}
	}
	return "", false
}

// swapSteps brings one module to its live name, and what it replaces to .bak. What never proved itself is not worth a
// backup: it is overwritten, and .bak keeps what it has.
//
//	live previous              replace: staged ⇄ live, the old one to .bak
//	live previous, unproven    move staged → live
//	live absent                move staged → live            (first install; or stopped between two moves)
//	live anything else         move staged → live            (damaged)
//	live wanted                staged previous → .bak        (stopped inside of a replacement), else drop it
func swapSteps(e entry, s Seen, unproven bool) []Step {
	if s.Live == Previous && !unproven {
		return []Step{{Replace, e.staged(), e.Live}}
	}
	if s.Live != Wanted {
		return []Step{{Move, e.staged(), e.Live}}
	}
	var steps []Step
	if s.Part == Wanted {
		steps = append(steps, Step{Do: Drop, From: e.part()})
	}
	switch {
	case s.Staged == Previous && !unproven:
		steps = append(steps, Step{Move, e.staged(), e.backup()})
	case s.Staged != Absent:
		steps = append(steps, Step{Do: Drop, From: e.staged()})
	}
	return steps
}

// Withdraw says how to take a prepared module back, so that another offer can be looked at: complete files become parts
// again. possible is false when a swap has begun; then only Next leads on.
func Withdraw(j Journal, seen []Seen) (steps []Step, possible bool) {
	if j.State != Prepared || len(seen) != len(j.Files) {
		return nil, false
	}
	for i, e := range j.Files {
		untouched := seen[i].Live == Previous || (seen[i].Live == Absent && e.Old.IsZero())
		if e.Kind == module && !untouched {
			return nil, false
		}
		if e.Kind != pack && seen[i].Staged == Wanted {
			steps = append(steps, Step{Move, e.staged(), e.part()})
		}
	}
	return steps, true
}

// Restore says how to bring back a module whose live name is missing, which no step of ours leaves behind except the
// first of two moves where a system can't exchange.
func Restore(live string, liveThere, backupThere bool) []Step {
	if !liveThere && backupThere {
		return []Step{{Move, live + BackupSuffix, live}}
	}
	return nil
}

// pendingAfter is what waits for its proof once the transaction is swapped. A module that replaces one which never proved
// itself inherits its backup.
func (j *Journal) pendingAfter() []pendingModule {
	after := *j
	for _, e := range j.Files {
		if e.Kind != module {
			continue
		}
		next := pendingModule{Live: e.Live, Digest: e.Digest, Backup: e.Old}
		if old, _ := j.pending(e.Live); j.unproven(e.Live) {
			next.Backup = old.Backup
		}
		after.Pending = append(after.pendingWithout(e.Live), next)
	}
	return after.Pending
}
