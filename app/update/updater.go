package update

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Config is what an Updater is made of. Source and Stage are required; the zero value of every other field has a
// meaning. The Updater alone uses Source and Stage from the start of Run until Run has returned.
type Config struct {
	Source        Source
	Stage         Stage
	CanSelfUpdate bool   // the platform lets the host replace its native module
	Server        string // host:port as it was asked for, for Status only

	Redirected bool  // another server sent us here: a second redirect is not followed
	AskPinned  bool  // an update that the account's last version calls for ends in PlayerPinned, so that somebody is asked
	Prefetch   bool  // fetch during a maintenance what will be needed after it
	Applied    Offer // what the last update installed, as Status.Offer said; zero is none

	Retry  RetryRules       // the zero value is DefaultRetry
	Now    func() time.Time // for Status and rate; nil is time.Now
	Random func() float64   // in [0, 1), called by one goroutine at a time; nil is a random source of its own
	Log    zerolog.Logger   // the zero value says nothing
}

// Updater brings one install up to what one server offers, once. Make one with New. Run may be called once; Status and
// Watch are safe for concurrent use, before, during and after Run.
type Updater struct {
	cfg      Config
	ran      atomic.Bool
	status   atomic.Pointer[Status]
	watchers watchers
}

// New checks cfg and returns an Updater that has done nothing yet. It holds nothing that would have to be released.
func New(cfg Config) (*Updater, error) {
	if cfg.Source == nil || cfg.Stage == nil {
		return nil, errors.New("updater: a source and a stage are needed")
	}
	if cfg.Retry == (RetryRules{}) {
		cfg.Retry = DefaultRetry()
	}
	if err := cfg.Retry.check(); err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Random == nil {
		cfg.Random = rand.Float64
	}
	u := &Updater{cfg: cfg}
	u.status.Store(&Status{Server: cfg.Server})
	return u, nil
}

// Run performs the whole update and returns its last Status, in which the phase is Done. By then the Source is closed,
// the Stage let go of, and every goroutine of the update has ended. When ctx ends, the effect under way is let end
// first, and the outcome is Cancelled. A second call is a bug of the caller and panics.
func (u *Updater) Run(ctx context.Context) Status {
	if u.ran.Swap(true) {
		panic("update: internal error: Run called twice")
	}
	effects, events := make(chan Effect, 1), make(chan Event)
	l := &loop{updater: u, cfg: u.cfg, effects: effects, started: u.cfg.Now()}
	l.state.Policy = Policy{
		CanSelfUpdate: u.cfg.CanSelfUpdate, Retry: u.cfg.Retry, Redirected: u.cfg.Redirected, AskPinned: u.cfg.AskPinned,
		Prefetch: u.cfg.Prefetch, Applied: u.cfg.Applied,
	}
	w := &worker{cfg: u.cfg, meter: &l.meter, events: events}
	var working sync.WaitGroup
	working.Go(func() { w.run(ctx, effects) })
	l.run(ctx, events)
	close(effects)
	working.Wait()
	return l.finish()
}

// Status returns the current snapshot. It never blocks.
func (u *Updater) Status() Status { return *u.status.Load() }

// Watch returns a channel that ticks when the Status has changed, the first time at once. It holds one tick: whoever is
// slow reads the newest Status, not every one. It is closed after the last tick of the update, or when ctx ends.
func (u *Updater) Watch(ctx context.Context) <-chan struct{} { return u.watchers.add(ctx) }

// publish makes s the current snapshot, unless it says nothing new.
func (u *Updater) publish(s Status) {
	if *u.status.Load() == s {
		return
	}
	u.status.Store(&s)
	u.watchers.tick()
}
