package install

import (
	"context"
	"errors"
	"slices"

	"collet/app/update"
	"collet/netproto/release"
)

var _ update.Destination = (*Dir)(nil)

// Plan implements update.Destination. It checks every path, compares the offer with the disk, checks the free space, and records
// the intended content of the parts. A part that an earlier transaction began for the same digest is kept. A set that an
// earlier Commit left prepared is withdrawn first and compared again.
//
// Native code whose digests Config.Trust does not accept is rejected as update.Untrusted before anything is fetched.
//
// A set that was rolled back after failed starts is not planned again: the plan reports it as blocked.
func (d *Dir) Plan(ctx context.Context, mode update.Mode, offer []release.File, progress func(file string, done, size int64)) (update.Plan, error) {
	plan, err := d.planUpdate(ctx, mode, offer, progress)
	if d.work == nil {
		d.hash.endPlan() // the plan failed, or the set is blocked
	}
	return plan, d.fault(err)
}

func (d *Dir) planUpdate(ctx context.Context, mode update.Mode, offer []release.File, progress func(file string, done, size int64)) (update.Plan, error) {
	if err := d.Abandon(); err != nil {
		return update.Plan{}, err
	}
	if !d.glanced.isOf(offer) {
		if err := checkOffer(offer); err != nil {
			return update.Plan{}, err
		}
	}
	if err := d.tx.withdraw(ctx); err != nil {
		return update.Plan{}, err
	}
	d.tx.vanished, d.blockedOffer = "", Try{} // missing files are about to be planned
	if err := d.loadLists(); err != nil {
		return update.Plan{}, err
	}
	g := d.useGlance(offer)
	d.hash.blocks.offered = offer
	p, err := newPlanning(d.folder, d.trust, mode, g)
	if err != nil {
		return update.Plan{}, err
	}
	d.hash.beginPlan()
	if err := p.compare(ctx, progress); err != nil {
		return update.Plan{}, err
	}
	if known := tryOf(d.journal.Tries, p.build); p.changes() && !known.MayInstall() {
		d.blockedOffer = known
		d.log.Warn().Stringer("set", p.build).Msg("this set was taken back after failed starts; it is blocked")
		return update.Plan{Mode: mode, Matched: p.matched, Blocked: true}, nil
	}
	if err := p.checkNative(); err != nil {
		return update.Plan{}, err
	}
	p.checkBasePacks()
	if err := (&preparation{p, d.tx.move, d.unclean}).prepare(ctx); err != nil {
		return update.Plan{}, err
	}
	d.work = new(p.work) // a copy, so that the rest of the planning can be freed
	plan := update.Plan{Mode: mode, Matched: p.matched}
	for _, c := range p.work.items {
		want := update.Want{File: c.file, Missing: c.missing}
		plan.Wants = append(plan.Wants, want)
		plan.Bytes += c.file.Size
		plan.Resumed += want.Have()
	}
	plan.Damage = p.damage()
	return plan, nil
}

// Write implements update.Destination.
func (d *Dir) Write(i int, data []byte) error {
	c, err := d.work.item(i)
	if err != nil {
		return d.fault(err)
	}
	return d.fault(d.work.writePart(i, c, data))
}

// Advance implements update.Destination.
func (d *Dir) Advance(ctx context.Context, i int) error {
	c, err := d.work.item(i)
	if err != nil {
		return d.fault(err)
	}
	return d.fault(d.work.advance(ctx, i, c))
}

// Restart implements update.Destination.
func (d *Dir) Restart(_ context.Context, i int) error { return d.fault(d.work.restart(i)) }

// Finish implements update.Destination.
func (d *Dir) Finish(ctx context.Context, i int) error {
	c, err := d.work.item(i)
	if err != nil {
		return d.fault(err)
	}
	return d.fault(d.work.finish(ctx, i, c))
}

// DeferSwap makes every later Commit wait for Promote, or for the next Open, because this process uses the live set.
func (d *Dir) DeferSwap() { d.deferSwap = true }

// Commit implements update.Destination. A set with a module is complete but not yet live: it waits for Promote. A set without one becomes
// live, unless DeferSwap was called.
func (d *Dir) Commit(ctx context.Context) error {
	err := errors.Join(d.commit(ctx), d.work.endEarly())
	d.endPlan()
	if err == nil {
		// Every file was hashed, and damaged ones are repaired or wait for the swap.
		d.hash.verify = len(d.journal.lists.Mixed) > 0 && d.journal.State != Prepared
	}
	return d.fault(d.tx.orLoss(err))
}

func (d *Dir) endPlan() {
	d.work = nil
	d.hash.endPlan()
}

func (d *Dir) commit(ctx context.Context) error {
	if d.work == nil {
		return errors.New("install: internal error: commit without a plan")
	}
	if !d.work.begun {
		return nil
	}
	if err := d.work.sync(); err != nil {
		return err
	}
	if err := d.tx.record(record{State: Prepared}); err != nil {
		return err
	}
	if d.deferSwap || slices.ContainsFunc(d.journal.lists.Files, func(e entry) bool { return e.Kind == Module }) {
		return d.tx.prepareSwap(ctx)
	}
	return d.tx.swap(ctx)
}

// Promote makes a prepared set live. The caller must ensure that no child of its own uses the old one; Promote waits for
// other processes. Without a prepared set it does nothing. The error is a *update.Fault, or that of ctx.
func (d *Dir) Promote(ctx context.Context) error { return d.fault(d.tx.orLoss(d.tx.swap(ctx))) }

// Abandon implements update.Destination.
func (d *Dir) Abandon() error {
	err := errors.Join(d.work.closePart(), d.work.endEarly())
	d.endPlan()
	return d.fault(err)
}
