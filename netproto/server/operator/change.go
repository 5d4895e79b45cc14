package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"collet/netproto/compat"
)

// Change checks settings, writes them and their audit record to disk, and applies them to all later handshakes. Equal settings
// change nothing and leave no record. The errors are *ForbiddenError, *StaleError, *compat.SettingsError, *ConfirmError,
// *InputError and the store's.
func (o *Operator) Change(ctx context.Context, by Actor, c Change) (Outcome, error) {
	if err := by.checkRights(c.Comment); err != nil {
		return Outcome{}, err
	}
	if c.Kick != nil && (*c.Kick < 0 || *c.Kick > MaxKick) {
		return Outcome{}, &InputError{Field: "kick", Why: fmt.Sprintf("the countdown is between 0 and %v", MaxKick)}
	}
	o.changing.Lock()
	defer o.changing.Unlock()
	if err := ctx.Err(); err != nil { // the caller gave up while it waited for another change
		return Outcome{}, err
	}
	now := o.current.Load()
	if c.Revision != now.settings.Revision {
		return Outcome{}, &StaleError{Asked: c.Revision, Current: now.settings.Revision}
	}
	c.Settings.Revision = now.settings.Revision + 1
	if err := c.Settings.Check(*now.declared); err != nil {
		return Outcome{}, err
	}
	f := o.forecast(now, c.Settings)
	out := Outcome{
		Settings: now.settings, Changed: compat.Diff(now.settings, c.Settings),
		Impact: f.Impact, Hints: hints(c.Settings, *now.declared),
	}
	if len(out.Changed) == 0 {
		return out, nil
	}
	if lacks := (&ConfirmError{Impact: out.Impact, NeedsComment: c.Comment == "", NeedsConfirm: !c.Confirm}); compat.Lowers(now.settings, c.Settings) && (lacks.NeedsComment || lacks.NeedsConfirm) {
		return Outcome{}, lacks
	}
	record := compat.Audit{
		Actor: by.Name, Source: by.Source, Remote: by.Remote, Comment: c.Comment,
		Before: now.settings.Encode(), After: c.Settings.Encode(), Keys: out.Changed, Impact: f.shut,
	}
	if err := o.commit(c.Settings, now.declared, record); err != nil {
		return Outcome{}, err
	}
	out.Settings = c.Settings
	o.log.Info().Uint64("revision", c.Settings.Revision).Strs("changed", out.Changed).Str("actor", by.Name).Str("source", by.Source).
		Stringer("active", c.Settings.Active()).Int("sessions", out.Impact.Sessions).Int("floors", out.Impact.Floors).
		Msg("Compatibility settings changed")
	if c.Kick != nil {
		o.kickSessions(*c.Kick, c.Settings.Revision)
	}
	return out, nil
}

// Propose are the settings in force with the keys of a document replaced. The error is an *InputError.
func (o *Operator) Propose(document json.RawMessage) (compat.Settings, error) {
	if len(document) == 0 {
		return compat.Settings{}, &InputError{Field: "settings", Why: "are missing"}
	}
	s, err := compat.ParseSettings(document, o.Settings())
	if err != nil {
		return s, &InputError{Field: "settings", Why: err.Error()}
	}
	return s, nil
}

// commit stores settings with their record, and then applies them. The caller holds the lock.
func (o *Operator) commit(s compat.Settings, d *compat.Declared, record compat.Audit) error {
	next := o.nextRecord(d, record)
	if err := o.store.Commit(s.Encode(), s.Revision, next); err != nil {
		return err
	}
	o.last = &next
	o.apply(s, d)
	return nil
}

// nextRecord completes a record as the next one of the chain. The caller holds the lock.
func (o *Operator) nextRecord(d *compat.Declared, record compat.Audit) compat.Audit {
	record.Time, record.Build = time.Now().UTC(), d.Build.ID
	return compat.Chain(o.last, record)
}

// appendNote appends a record that is not about settings. The caller holds the lock.
func (o *Operator) appendNote(by Actor, comment, key string, before, after any) error {
	record := compat.Audit{Actor: by.Name, Source: by.Source, Remote: by.Remote, Comment: comment, Keys: []string{key}}
	var faults [2]error
	record.Before, faults[0] = json.Marshal(before)
	record.After, faults[1] = json.Marshal(after)
	if err := errors.Join(faults[:]...); err != nil {
		return err
	}
	next := o.nextRecord(o.current.Load().declared, record)
	if err := o.store.Append(next); err != nil {
		return err
	}
	o.last = &next
	return nil
}

// apply puts settings into force. The caller holds the lock.
func (o *Operator) apply(s compat.Settings, d *compat.Declared) {
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

// Audit returns at most limit audit records, the newest first, with numbers below before; 0 begins with the newest.
func (o *Operator) Audit(before uint64, limit int) ([]compat.Audit, error) {
	return o.store.Records(before, min(max(limit, 1), MaxRecords))
}

// Verify verifies the chain of the audit log and counts its records. The error is a *compat.ChainError that names the first bad
// record, or a read error. It detects a truncated log as well, by the stored number of records.
func (o *Operator) Verify() (records int, err error) {
	log, head, err := o.store.Log()
	if err != nil {
		return 0, err
	}
	defer log.Close()
	last, err := compat.VerifyChain(log)
	if err != nil {
		return 0, err
	}
	if last != nil {
		records = int(last.Seq)
	}
	if uint64(records) != head {
		err = &compat.ChainError{Line: records + 1, Seq: uint64(records) + 1, Why: fmt.Sprintf("the log ends after %d records, and there were %d", records, head)}
	}
	return records, err
}
