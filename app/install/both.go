package install

import (
	"context"
	"errors"
	"slices"

	"collet/app/update"
	"collet/netproto/delta"
	"collet/netproto/release"
)

// Both is an install together with that of the program itself, as one update sees them: what comes for either comes in one
// transfer. It is an update.Stage, and what an acquire.Source asks of a disk. What goes wrong with the program is told in the log
// and never keeps the set from being updated; only while its bytes are on their way may it end an update, and then Wanted tells
// that another one without it is worth it.
type Both struct {
	*Dir          // the set; its Names never match the program
	program *Dir  // nothing of it is taken where it is not asked to Plan
	split   int   // wants below are the set's, the others the program's
	wanted  bool  // the last plan wants something for the program
	ready   bool  // what it wanted is complete
	given   error // why the last plan left the program out; nil: it did not
}

// WithProgram puts an install and that of the program together. Both stay the caller's.
func WithProgram(set, program *Dir) *Both { return &Both{Dir: set, program: program} }

var _ update.Stage = (*Both)(nil)

// Wanted reports whether the last Plan wanted something for the program.
func (b *Both) Wanted() bool { return b.wanted }

// Waiting is Dir.Waiting of the program, where it is what the last update offered.
func (b *Both) Waiting() string {
	if !b.ready {
		return ""
	}
	return b.program.Waiting()
}

// Renewable reports whether a Plan would take the program from an offer that has it, as far as is known.
func (b *Both) Renewable() bool { return b.given == nil }

// offered are the files of an offer that are the program's.
func (b *Both) offered(offer []release.File) []release.File {
	return slices.DeleteFunc(slices.Clone(offer), func(f release.File) bool { return !b.program.Concerns(f) })
}

// Plan implements update.Stage. An offer of the program alone leaves the set as it is.
func (b *Both) Plan(ctx context.Context, mode update.Mode, offer []release.File, progress func(file string, done, size int64)) (update.Plan, error) {
	program := b.offered(offer)
	b.split, b.wanted, b.ready = 0, false, false
	alone := len(program) > 0 && !slices.ContainsFunc(offer, b.Dir.Concerns)
	plan := update.Plan{Mode: mode}
	var err error
	if alone {
		err = b.Dir.Abandon()
	} else {
		plan, err = b.Dir.Plan(ctx, mode, offer, progress)
	}
	b.split = len(plan.Wants)
	if err != nil || plan.HeldBack || len(program) == 0 || b.given != nil {
		return plan, err
	}
	more, err := b.planProgram(ctx, program)
	switch {
	case ctx.Err() != nil:
		return update.Plan{}, ctx.Err()
	case err != nil && alone: // the next attempt knows that it is not to be had
		return update.Plan{}, &update.Fault{Cause: update.Interrupted, Transient: true, Subject: program[0].Path, Err: err}
	case err != nil:
		return plan, nil
	}
	b.wanted = len(more.Wants) > 0
	plan.Wants = slices.Concat(plan.Wants, more.Wants)
	plan.Bytes += more.Bytes
	plan.Resumed += more.Resumed
	return plan, nil
}

// planProgram is Plan for the program. An error leaves it out from here on.
func (b *Both) planProgram(ctx context.Context, offer []release.File) (update.Plan, error) {
	plan, err := b.program.Plan(ctx, update.Binaries, offer, func(string, int64, int64) {})
	if err == nil && plan.HeldBack {
		err = errHeldBack
	}
	if err != nil && ctx.Err() == nil {
		b.log.Warn().Err(err).Msg("this program stays as it is")
		b.given = err
	}
	return plan, err
}

var errHeldBack = errors.New("it did not work here before; --unblock takes it again")

// at finds the install of a want and its number there.
func (b *Both) at(i int) (*Dir, int) {
	if i < b.split {
		return b.Dir, i
	}
	return b.program, i - b.split
}

// Advance implements update.Stage.
func (b *Both) Advance(ctx context.Context, i int) error {
	d, n := b.at(i)
	return d.Advance(ctx, n)
}

// Write implements update.Stage.
func (b *Both) Write(i int, data []byte) error {
	d, n := b.at(i)
	return d.Write(n, data)
}

// Restart implements update.Stage.
func (b *Both) Restart(ctx context.Context, i int) error {
	d, n := b.at(i)
	return d.Restart(ctx, n)
}

// Finish implements update.Stage.
func (b *Both) Finish(ctx context.Context, i int) error {
	d, n := b.at(i)
	return d.Finish(ctx, n)
}

// Commit implements update.Stage. The program waits for its trial afterwards.
func (b *Both) Commit(ctx context.Context) error {
	if b.Dir.work != nil {
		if err := b.Dir.Commit(ctx); err != nil {
			return err
		}
	}
	if !b.wanted {
		return nil
	}
	if err := b.program.Commit(ctx); err != nil {
		b.given = err
		b.log.Warn().Err(err).Msg("this program stays as it is")
	}
	b.ready = b.given == nil
	return ctx.Err()
}

// Abandon implements update.Stage.
func (b *Both) Abandon() error {
	err := b.Dir.Abandon()
	if abandoned := b.program.Abandon(); abandoned != nil {
		b.log.Warn().Err(abandoned).Msg("let go of the parts of this program")
	}
	return err
}

// Concerns reports whether a file of an offer belongs to either.
func (b *Both) Concerns(f release.File) bool { return b.Dir.Concerns(f) || b.program.Concerns(f) }

// Old is that of the set, or else of the program.
func (b *Both) Old(ctx context.Context, f release.File) (delta.SetFile, error) {
	if b.program.Concerns(f) {
		return b.program.Old(ctx, f)
	}
	return b.Dir.Old(ctx, f)
}

// Here visits the files of both.
func (b *Both) Here(f release.File, visit func(file delta.SetFile, size int64)) {
	b.Dir.Here(f, visit)
	b.program.Here(f, visit)
}
