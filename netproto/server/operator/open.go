package operator

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"
	bolterrors "go.etcd.io/bbolt/errors"

	"collet/netproto/compat"
)

// Open opens the store in a file and reconciles its settings with the build's declaration (boot rules B1 to B7 of package
// compat). The caller closes the operator, after the server.
//
// The errors prevent a start: *StoreError, *compat.RollbackError, *compat.SettingsError.
func Open(path string, d *compat.Declared, opt Options, log zerolog.Logger) (*Operator, error) {
	store, err := OpenStore(path, log)
	if err != nil {
		return nil, err
	}
	o, err := New(store, d, opt, log)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return o, nil
}

// errNoSettings says that a store has no settings yet.
var errNoSettings = errors.New("is not there")

// New is Open for any Store, which the operator owns unless there is an error.
func New(store Store, d *compat.Declared, opt Options, log zerolog.Logger) (*Operator, error) {
	o := &Operator{log: log, store: store, metrics: newMetrics(), closing: make(chan struct{})}
	o.Sessions, o.Games, o.Figures = newSessions(o.metrics), newGames(), opt.Figures
	if before := opt.After; before != nil {
		o.metrics, o.Sessions, o.Games = before.metrics, before.Sessions, before.Games
	}
	o.close = sync.OnceValue(o.closeStore)
	var err error
	if o.Audit, err = openAuditLog(store, d.Build.ID); err != nil {
		return nil, err
	}
	if o.Tokens, err = openTokens(store, o.Audit); err != nil {
		return nil, err
	}
	o.Floors = &Floors{store: store, audit: o.Audit, sessions: o.Sessions, snapshot: o.Snapshot}
	if err := o.reconcile(d, opt); err != nil {
		return nil, err
	}
	o.metrics.operator.Store(o)
	if opt.After != nil {
		if c := opt.After.countdown.Load(); c != nil {
			o.kickSessions(time.Until(c.end), c.revision)
		}
	}
	if changed := store.Changed(); changed != nil {
		o.running.Go(func() { o.followStore(changed) })
	}
	return o, nil
}

// Close ends the operator's goroutines, lets a change that is being made finish, and closes the store. Every client has been judged
// (server.Settle), or the server has ended. A second call does nothing.
func (o *Operator) Close() error { return o.close() }

func (o *Operator) closeStore() error {
	close(o.closing)
	o.running.Wait()
	o.Audit.mu.Lock()
	defer o.Audit.mu.Unlock()
	return o.store.Close()
}

// Closed reports whether Close has been called: nothing can be read or changed any more.
func (o *Operator) Closed() bool {
	select {
	case <-o.closing:
		return true
	default:
		return false
	}
}

// IsClosed reports whether an error of a method says that Close was called meanwhile.
func IsClosed(err error) bool { return errors.Is(err, bolterrors.ErrDatabaseNotOpen) }

// reconcile applies the stored settings to the build. It begins again if another server of the cluster changes them meanwhile, for
// example because it starts at the same time.
func (o *Operator) reconcile(d *compat.Declared, opt Options) error {
	return o.Audit.change(func() error {
		err := o.reconcileOnce(d, opt)
		var stale *StaleError
		if errors.As(err, &stale) {
			return ErrMoved
		}
		return err
	})
}

func (o *Operator) reconcileOnce(d *compat.Declared, opt Options) error {
	document, build, err := o.store.Settings()
	if err != nil {
		return err
	}
	var stored *compat.Settings
	if document != nil {
		s, err := compat.ParseSettings(document, compat.Settings{})
		if err != nil {
			return fmt.Errorf("what the compatibility store holds: %w", err)
		}
		stored = &s
	}
	if opt.AsStored {
		if stored == nil {
			return errNoSettings
		}
		o.applySettings(*stored, d)
		return nil
	}
	if opt.After != nil && stored != nil {
		return o.resume(*stored, d)
	}
	s, changes, err := compat.Boot(stored, *d, compat.BootOptions{AcceptRollback: opt.AcceptRollback, LastBuild: build})
	if err != nil {
		return err
	}
	if stored != nil && len(compat.Diff(*stored, s)) == 0 {
		o.applySettings(*stored, d)
	} else if err := o.commitSettings(s, d, bootRecord(stored, s, changes)); err != nil {
		return err
	}
	o.boot = changes
	for _, change := range changes {
		line := o.log.Info()
		if change.Warning() {
			line = o.log.Warn()
		}
		line.Str("step", change.Step).Strs("changed", change.Keys).Msgf("Compatibility at the start: %s", change.Why)
	}
	return nil
}

