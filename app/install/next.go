package install

import "slices"

// Content classifies what a name holds, relative to the journal.
type Content uint8

const (
	Absent   Content = 0
	Wanted   Content = 1 // exactly the file that the transaction installs
	Previous Content = 2 // exactly the file that was live when the transaction began
	Other    Content = 3 // anything else
	Folder   Content = 4 // the name is a folder
)

// Seen is the state on disk of one file of the transaction. Staged is Absent for packs.
type Seen struct {
	Part, Staged, Live, Backup Content
}

// Goal is how far a transaction may go now.
type Goal uint8

const (
	// BeforeSwap gives modules their staging names. It is allowed while the old module runs.
	BeforeSwap Goal = 1
	// Swap makes the whole set live. It requires that no process uses the old one.
	Swap Goal = 2
)

// Step is one change of names. Consecutive steps with the same verb form a batch. They concern different files, may reach
// the disk in any order, and are synced together before the next batch begins. After a stop anywhere, Next derives the
// remaining steps from the disk.
type Step struct {
	Do         Verb
	From       string
	To         string
	BestEffort bool // a failure is only logged
}

// Verb is the operation of a Step.
type Verb string

const (
	Place    Verb = "place"    // rename From over To
	Exchange Verb = "exchange" // exchange the names From and To
	Keep     Verb = "keep"     // rename From to To, in the folder of backups
	Recycle  Verb = "recycle"  // move From into the recycler
	Clear    Verb = "clear"    // remove the folder From, which contains only empty folders
	Drop     Verb = "drop"     // remove From if it exists
	Discard  Verb = "discard"  // the prepared bytes of From are lost, and no file of the set is live yet: discard the transaction and fetch again
	Revert   Verb = "revert"   // the prepared bytes of From are lost, and some files of the set are live: roll back
)

// swapOptions describes what the file system and the journal allow for a swap.
type swapOptions struct {
	exchange bool            // two names can be exchanged atomically
	backedUp map[string]bool // live names whose backup already holds the last proven file: the live file is not kept
}

// Next returns the remaining steps of a PREPARED transaction. It is pure and total. No steps mean that the goal is reached.
// Discard and Revert are always the only step. seen has one element for each file.
//
// The order makes a stop between steps safe. Modules and companions reach their staging names before any swap. A name is
// free before another file takes it. A backup is not overwritten while it holds a file of the last proven set.
func Next(files []entry, seen []Seen, goal Goal, w swapOptions) []Step {
	if name, lost := findLost(files, seen); lost {
		return []Step{{Do: onLoss(files, seen), From: name}}
	}
	var before, steps batches
	for i, e := range files {
		if e.Kind != Pack && seen[i].Part == Wanted && seen[i].Live != Wanted {
			before.addStep(Step{Place, e.part(), e.staged(), e.Kind == Companion})
		}
		steps.addFile(e, seen[i], w)
	}
	if goal < Swap {
		return before.steps()
	}
	return append(before.steps(), steps.steps()...)
}

// findLost finds a file whose prepared bytes are in none of its places. Companions are best effort and never lost.
func findLost(files []entry, seen []Seen) (name string, lost bool) {
	for i, e := range files {
		s := seen[i]
		if !e.gone() && e.Kind != Companion && s.Part != Wanted && s.Staged != Wanted && s.Live != Wanted {
			return e.Live, true
		}
	}
	return "", false
}

// onLoss is the step for lost bytes: Revert after the swap has begun, otherwise Discard.
func onLoss(files []entry, seen []Seen) Verb {
	if swapBegun(files, seen) {
		return Revert
	}
	return Discard
}

// swapBegun reports whether a swap has begun: at least one live name has changed.
func swapBegun(files []entry, seen []Seen) bool {
	for i, e := range files {
		live := seen[i].Live
		switch {
		case e.gone() && live == Absent, !e.gone() && live == Wanted, !e.Old.IsZero() && live == Absent:
			return true
		}
	}
	return false
}

