package server

import (
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/compat"
	"collet/netproto/server/config"
)

// OpenOperator opens the store that the settings name and reconciles what it says with what the catalogue's build brings (compat
// reference, section 3.8, B1 to B7). It is nil where the settings name no store. The caller gives it to Server.Govern, and
// closes it after the server.
//
// The errors refuse to start: *StoreError, *compat.RollbackError, *compat.SettingsError.
func OpenOperator(set config.Settings, c *Catalogue, opt OperatorOptions, log zerolog.Logger) (*Operator, error) {
	if set.Compat.Store == "" {
		return nil, nil
	}
	store, err := OpenStore(set.Compat.Store, log)
	if err != nil {
		return nil, err
	}
	o, err := NewOperator(store, c, opt, log)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return o, nil
}

// NewOperator is OpenOperator for another store, which it owns from now on unless there is an error.
func NewOperator(store Store, c *Catalogue, opt OperatorOptions, log zerolog.Logger) (*Operator, error) {
	o := &Operator{log: log, store: store, crowd: newCrowd(), meter: newCompatMeter(), closing: make(chan struct{})}
	tokens, err := store.Tokens()
	if err != nil {
		return nil, err
	}
	o.tokens.Store(&tokens)
	newest, err := store.Records(0, 1)
	if err != nil {
		return nil, err
	}
	if len(newest) > 0 {
		o.last = &newest[0]
	}
	if err := o.boot(c, opt); err != nil {
		return nil, err
	}
	if changed := store.Changed(); changed != nil {
		o.helpers.Go(func() { o.follow(changed) })
	}
	return o, nil
}

// Close ends what the operator does by itself, and closes the store. The server must have ended. A second call does nothing.
func (o *Operator) Close() error {
	o.ending.Do(func() { close(o.closing) })
	o.helpers.Wait()
	if o.idle != nil {
		o.idle.Close()
	}
	return o.store.Close()
}

// boot reconciles the stored settings with the build.
func (o *Operator) boot(c *Catalogue, opt OperatorOptions) error {
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
	if opt.asStored {
		if stored == nil {
			return errNeverStarted
		}
		o.stand(*stored, c)
		return nil
	}
	s, changes, err := compat.Boot(stored, c.declared.Declared, compat.BootOptions{AcceptRollback: opt.AcceptRollback, LastBuild: build})
	if err != nil {
		return err
	}
	o.booted = changes
	for _, change := range changes {
		line := o.log.Info()
		if change.Warning() {
			line = o.log.Warn()
		}
		line.Str("step", change.Step).Strs("changed", change.Keys).Msgf("Compatibility at the start: %s", change.Why)
	}
	if stored != nil && len(compat.Diff(*stored, s)) == 0 {
		o.stand(*stored, c)
		return nil
	}
	return o.commit(s, c, bootRecord(stored, s, changes))
}

// bootRecord is the record of what a start changed.
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

// adopt judges by what another catalogue brings. It fails where the settings in force make no sense for that, and then nothing has
// changed.
func (o *Operator) adopt(c *Catalogue) error {
	o.changing.Lock()
	defer o.changing.Unlock()
	s := o.Settings()
	if err := s.Check(c.declared.Declared); err != nil {
		return fmt.Errorf("the compatibility settings in force don't fit what is to be offered: %w", err)
	}
	o.stand(s, c)
	return nil
}

// follow takes over what other servers change.
func (o *Operator) follow(changed <-chan struct{}) {
	for {
		select {
		case <-o.closing:
			return
		case _, more := <-changed:
			if !more {
				return
			}
		}
		if err := o.refresh(); err != nil {
			o.log.Error().Err(err).Msg("Compatibility settings were changed elsewhere and can't be used here; what was decided before stays")
		}
	}
}

// refresh judges by what the store says.
func (o *Operator) refresh() error {
	o.changing.Lock()
	defer o.changing.Unlock()
	document, _, err := o.store.Settings()
	if err != nil {
		return err
	}
	s, err := compat.ParseSettings(document, compat.Settings{})
	if err != nil {
		return err
	}
	newest, err := o.store.Records(0, 1)
	if err != nil {
		return err
	}
	c := o.standing.Load().catalogue
	if err := s.Check(c.declared.Declared); err != nil {
		return err
	}
	if len(newest) > 0 {
		o.last = &newest[0]
	}
	o.stand(s, c)
	return nil
}

// kick ends, after a countdown, the sessions that would not be let in again, unless the settings have changed once more by then.
func (o *Operator) kick(after time.Duration, revision uint64) {
	o.helpers.Go(func() {
		countdown := time.NewTimer(after)
		defer countdown.Stop()
		select {
		case <-countdown.C:
		case <-o.closing:
			return
		}
		st := o.standing.Load()
		if st.settings.Revision != revision {
			return
		}
		ended := 0
		for _, g := range o.crowd.all() {
			if g.plays && !o.again(st.snapshot, g).Plays() {
				g.leave()
				ended++
			}
		}
		o.log.Info().Uint64("revision", revision).Int("sessions", ended).Msg("Sessions were ended that the compatibility settings would not let in again")
	})
}
