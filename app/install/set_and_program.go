package install

import (
	"context"
	"errors"
	"slices"

	"collet/app/update"
	"collet/netproto/delta"
	"collet/netproto/release"
)

// SetAndProgram combines an install with the install of the program itself, for one update with one transfer. It implements
// update.Destination, and what acquire.Source requires of a disk. Problems with the program are logged and never prevent the
// update of the set. Only during its transfer may the program end an update; HasProgramWants then reports that an update without it
// is worth a try.
type SetAndProgram struct {
	*Dir                  // the set; its Names never match the program
	program      *Program // the program; used only if the offer of Plan contains it
	split        int      // wants below belong to the set, the others to the program
	programWants bool     // the last plan has wants for the program
	ready        bool     // those wants are committed
	exclusion    error    // why plans leave the program out; nil if they do not
}

// WithProgram combines the install of a set with that of the program. The caller owns both.
func WithProgram(set *Dir, program *Program) *SetAndProgram {
	return &SetAndProgram{Dir: set, program: program}
}

var _ update.Destination = (*SetAndProgram)(nil)

// HasProgramWants reports whether the last Plan has wants for the program.
func (b *SetAndProgram) HasProgramWants() bool { return b.programWants }

// Waiting is Dir.Waiting of the program if the last update committed it, and otherwise empty.
func (b *SetAndProgram) Waiting() string {
	if !b.ready {
		return ""
	}
	return b.program.Waiting()
}

// Renewable reports whether Plan would include the program, as far as known.
func (b *SetAndProgram) Renewable() bool { return b.exclusion == nil }

// offered are the files of an offer that belong to the program.
func (b *SetAndProgram) offered(offer []release.File) []release.File {
	return slices.DeleteFunc(slices.Clone(offer), func(f release.File) bool { return !b.program.Manages(f) })
}

// Plan implements update.Destination. An offer that contains only the program leaves the set unchanged.
func (b *SetAndProgram) Plan(ctx context.Context, mode update.Mode, offer []release.File, progress func(file string, done, size int64)) (update.Plan, error) {
	program := b.offered(offer)
	b.split, b.programWants, b.ready = 0, false, false
	alone := len(program) > 0 && !slices.ContainsFunc(offer, b.Dir.Manages)
	plan := update.Plan{Mode: mode}
	var err error
	if alone {
		err = b.Dir.Abandon()
	} else {
		plan, err = b.Dir.Plan(ctx, mode, offer, progress)
	}
	b.split = len(plan.Wants)
	if err != nil || plan.Blocked || len(program) == 0 || b.exclusion != nil {
		return plan, err
	}
	more, err := b.planProgram(ctx, program)
	switch {
	case ctx.Err() != nil:
		return update.Plan{}, ctx.Err()
	case err != nil && alone: // the next attempt leaves the program out
		return update.Plan{}, &update.Fault{Cause: update.Interrupted, Transient: true, Subject: program[0].Path, Err: err}
	case err != nil:
		return plan, nil
	}
	b.programWants = len(more.Wants) > 0
	plan.Wants = slices.Concat(plan.Wants, more.Wants)
	plan.Bytes += more.Bytes
	plan.Resumed += more.Resumed
	return plan, nil
}

// planProgram is Plan for the program. After an error later plans leave it out.
func (b *SetAndProgram) planProgram(ctx context.Context, offer []release.File) (update.Plan, error) {
	plan, err := b.program.Plan(ctx, update.Binaries, offer, func(string, int64, int64) {})
	if err == nil && plan.Blocked {
		err = errBlocked
	}
	if err != nil && ctx.Err() == nil {
		b.log.Warn().Err(err).Msg("the program was left out of the update")
		b.exclusion = err
	}
	return plan, err
}

var errBlocked = errors.New("this version did not work here before; --unblock accepts it again")

// route returns the install of a want and the want's number there.
func (b *SetAndProgram) route(i int) (*Dir, int) {
	if i < b.split {
		return b.Dir, i
	}
	return b.program.Dir, i - b.split
}

// Advance implements update.Destination.
func (b *SetAndProgram) Advance(ctx context.Context, i int) error {
	d, n := b.route(i)
	return d.Advance(ctx, n)
}

// Write implements update.Destination.
func (b *SetAndProgram) Write(i int, data []byte) error {
	d, n := b.route(i)
	return d.Write(n, data)
}

// Restart implements update.Destination.
func (b *SetAndProgram) Restart(ctx context.Context, i int) error {
	d, n := b.route(i)
	return d.Restart(ctx, n)
}

// Finish implements update.Destination.
func (b *SetAndProgram) Finish(ctx context.Context, i int) error {
	d, n := b.route(i)
	return d.Finish(ctx, n)
}

// Commit implements update.Destination. The program waits for its trial afterwards.
func (b *SetAndProgram) Commit(ctx context.Context) error {
	if b.Dir.work != nil {
		if err := b.Dir.Commit(ctx); err != nil {
			return err
		}
	}
	if !b.programWants {
		return nil
	}
	if err := b.program.Commit(ctx); err != nil {
		b.exclusion = err
		b.log.Warn().Err(err).Msg("the program was left out of the update")
	}
	b.ready = b.exclusion == nil
	return ctx.Err()
}

// Abandon implements update.Destination.
func (b *SetAndProgram) Abandon() error {
	err := b.Dir.Abandon()
	if abandoned := b.program.Abandon(); abandoned != nil {
		b.log.Warn().Err(abandoned).Msg("could not release the parts of the program")
	}
	return err
}

// Manages reports whether a file of an offer belongs to the set or the program.
func (b *SetAndProgram) Manages(f release.File) bool {
	return b.Dir.Manages(f) || b.program.Manages(f)
}

// OpenExact is Dir.OpenExact of the program for its files, and otherwise of the set.
func (b *SetAndProgram) OpenExact(ctx context.Context, f release.File) (delta.SetFile, error) {
	if b.program.Manages(f) {
		return b.program.OpenExact(ctx, f)
	}
	return b.Dir.OpenExact(ctx, f)
}

// Has is Dir.Has for both installs.
func (b *SetAndProgram) Has(f release.File) bool { return b.Dir.Has(f) || b.program.Has(f) }

// OpenVersions is Dir.OpenVersions for both installs.
func (b *SetAndProgram) OpenVersions(f release.File, visit func(file delta.SetFile, size int64)) {
	b.Dir.OpenVersions(f, visit)
	b.program.OpenVersions(f, visit)
}