// batches groups steps by verb, so that ten thousand files need only a few syncs of their folders.
type batches struct {
	recycle, first, exchange, clear, place, keep, drop []Step
}

func (b *batches) steps() []Step {
	return slices.Concat(b.recycle, b.first, b.exchange, b.clear, b.place, b.keep, b.drop)
}

// addStep puts a step into its batch.
func (b *batches) addStep(s Step) {
	batch := map[Verb]*[]Step{
		Recycle: &b.recycle, Exchange: &b.exchange, Clear: &b.clear, Place: &b.place, Keep: &b.keep, Drop: &b.drop,
	}[s.Do]
	*batch = append(*batch, s)
}

// addFirst adds a step that moves a file away before another one takes its name.
func (b *batches) addFirst(s Step) { b.first = append(b.first, s) }

// addFile adds the steps that make one file of the set live and back up the file it replaces.
func (b *batches) addFile(e entry, s Seen, w swapOptions) {
	switch {
	case e.gone():
		b.removeFile(e, s, w)
	case s.Live == Wanted:
		b.finishFile(e, s, w)
	case e.Kind == Companion && s.Part != Wanted && s.Staged != Wanted:
		return
	default:
		b.replaceFile(e, s, w)
	}
}

// removeFile adds the steps for a file that the release has dropped. It leaves a file with other content in place: it is the
// player's.
func (b *batches) removeFile(e entry, s Seen, w swapOptions) {
	switch {
	case s.Live != Previous:
		return
	case w.backedUp[e.Live]: // in the first batch: a folder, or a file in place of the folder, may need the name
		b.addFirst(Step{Drop, e.Live, "", e.Kind == Companion})
	default:
		b.recycleBackup(e, s)
		b.addFirst(Step{Keep, e.Live, e.backup(), e.Kind == Companion})
	}
}

// recycleBackup recycles a file of unknown origin that occupies the name of the backup.
func (b *batches) recycleBackup(e entry, s Seen) {
	if s.Backup == Other {
		b.addStep(Step{Recycle, e.backup(), "", e.Kind == Companion})
	}
}

// replaceFile adds the steps that make a new file live:
//
//	live previous              exchange with it, then keep the old one; or keep it first where names can't be exchanged
//	live previous, backed up   place over it: it is unproven
//	live anything else         place over it if it is a damaged copy of the same file, else recycle it first
//	live a folder              clear it: its files are gone by then
//	live absent                place
func (b *batches) replaceFile(e entry, s Seen, w swapOptions) {
	from, bestEffort := e.ready(), e.Kind == Companion
	switch {
	case s.Live == Previous && !w.backedUp[e.Live]:
		b.recycleBackup(e, s)
		if w.exchange {
			b.addStep(Step{Exchange, from, e.Live, bestEffort})
			b.addStep(Step{Keep, from, e.backup(), bestEffort})
			return
		}
		b.addFirst(Step{Keep, e.Live, e.backup(), bestEffort})
	case s.Live == Other && !e.Repair:
		b.addStep(Step{Recycle, e.Live, "", bestEffort})
	case s.Live == Folder:
		b.addStep(Step{Clear, e.Live, "", bestEffort})
	}
	b.addStep(Step{Place, from, e.Live, bestEffort})
}

// finishFile adds the steps that clean up after a file that is already live.
func (b *batches) finishFile(e entry, s Seen, w swapOptions) {
	bestEffort := e.Kind == Companion
	at := s.Part
	if e.Kind != Pack {
		at = s.Staged
		if s.Part == Wanted {
			b.addStep(Step{Drop, e.part(), "", bestEffort})
		}
	}
	switch {
	case at == Previous && !w.backedUp[e.Live] && !e.Repair:
		b.recycleBackup(e, s)
		b.addStep(Step{Keep, e.ready(), e.backup(), bestEffort})
	case at != Absent:
		b.addStep(Step{Drop, e.ready(), "", bestEffort})
	}
}

