// Package rolling carries out rollouts that drive themselves: it looks at the figures, asks netproto/release/rollout what to do, changes the
// signed list and records it. All that it reads and changes is behind functions of the Driver, so the package has no effects of its own but time.
package rolling

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"collet/build/advice"
	"collet/netproto/release"
	"collet/netproto/release/rollout"
)

// Driver widens and holds one release by the first starts that players' clients report. It reads the signed list and the figures at every
// look, so either may change meanwhile; a rollout that was changed elsewhere is left alone from then on.
//
//	look:  the list → is the rollout still ours? → figures → Plan.Next → hold what is bad, widen what is good → record
//	ends:  every target is held, or was offered to all for After
type Driver struct {
	Plan   rollout.Plan
	Every  time.Duration // between two looks
	After  time.Duration // how long the starts are still judged after the last step
	Usual  *float64      // share of failures to assume where no release before has figures; nil for none
	Number uint64

	Entries func(context.Context) ([]release.Entry, error)               // all of the channel, signed
	Figures func(context.Context) (map[StartsOf]rollout.Starts, error)   // first starts of all releases
	Change  func(context.Context, map[string]rollout.Decision) error     // by target; signs and publishes
	Reload  func(context.Context) error                                  // lets the server read the list again
	Record  func(context.Context, release.Entry, rollout.Decision) error // into the server's history
	Tell    func(target, what, reason string, isNew bool)                // isNew: not as at the look before

	states  map[string]*rolloutState // by target
	pending []pendingRecord          // decisions that were carried out and not yet recorded
}

// StartsOf names the counts of a release; number 0 has those of releases that the server does not know.
type StartsOf struct {
	Channel, Target string
	Number          uint64
}

// rolloutState is what the driver knows about one target.
type rolloutState struct {
	entry  release.Entry  // as it was when the driver looked last
	before rollout.Starts // of the release before, taken once
	since  time.Time      // when the driver saw or set its percentage
	action rollout.Action // of the last decision
	isHeld bool

	isUnknown bool // it was told that the server does not know the release
}

// pendingRecord is a decision for the history.
type pendingRecord struct {
	entry    release.Entry
	decision rollout.Decision
}

// ErrHeld says that the driver held the release for some target.
var ErrHeld = errors.New("held")

