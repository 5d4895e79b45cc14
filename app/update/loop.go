package update

import (
	"context"
	"time"

	"github.com/rs/zerolog"
)

// ProgressPeriod is the shortest interval between two Statuses that differ only in numbers. Twenty per second look like
// motion; more would only use power. A change of phase is published at once.
const ProgressPeriod = 50 * time.Millisecond

// loop is the only writer of the State. It lives as long as Run.
type loop struct {
	updater *Updater
	cfg     Config
	effects chan<- Effect // has room for one effect, and at most one is in progress
	started time.Time

	state   State
	meter   meter
	rate    rate
	line    rate // of the Traffic
	retryAt time.Time
}

// run steps from Started to Done. It handles the end of ctx before any of its consequences, so that a fault caused by the
// cancellation is never treated as a failure.
func (l *loop) run(ctx context.Context, events <-chan Event) {
	progress := time.NewTicker(ProgressPeriod)
	defer progress.Stop()
	cancelled := ctx.Done()
	l.handleEvent(ctx, Started{})
	for l.state.Phase != Done {
		select {
		case <-cancelled:
			cancelled = nil
			l.step(CancelAsked{})
		case e := <-events:
			l.handleEvent(ctx, e)
		case <-progress.C:
			l.updater.publish(l.status())
		}
	}
}

func (l *loop) handleEvent(ctx context.Context, e Event) {
	if ctx.Err() != nil {
		l.step(CancelAsked{})
	}
	l.step(e)
}

// step handles the event, publishes the status, and starts the effect. finish publishes Done, after the cleanup.
func (l *loop) step(e Event) {
	before := l.state.Phase
	state, effects := Step(l.state, e)
	l.state = state
	for _, effect := range effects {
		l.prepare(effect)
	}
	if state.Phase != before {
		l.logPhase(before)
	}
	if state.Phase != Done {
		l.updater.publish(l.status())
	}
	for _, effect := range effects {
		l.effects <- effect
	}
}

// prepare resets the measurements that are not part of the State. The worker is idle, so there is no concurrent use of the
// meter.
func (l *loop) prepare(effect Effect) {
	switch e := effect.(type) {
	case Compare:
		l.meter.compare()
		l.rate = rate{}
	case Fetch:
		l.meter.startFile(l.state.Plan.Resumed)
		l.rate, l.line = rate{}, rate{}
	case Wait:
		l.retryAt = l.cfg.Now().Add(e.For)
	}
}

// finish publishes and logs the last Status and closes the watchers.
func (l *loop) finish() Status {
	last := l.status()
	l.logOutcome(last)
	l.updater.publish(last)
	l.updater.watchers.Close()
	return last
}

// status combines State and measurements.
func (l *loop) status() Status {
	s, p := l.state, l.meter.snapshot()
	status := Status{
		Phase: s.Phase, Mode: s.Mode, Outcome: s.Outcome, Fault: s.Fault, Judgement: s.Judgement, Server: l.cfg.Server, First: l.cfg.First,
		Offer: s.Offer, Ahead: s.Ahead, Blocked: s.Plan.Blocked, Damage: s.Plan.Damage,
		Files: len(s.Plan.Wants), FilesDone: s.Verified, Bytes: s.Plan.Bytes, BytesDone: p.total,
		Attempt: s.Attempt, Started: l.started,
	}
	switch s.Phase {
	case Comparing:
		status.File, status.FileSize, status.FileDone = p.file, p.size, p.done
		status.Hashed, status.ToHash = p.hashed, max(p.toHash, p.hashed)
		l.rate.addBytes(l.cfg.Now(), p.hashed)
		status.Rate = l.rate.perSecond()
	case Fetching, Verifying:
		status.File, status.FileSize, status.FileDone = p.file, p.size, p.done
		l.rate.addBytes(l.cfg.Now(), p.total)
		status.Rate = l.rate.perSecond()
		l.carry(&status)
	case Waiting:
		status.RetryAt = l.retryAt
	}
	return status
}

// carry adds the Traffic of a Carrier.
func (l *loop) carry(status *Status) {
	carrier, is := l.cfg.Source.(Carrier)
	if !is {
		return
	}
	status.Traffic = carrier.Traffic()
	l.line.addBytes(l.cfg.Now(), status.Traffic.Done)
	if status.Carrying() {
		status.Rate = l.line.perSecond()
	}
}

// logPhase logs the phase that was just entered. The two phases that alternate with every file are logged at debug level.
func (l *loop) logPhase(before Phase) {
	line := l.cfg.Log.Info()
	if l.state.Phase == Verifying || before == Verifying && l.state.Phase == Fetching {
		line = l.cfg.Log.Debug()
	}
	status := l.status()
	l.describe(line, status)
	if status.File != "" {
		line.Str("file", status.File)
	}
	if l.state.Phase == Waiting {
		line.Dur("wait", l.state.Delay)
	}
	line.Msg("phase")
}

// logOutcome logs the outcome.
func (l *loop) logOutcome(last Status) {
	line := l.cfg.Log.Info()
	if last.Outcome == Failed {
		line = l.cfg.Log.Error()
	}
	l.describe(line, last)
	line.Stringer("outcome", last.Outcome).Int("files", last.FilesDone).Dur("took", l.cfg.Now().Sub(last.Started)).Msg("update ended")
}

// describe adds the fields common to all lines, as far as they have a value.
func (l *loop) describe(line *zerolog.Event, s Status) {
	line.Stringer("phase", s.Phase).Stringer("mode", s.Mode).Int("attempt", s.Attempt).Int64("bytes", s.BytesDone)
	if l.state.Met {
		line.Stringer("verdict", s.Judgement.Verdict).Uint8("rule", uint8(s.Judgement.Rule))
	}
	if s.Fault != nil && (s.Phase == Waiting || s.Phase == Done) {
		line.Stringer("cause", s.Fault.Cause).AnErr("error", s.Fault)
	}
}