// KeepReplaced returns the steps that move the files left by exchanges to the backups. A rollback that starts before the swap has
// done so needs them there.
func KeepReplaced(files []entry, seen []Seen, w swapOptions) []Step {
	var b batches
	for i, e := range files {
		s := seen[i]
		at := s.Part
		if e.Kind != Pack {
			at = s.Staged
		}
		if !e.gone() && !e.Repair && at == Previous && s.Backup != Previous && !w.backedUp[e.Live] {
			b.recycleBackup(e, s)
			b.addStep(Step{Keep, e.ready(), e.backup(), e.Kind == Companion})
		}
	}
	return b.steps()
}

// Withdraw returns the steps that withdraw a prepared set, so that another offer can be planned: complete files become
// parts again. possible is false when a swap has begun; then only Next applies.
func Withdraw(files []entry, seen []Seen) (steps []Step, possible bool) {
	if swapBegun(files, seen) {
		return nil, false
	}
	for i, e := range files {
		if e.Kind != Pack && seen[i].Staged == Wanted {
			steps = append(steps, Step{Place, e.staged(), e.part(), false})
		}
	}
	return steps, true
}

// Undo returns the steps that restore the last proven set. now is the set's file under each name, with the zero digest if
// it has none; these files become parts again, in their aside place. lost names a file whose backup is missing; then there
// are no steps. In seen, Wanted is the set's file and Previous is the file to restore.
func Undo(back []undo, now []entry, seen []Seen, w swapOptions) (steps []Step, lost string) {
	var b, last batches
	for i, u := range back {
		s, e := seen[i], now[i]
		if s.Live != Previous && !u.Digest.IsZero() && s.Backup != Previous && u.Kind != Companion {
			return nil, u.Live
		}
		b.undoFile(&last, u, e, s, w)
	}
	return append(b.steps(), last.steps()...), ""
}

// undoFile adds the steps that restore one file. Steps that need a free name come last.
func (b *batches) undoFile(last *batches, u undo, now entry, s Seen, w swapOptions) {
	now.Aside = true
	backup, bestEffort := u.entry().backup(), u.Kind == Companion
	switch {
	case s.Live == Previous && s.Backup == Wanted: // stopped after an exchange
		b.addStep(Step{Keep, backup, now.part(), bestEffort})
		return
	case s.Live == Previous:
		switch s.Backup {
		case Previous:
			b.addStep(Step{Drop, backup, "", bestEffort})
		case Other:
			b.addStep(Step{Recycle, backup, "", bestEffort})
		}
		return
	case s.Live == Wanted && s.Backup == Previous && w.exchange:
		b.addStep(Step{Exchange, backup, u.Live, bestEffort})
		b.addStep(Step{Keep, backup, now.part(), bestEffort})
		return
	case s.Live == Wanted:
		b.addStep(Step{Keep, u.Live, now.part(), bestEffort})
	case s.Live == Other:
		b.addStep(Step{Recycle, u.Live, "", bestEffort})
	case s.Live == Folder && !u.Digest.IsZero():
		last.addStep(Step{Clear, u.Live, "", bestEffort})
	}
	if s.Backup == Previous {
		last.addStep(Step{Place, backup, u.Live, bestEffort})
	}
}

// Clean returns the steps that remove the backups of proven changes. Backups of files that the release has dropped, and of
// files that did not come from a release, are moved to the recycler.
func Clean(undone []undo) (steps []Step) {
	var b batches
	for _, u := range undone {
		switch {
		case !u.Proven || u.Digest.IsZero():
		case u.Gone || u.Foreign:
			b.addStep(Step{Recycle, u.entry().backup(), u.Live, true})
		default:
			b.addStep(Step{Do: Drop, From: u.entry().backup()})
		}
	}
	return b.steps()
}
