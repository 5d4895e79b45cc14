package update

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"collet/platform/notify"
)

// Config holds the dependencies and options of an Updater. Source and Destination are required; the zero value of every other
// field is valid. Only the Updater uses Source and Destination from the start of Run until Run has returned.
type Config struct {
	Source        Source
	Destination   Destination
	CanSelfUpdate bool   // the platform lets the host replace its native module
	Server        string // host:port as requested, for Status only
	First         bool   // nothing that can be played is installed, for Status only

	Redirected bool  // another server redirected the client here: a second redirect is not followed
	AskPinned  bool  // an update required by the account's floor ends in PlayerPinned, so that the player can decide
	Prefetch   bool  // during a maintenance, prefetch the files of the update after it
	Applied    Offer // the module that the last update installed, from its Status.Offer; zero if none

	Retry  RetryRules       // the zero value is DefaultRetry
	Now    func() time.Time // for Status and rate; nil is time.Now
	Random func() float64   // in [0, 1), called by one goroutine at a time; nil is rand.Float64
	Log    zerolog.Logger   // the zero value logs nothing
}

// Updater performs one update of one install from one server. Make one with New. Run may be called once. Status and Watch
// are safe for concurrent use, before, during and after Run.
type Updater struct {
	cfg      Config
	ran      atomic.Bool
	status   atomic.Pointer[Status]
	watchers notify.Watchers
}

// New checks cfg and returns an idle Updater. It holds no resources.
func New(cfg Config) (*Updater, error) {
	if cfg.Source == nil || cfg.Destination == nil {
		return nil, errors.New("updater: a source and a destination are needed")
	}
	if cfg.Retry == (RetryRules{}) {
		cfg.Retry = DefaultRetry()
	}
	if err := cfg.Retry.validate(); err != nil {
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

// Run performs the whole update and returns its last Status, in which the phase is Done. Before it returns it closes the
// Source, abandons the Destination, and waits for every goroutine of the update. When ctx ends, Run waits for the effect in
// progress; the outcome is then Cancelled. A second call panics: it is a bug of the caller.
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

// Watch returns a channel that receives a tick at once and after each change of the Status. The channel holds one tick: a
// slow reader sees the newest Status, not every one. It is closed after the last tick of the update, or when ctx ends.
func (u *Updater) Watch(ctx context.Context) <-chan struct{} { return u.watchers.Add(ctx) }

// publish makes s the current snapshot if it differs from the last one.
func (u *Updater) publish(s Status) {
	if *u.status.Load() == s {
		return
	}
	u.status.Store(&s)
	u.watchers.Notify()
}
