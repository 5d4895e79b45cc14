package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"collet/netproto/compat"
)

// Change checks settings, writes them and their audit record to disk, and applies them to all later handshakes. Equal settings
// change nothing and leave no record. The errors are *ForbiddenError, *StaleError, *compat.SettingsError, *ConfirmError,
// *InputError and the store's.
func (o *Operator) Change(ctx context.Context, by Actor, c Change) (Outcome, error) {
	if err := by.CheckRights(RoleOperate, c.Comment); err != nil {
		return Outcome{}, err
	}
	if c.Kick != nil && (*c.Kick < 0 || *c.Kick > MaxKick) {
		return Outcome{}, &InputError{Field: "kick", Why: fmt.Sprintf("the countdown is between 0 and %v", MaxKick)}
	}
	var out Outcome
	err := o.Audit.change(func() (err error) {
		if err := ctx.Err(); err != nil { // the caller gave up while it waited for another change
			return err
		}
		out, err = o.changeSettings(by, c)
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	if c.Kick != nil && len(out.Changed) > 0 {
		o.kickSessions(*c.Kick, out.Settings.Revision)
	}
	return out, nil
}

// changeSettings checks and makes a change. The caller is within a change of Audit.
func (o *Operator) changeSettings(by Actor, c Change) (Outcome, error) {
	now := o.current.Load()
	if c.Revision != now.settings.Revision {
		return Outcome{}, &StaleError{Asked: c.Revision, Current: now.settings.Revision}
	}
	c.Settings.Revision = now.settings.Revision + 1
	if err := c.Settings.Check(*now.declared); err != nil {
		return Outcome{}, err
	}
	f := o.forecastChange(now, c.Settings)
	out := Outcome{
		Settings: now.settings, Changed: compat.Diff(now.settings, c.Settings),
		Impact: f.Impact, Hints: hintsFor(c.Settings, *now.declared),
	}
	if len(out.Changed) == 0 {
		return out, nil
	}
	if lacks := lacking(now.settings, c); lacks != nil {
		lacks.Impact = out.Impact
		return Outcome{}, lacks
	}
	record := compat.Audit{
		Actor: by.Name, Source: by.Source, Remote: by.Remote, Comment: c.Comment,
		Before: now.settings.Encode(), After: c.Settings.Encode(), Keys: out.Changed, Impact: f.shut,
	}
	if err := o.commitSettings(c.Settings, now.declared, record); err != nil {
		return Outcome{}, err
	}
	out.Settings = c.Settings
	o.log.Info().Uint64("revision", c.Settings.Revision).Strs("changed", out.Changed).Str("actor", by.Name).Str("source", by.Source).
		Stringer("active", c.Settings.Active()).Int("sessions", out.Impact.Sessions).Int("floors", out.Impact.Floors).
		Msg("Compatibility settings changed")
	return out, nil
}

// Propose are the settings in force with the keys of a document replaced. The error is an *InputError.
func (o *Operator) Propose(document json.RawMessage) (compat.Settings, error) {
	if len(document) == 0 {
		return compat.Settings{}, &InputError{Field: "settings", Why: "are missing"}
	}
	s, err := compat.ParseSettings(document, o.Settings())
	if err != nil {
		return s, &InputError{Field: "settings", Why: strings.TrimPrefix(err.Error(), "settings: ")}
	}
	return s, nil
}

// commitSettings stores settings with their record, and then applies them. The caller is within a change of Audit.
func (o *Operator) commitSettings(s compat.Settings, d *compat.Declared, record compat.Audit) error {
	if err := o.Audit.commit(Commit{Record: record, Document: s.Encode(), Revision: s.Revision}); err != nil {
		return err
	}
	o.applySettings(s, d)
	return nil
}

// applySettings puts settings into force. The caller holds the lock of Audit, or is New.
func (o *Operator) applySettings(s compat.Settings, d *compat.Declared) {
	o.current.Store(&current{settings: s, declared: d, snapshot: d.Snapshot(s, time.Now())})
	o.metrics.recordSettings(s)
}

// Rollback restores the settings of an earlier revision. It is a change with a new revision, always needs a comment, and lowers
// the active range only with a confirmation. Besides Change's errors there is ErrUnknown.
func (o *Operator) Rollback(ctx context.Context, by Actor, to uint64, c Change) (Outcome, error) {
	var err error
	if c.Settings, err = o.Revision(to); err != nil {
		return Outcome{}, err
	}
	if c.Comment == "" {
		return Outcome{}, &ConfirmError{NeedsComment: true, NeedsConfirm: !c.Confirm}
	}
	return o.Change(ctx, by, c)
}

// Revision are the settings of an earlier revision. Besides the store's errors there is ErrUnknown.
func (o *Operator) Revision(number uint64) (compat.Settings, error) {
	document, err := o.store.Revision(number)
	if err != nil {
		return compat.Settings{}, fmt.Errorf("revision %d: %w", number, err)
	}
	s, err := compat.ParseSettings(document, compat.Settings{})
	if err != nil {
		return s, fmt.Errorf("revision %d: %w", number, err)
	}
	return s, nil
}

// lacking is what a change of the active range lacks; nil for nothing.
func lacking(now compat.Settings, c Change) *ConfirmError {
	lowers, raises := compat.Lowers(now, c.Settings), compat.RaisesLowerEnd(now, c.Settings)
	lacks := &ConfirmError{Raises: !lowers, NeedsComment: (lowers || raises) && c.Comment == "", NeedsConfirm: lowers && !c.Confirm}
	if !lacks.NeedsComment && !lacks.NeedsConfirm {
		return nil
	}
	return lacks
}