// resume goes on with stored settings, which another build may have changed meanwhile, as far as this one supports them. Nothing is written.
func (o *Operator) resume(stored compat.Settings, d *compat.Declared) error {
	if stored.Check(*d) == nil {
		o.applySettings(stored, d)
		return nil
	}
	as := stored
	as.AutoUpgrade = false
	s, changes, err := compat.Boot(&as, *d, compat.BootOptions{AcceptRollback: true})
	if err != nil {
		return err
	}
	s.Revision, s.AutoUpgrade = stored.Revision, stored.AutoUpgrade
	o.applySettings(s, d)
	for _, change := range changes {
		o.log.Warn().Strs("changed", change.Keys).Msgf("Another program changed the stored settings, and this one goes on with them as far as it can: %s. Change them, or upgrade again: "+
			"this program starts with them only with --accept-rollback", change.Why)
	}
	return nil
}

// bootRecord is the audit record of a start's changes.
func bootRecord(stored *compat.Settings, s compat.Settings, changes []compat.Change) compat.Audit {
	record := compat.Audit{Actor: compat.ActorBoot, Source: compat.SourceBoot, Before: []byte("null"), After: s.Encode(), Keys: []string{}}
	old := compat.Settings{}
	if stored != nil {
		old, record.Before = *stored, stored.Encode()
	}
	record.Keys = compat.Diff(old, s)
	for _, c := range changes {
		if c.Warning() {
			continue
		}
		record.Actor = c.Actor
		if record.Comment != "" {
			record.Comment += "; "
		}
		record.Comment += c.Step + ": " + c.Why
	}
	return record
}

// Adopt switches to another declaration. It fails, without a change, if the settings in force contradict it.
func (o *Operator) Adopt(d *compat.Declared) error {
	o.Audit.mu.Lock()
	defer o.Audit.mu.Unlock()
	s := o.Settings()
	if err := s.Check(*d); err != nil {
		return fmt.Errorf("the compatibility settings in force don't fit what is to be offered: %w", err)
	}
	o.Audit.build = d.Build.ID
	o.applySettings(s, d)
	return nil
}

// followStore applies changes of other servers that share the store.
func (o *Operator) followStore(changed <-chan struct{}) {
	for {
		select {
		case <-o.closing:
			return
		case _, more := <-changed:
			if !more {
				return
			}
		}
		if err := o.reloadStore(); err != nil {
			o.log.Error().Err(err).Msg("Compatibility settings were changed elsewhere and can't be used here; what was decided before stays")
		}
	}
}

// reloadStore takes over what another server has changed.
func (o *Operator) reloadStore() error {
	o.Audit.mu.Lock()
	defer o.Audit.mu.Unlock()
	_, err := o.Tokens.read()
	if err := errors.Join(err, o.Audit.readLast()); err != nil {
		return err
	}
	document, _, err := o.store.Settings()
	if err != nil {
		return err
	}
	s, err := compat.ParseSettings(document, compat.Settings{})
	if err != nil {
		return err
	}
	now := o.current.Load()
	if s.Revision == now.settings.Revision {
		return nil
	}
	if err := s.Check(*now.declared); err != nil {
		return err
	}
	o.applySettings(s, now.declared)
	o.log.Info().Uint64("revision", s.Revision).Stringer("active", s.Active()).Msg("Compatibility settings were changed at another server")
	return nil
}

// kickSessions ends, after a countdown, the sessions that the settings no longer admit, unless the settings have changed again by then.
func (o *Operator) kickSessions(after time.Duration, revision uint64) {
	c := &countdown{end: time.Now().Add(after), revision: revision}
	o.countdown.Store(c)
	o.running.Go(func() {
		timer := time.NewTimer(after)
		defer timer.Stop()
		select {
		case <-timer.C:
			o.countdown.CompareAndSwap(c, nil)
		case <-o.closing: // Options.After may go on with it
			return
		}
		st := o.current.Load()
		if st.settings.Revision != revision {
			return
		}
		ended := 0
		for _, s := range o.Sessions.list() {
			if s.Judgement.Plays() && !reevaluate(st.snapshot, s).Plays() {
				s.End()
				ended++
			}
		}
		o.log.Info().Uint64("revision", revision).Int("sessions", ended).Msg("Sessions were ended that the compatibility settings would not let in again")
	})
}