// Drive looks until the rollout ends. The error is one of the list or the keys, an *advice.Error if others changed the rollout, or ErrHeld.
// Figures that can't be had are told, and looked for again: without them nothing is widened.
func (d *Driver) Drive(ctx context.Context) error {
	if err := d.begin(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(d.Every)
	defer tick.Stop()
	for {
		ended, err := d.look(ctx)
		if err != nil || ended {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// begin reads what the rollout begins with.
func (d *Driver) begin(ctx context.Context) error {
	all, err := d.Entries(ctx)
	if err != nil {
		return err
	}
	figures, err := d.Figures(ctx)
	if err != nil {
		return err
	}
	d.states = map[string]*rolloutState{}
	for _, e := range all {
		if e.Number != d.Number {
			continue
		}
		switch {
		case e.Killed:
			return advice.Wrong("publish a corrected release with a higher number", "%s was withdrawn for ever", e.Path())
		case e.Hold:
			return advice.Wrong("offer it again with collet release hold --off, if that is right", "%s is held", e.Path())
		}
		s := &rolloutState{entry: e, since: time.Now()}
		if before, found := releaseBefore(all, e); found {
			s.before = figures[StartsOf{e.Channel, e.Target, before.Number}]
		}
		if s.before.Total() == 0 && d.Usual != nil {
			const starts = 1_000_000 // as if it were known well
			failed := uint64(*d.Usual * starts)
			s.before = rollout.Starts{Confirmed: starts - failed, Failed: failed}
		}
		d.states[e.Target] = s
	}
	if !slices.ContainsFunc(d.names(), func(name string) bool { return d.states[name].before.Total() > 0 }) {
		return advice.Wrong("name the share of first starts that usually fail with --usual, such as --usual 0.2, or widen it yourself with collet release rollout",
			"the server has no first starts of a release before %d, so there is nothing to compare it with", d.Number)
	}
	first := map[string]rollout.Decision{}
	for _, name := range d.names() {
		if step := d.Plan.Steps[0]; int(d.states[name].entry.Percent) < step {
			first[name] = rollout.Decision{Target: name, Action: rollout.Widen, Percent: step, Reason: "the rollout begins"}
			d.Tell(name, named(first[name]), first[name].Reason, true)
		}
	}
	return d.carryOut(ctx, first)
}

// releaseBefore is the release that players of an entry's track had: the highest one below it that was not withdrawn.
func releaseBefore(all []release.Entry, of release.Entry) (before release.Entry, found bool) {
	for _, e := range all {
		if e.Track() == of.Track() && e.Number < of.Number && e.Number > before.Number && !e.Killed {
			before, found = e, true
		}
	}
	return before, found
}

// look looks once. ended is true when nothing is left to decide.
func (d *Driver) look(ctx context.Context) (ended bool, err error) {
	all, err := d.Entries(ctx)
	if err != nil {
		return false, err
	}
	if err := d.isOurs(all); err != nil {
		return false, err
	}
	figures, err := d.Figures(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return false, err
		}
		d.Tell("server", string(rollout.Wait), "the figures can't be read, so nothing is widened: "+err.Error(), true)
		return false, nil
	}
	targets := make([]rollout.Target, 0, len(d.states))
	for _, name := range d.names() {
		s := d.states[name]
		targets = append(targets, rollout.Target{Name: name, Percent: int(s.entry.Percent), At: time.Since(s.since), Before: s.before,
			Now: figures[StartsOf{s.entry.Channel, name, d.Number}]})
	}
	changes := map[string]rollout.Decision{}
	for _, next := range d.Plan.Next(targets) {
		s := d.states[next.Target]
		if s.isHeld {
			continue
		}
		if next.Action == rollout.Hold || next.Action == rollout.Widen {
			changes[next.Target] = next
		}
		isNew := next.Action != s.action || next.Action == rollout.Widen
		unknown := figures[StartsOf{s.entry.Channel, next.Target, 0}].Total()
		if unknown > 0 && figures[StartsOf{s.entry.Channel, next.Target, d.Number}].Total() == 0 {
			isNew, s.isUnknown = isNew || !s.isUnknown, true
			next.Reason = fmt.Sprintf("the server has %d first starts of releases that it does not know; collet-server reload reads the signed list again", unknown)
		}
		d.Tell(next.Target, named(next), next.Reason, isNew)
		s.action = next.Action
	}
	if err := d.carryOut(ctx, changes); err != nil {
		return false, err
	}
	d.recordPending(ctx)
	return d.hasEnded()
}

// named is what a decision does, for people.
func named(d rollout.Decision) string {
	if d.Action == rollout.Widen {
		return fmt.Sprintf("%s to %d %%", d.Action, d.Percent)
	}
	return string(d.Action)
}

// names are the targets, sorted.
func (d *Driver) names() []string { return slices.Sorted(maps.Keys(d.states)) }

// isOurs compares the list with what the driver made of it.
func (d *Driver) isOurs(all []release.Entry) error {
	for _, name := range d.names() {
		s := d.states[name]
		i := slices.IndexFunc(all, func(e release.Entry) bool { return e.Track() == s.entry.Track() && e.Number == d.Number })
		if i < 0 || all[i].Percent != s.entry.Percent || all[i].Hold != s.entry.Hold || all[i].Killed != s.entry.Killed {
			return advice.Wrong("run it again if it should go on from there", "the rollout of %s was changed meanwhile, so it does not drive itself any more", s.entry.Path())
		}
		for _, e := range all {
			if e.Track() == s.entry.Track() && e.Number > d.Number && e.Percent > 0 && !e.Hold && !e.Killed {
				return advice.Wrong("let that one drive itself", "%s is offered now, so the rollout of release %d has ended", e.Path(), d.Number)
			}
		}
	}
	return nil
}

// carryOut changes the signed list.
func (d *Driver) carryOut(ctx context.Context, changes map[string]rollout.Decision) error {
	if len(changes) == 0 {
		return nil
	}
	if err := d.Change(ctx, changes); err != nil {
		return err
	}
	if err := d.Reload(ctx); err != nil {
		d.Tell("server", "reload", err.Error(), true)
	}
	for _, name := range d.names() {
		next, isChanged := changes[name]
		if !isChanged {
			continue
		}
		s := d.states[name]
		if next.Action == rollout.Hold {
			s.entry.Hold, s.isHeld = true, true
		} else {
			s.entry.Percent, s.since = uint8(next.Percent), time.Now()
		}
		d.pending = append(d.pending, pendingRecord{s.entry, next})
	}
	return nil
}

// recordPending records decisions. What can't be recorded now is tried again at the next look.
func (d *Driver) recordPending(ctx context.Context) {
	for len(d.pending) > 0 {
		if err := d.Record(ctx, d.pending[0].entry, d.pending[0].decision); err != nil {
			d.Tell(d.pending[0].entry.Target, named(d.pending[0].decision), "not yet in the server's history: "+err.Error(), true)
			return
		}
		d.pending = d.pending[1:]
	}
}

// hasEnded reports whether nothing is left to decide or to record.
func (d *Driver) hasEnded() (bool, error) {
	var held []string
	for _, name := range d.names() {
		switch s := d.states[name]; {
		case s.isHeld:
			held = append(held, s.entry.Path())
		case s.action != rollout.Done || time.Since(s.since) < d.After:
			return false, nil
		}
	}
	switch {
	case len(d.pending) > 0:
		return false, nil
	case held != nil:
		return true, fmt.Errorf("%s: %w; players who have it keep it; collet release kill %d takes it back from them, hold --off offers it again", strings.Join(held, ", "), ErrHeld, d.Number)
	default:
		return true, nil
	}
}
