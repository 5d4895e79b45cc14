package install

import "slices"

// Content is what a name holds, as far as the journal gives it a meaning.
type Content uint8

const (
	Absent   Content = 0
	Wanted   Content = 1 // exactly what the transaction means it to become
	Previous Content = 2 // exactly what was live when the transaction began
	Other    Content = 3 // anything else
	Folder   Content = 4 // a folder stands there
)

// Seen is what is on disk for one file of the transaction. Staged is Absent for packs.
type Seen struct {
	Part, Staged, Live, Backup Content
}

// Goal says how far a transaction may go now.
type Goal uint8

const (
	// Stage brings modules to their staging name. It is allowed while the old module runs.
	Stage Goal = 1
	// Swap makes the whole set live. It needs that nothing uses the old one.
	Swap Goal = 2
)

// Step is one change of names. Neighbours that do the same are one batch: they are about different files, may reach the
// disk in any order, and are synced together before the next batch begins. After a stop anywhere, Next tells from what is
// then on disk what is still to do.
type Step struct {
	Do   Verb
	From string
	To   string
	Try  bool // failing is only worth a log line
}

// Verb is what a Step does.
type Verb string

const (
	Place    Verb = "place"    // rename From over To
	Exchange Verb = "exchange" // From and To swap their names
	Keep     Verb = "keep"     // rename From to To, in the folder of backups
	Recycle  Verb = "recycle"  // move From into the recycler
	Clear    Verb = "clear"    // remove the folder From, in which nothing but empty folders is left
	Drop     Verb = "drop"     // remove From if it is there
	Restart  Verb = "restart"  // what PREPARED promised of From is gone, and nothing is live yet: fetch again
	Revert   Verb = "revert"   // what PREPARED promised of From is gone, and some of the set is live: go back
)

// ways is what a file system and the journal offer for a swap.
type ways struct {
	exchange bool            // two names can be exchanged in one step
	inherits map[string]bool // live names whose backup already holds the last proven file: what is live now is not kept
}

// Next says what leads on from PREPARED. It is pure and total. An empty answer means that the goal is reached; Restart and
// Revert stand alone. seen has one element for each file.
//
// The order matters for a stop in between: modules and companions reach their staging names before any swap, a name is
// free before another file takes it, and a backup is not overwritten while it holds what the last proven set had.
func Next(files []entry, seen []Seen, goal Goal, w ways) []Step {
	if name, lost := lost(files, seen); lost {
		return []Step{{Do: onLoss(files, seen), From: name}}
	}
	var stage, steps batches
	for i, e := range files {
		if e.Kind != pack && seen[i].Part == Wanted && seen[i].Live != Wanted {
			stage.add(Step{Place, e.part(), e.staged(), e.Kind == companion})
		}
		steps.file(e, seen[i], w)
	}
	if goal < Swap {
		return stage.all()
	}
	return append(stage.all(), steps.all()...)
}

// lost finds a file whose promised bytes are nowhere. Companions are best effort and never lost.
func lost(files []entry, seen []Seen) (name string, lost bool) {
	for i, e := range files {
		s := seen[i]
		if !e.gone() && e.Kind != companion && s.Part != Wanted && s.Staged != Wanted && s.Live != Wanted {
			return e.Live, true
		}
	}
	return "", false
}

// onLoss is what can be done about lost bytes.
func onLoss(files []entry, seen []Seen) Verb {
	if touched(files, seen) {
		return Revert
	}
	return Restart
}

// touched reports whether a swap has begun: some live name no longer has what it had.
func touched(files []entry, seen []Seen) bool {
	for i, e := range files {
		live := seen[i].Live
		switch {
		case e.gone() && live == Absent, !e.gone() && live == Wanted, !e.Old.IsZero() && live == Absent:
			return true
		}
	}
	return false
}

// batches collects steps by what they do, so that ten thousand files cost a few syncs of their folders.
type batches struct {
	recycle, first, exchange, clear, place, keep, drop []Step
}

func (b *batches) all() []Step {
	return slices.Concat(b.recycle, b.first, b.exchange, b.clear, b.place, b.keep, b.drop)
}

// add puts a step into its batch.
func (b *batches) add(s Step) {
	batch := map[Verb]*[]Step{
		Recycle: &b.recycle, Exchange: &b.exchange, Clear: &b.clear, Place: &b.place, Keep: &b.keep, Drop: &b.drop,
	}[s.Do]
	*batch = append(*batch, s)
}

// aside keeps a file before anything takes its name.
func (b *batches) aside(s Step) { b.first = append(b.first, s) }

// file brings one file of the set to its live name, and what it replaces to its backup.
func (b *batches) file(e entry, s Seen, w ways) {
	switch {
	case e.gone():
		b.remove(e, s, w)
	case s.Live == Wanted:
		b.finish(e, s, w)
	case e.Kind == companion && s.Part != Wanted && s.Staged != Wanted:
		return
	default:
		b.replace(e, s, w)
	}
}

// remove takes a file away that the release has no more. What is not the file that we know is somebody else's.
func (b *batches) remove(e entry, s Seen, w ways) {
	switch {
	case s.Live != Previous:
		return
	case w.inherits[e.Live]: // at once, because its name may be needed: by a folder, or by a file where its folder was
		b.aside(Step{Drop, e.Live, "", e.Kind == companion})
	default:
		b.spare(e, s)
		b.aside(Step{Keep, e.Live, e.backup(), e.Kind == companion})
	}
}

// spare moves away what stands where a backup goes: nothing says whose it is.
func (b *batches) spare(e entry, s Seen) {
	if s.Backup == Other {
		b.add(Step{Recycle, e.backup(), "", e.Kind == companion})
	}
}

// replace makes a new file live:
//
//	live previous              exchange with it, then keep the old one; or keep it first where names can't be exchanged
//	live previous, inherited   place over it: it never proved itself
//	live anything else         place over it if the set has this very file, else recycle it first
//	live a folder              clear it: its files are gone by then
//	live absent                place
func (b *batches) replace(e entry, s Seen, w ways) {
	from, try := e.ready(), e.Kind == companion
	switch {
	case s.Live == Previous && !w.inherits[e.Live]:
		b.spare(e, s)
		if w.exchange {
			b.add(Step{Exchange, from, e.Live, try})
			b.add(Step{Keep, from, e.backup(), try})
			return
		}
		b.aside(Step{Keep, e.Live, e.backup(), try})
	case s.Live == Other && !e.Repair:
		b.add(Step{Recycle, e.Live, "", try})
	case s.Live == Folder:
		b.add(Step{Clear, e.Live, "", try})
	}
	b.add(Step{Place, from, e.Live, try})
}

// finish clears up behind a file that is live already.
func (b *batches) finish(e entry, s Seen, w ways) {
	try := e.Kind == companion
	at := s.Part
	if e.Kind != pack {
		at = s.Staged
		if s.Part == Wanted {
			b.add(Step{Drop, e.part(), "", try})
		}
	}
	switch {
	case at == Previous && !w.inherits[e.Live] && !e.Repair:
		b.spare(e, s)
		b.add(Step{Keep, e.ready(), e.backup(), try})
	case at != Absent:
		b.add(Step{Drop, e.ready(), "", try})
	}
}

// Found says how to keep what an exchange left where the new file waited: a way back that begins before the swap came to it
// needs it among the backups.
func Found(files []entry, seen []Seen, w ways) []Step {
	var b batches
	for i, e := range files {
		s := seen[i]
		at := s.Part
		if e.Kind != pack {
			at = s.Staged
		}
		if !e.gone() && !e.Repair && at == Previous && s.Backup != Previous && !w.inherits[e.Live] {
			b.spare(e, s)
			b.add(Step{Keep, e.ready(), e.backup(), e.Kind == companion})
		}
	}
	return b.all()
}

// Withdraw says how to take a prepared set back, so that another offer can be looked at: complete files become parts
// again. possible is false when a swap has begun; then only Next leads on.
func Withdraw(files []entry, seen []Seen) (steps []Step, possible bool) {
	if touched(files, seen) {
		return nil, false
	}
	for i, e := range files {
		if e.Kind != pack && seen[i].Staged == Wanted {
			steps = append(steps, Step{Place, e.staged(), e.part(), false})
		}
	}
	return steps, true
}

// Undo says how to bring back what the last proven set had. now is what the set has under each name, with the zero digest
// where it has nothing; what is taken back becomes a part again, aside. lost names a file whose backup is gone: then
// nothing may be done. seen tells for each name what it holds, where Wanted is the set's file and Previous the one that
// comes back.
func Undo(back []undo, now []entry, seen []Seen, w ways) (steps []Step, lost string) {
	var b, last batches
	for i, u := range back {
		s, e := seen[i], now[i]
		if s.Live != Previous && !u.Digest.IsZero() && s.Backup != Previous && u.Kind != companion {
			return nil, u.Live
		}
		b.undo(&last, u, e, s, w)
	}
	return append(b.all(), last.all()...), ""
}

// undo is the way back of one file. What needs a free name comes last.
func (b *batches) undo(last *batches, u undo, now entry, s Seen, w ways) {
	now.Aside = true
	backup, try := u.entry().backup(), u.Kind == companion
	switch {
	case s.Live == Previous && s.Backup == Wanted: // stopped behind an exchange
		b.add(Step{Keep, backup, now.part(), try})
		return
	case s.Live == Previous:
		switch s.Backup {
		case Previous:
			b.add(Step{Drop, backup, "", try})
		case Other:
			b.add(Step{Recycle, backup, "", try})
		}
		return
	case s.Live == Wanted && s.Backup == Previous && w.exchange:
		b.add(Step{Exchange, backup, u.Live, try})
		b.add(Step{Keep, backup, now.part(), try})
		return
	case s.Live == Wanted:
		b.add(Step{Keep, u.Live, now.part(), try})
	case s.Live == Other:
		b.add(Step{Recycle, u.Live, "", try})
	case s.Live == Folder && !u.Digest.IsZero():
		last.add(Step{Clear, u.Live, "", try})
	}
	if s.Backup == Previous {
		last.add(Step{Place, backup, u.Live, try})
	}
}

// Clean says how the backups of what has proven itself go: those of files that the release has no more, and those that
// somebody else made, are only moved.
func Clean(undone []undo) (steps []Step) {
	var b batches
	for _, u := range undone {
		switch {
		case !u.Proven || u.Digest.IsZero():
		case u.Gone || u.Foreign:
			b.add(Step{Recycle, u.entry().backup(), u.Live, true})
		default:
			b.add(Step{Do: Drop, From: u.entry().backup()})
		}
	}
	return b.all()
}
