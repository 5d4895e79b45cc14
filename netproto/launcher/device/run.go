package device

import (
	"context"
	"errors"
	"sync"
	"time"

	"collet/netproto/launcher/wire"
)

// RunPhase is the phase of the application of a device.
type RunPhase string

// The phases. The linked run state is RunRunning in PhaseRunning and PhaseStopping.
const (
	PhaseStopped  RunPhase = "stopped"
	PhaseStarting RunPhase = "starting"
	PhaseRunning  RunPhase = "running"
	PhaseStopping RunPhase = "stopping" // asked to close
)

var (
	// ErrBusy says that an application runs, starts or is about to end.
	ErrBusy = errors.New("an application runs already: stop it first")
	// errStoppedEarly ends an attempt that was stopped.
	errStoppedEarly = errors.New("it was stopped before it ran: start it again")
	// ErrNoLauncher says that Options.Launcher is nil.
	ErrNoLauncher = errors.New("this device can't start applications: give it a runtime")
)

// appRunner runs one application at a time. Safe for concurrent use.
//
//	stopped ─start→ starting ─Launcher→ running ─stop→ stopping ─end→ stopped        starting ─refused, stop→ stopped
type appRunner struct {
	launcher Launcher
	out      func(Line)
	report   func(wire.RunReport)
	changed  func() // phase is another; called without mu

	mu      sync.Mutex
	phase   RunPhase
	app     Application        // from running to stopped
	cancel  context.CancelFunc // of the attempt, in starting
	last    *StartRequest
	closed  bool
	working sync.WaitGroup
}

// now is the phase.
func (r *appRunner) now() RunPhase {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.phase
}

// lastStart is the last request.
func (r *appRunner) lastStart() (StartRequest, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		return StartRequest{}, false
	}
	return *r.last, true
}

// start begins an attempt and returns. Its outcome appears in the phase, in the log and in a report.
func (r *appRunner) start(request StartRequest) error {
	err := r.begin(request)
	if err != nil {
		r.refuse(err)
		return err
	}
	r.changed()
	return nil
}

func (r *appRunner) begin(request StartRequest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.launcher == nil:
		return ErrNoLauncher
	case r.phase != PhaseStopped || r.closed:
		return ErrBusy
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.phase, r.cancel, r.last = PhaseStarting, cancel, &request
	r.working.Go(func() {
		defer cancel()
		r.run(ctx, request)
	})
	return nil
}

// refuse reports why nothing starts.
func (r *appRunner) refuse(err error) {
	r.out(Line{Level: wire.LevelError, Source: SourceDevice, Text: "start: " + err.Error()})
	r.report(wire.RunReport{Event: wire.RunRefused, Exit: -1, Text: err.Error()})
}

// run runs one application to its end.
func (r *appRunner) run(ctx context.Context, request StartRequest) {
	app, err := r.launcher.Start(ctx, request, r.out)
	if err != nil && ctx.Err() != nil {
		err = errStoppedEarly
	}
	if err != nil {
		r.enter(PhaseStopped, nil)
		r.refuse(err)
		return
	}
	if ctx.Err() != nil {
		_ = app.Kill() // it was stopped while it started; its end is awaited below
	}
	r.enter(PhaseRunning, app)
	r.report(wire.RunReport{Event: wire.RunStarted})
	<-app.Done()
	r.reportEnd(app.End())
}

// reportEnd publishes the end of an application. The report is sent before the run state: a desk may start the next
// application as soon as the state changes, and would take a later report for that one's.
func (r *appRunner) reportEnd(end wire.RunEnd) {
	r.set(PhaseStopped, nil)
	level := wire.LevelInfo
	if end.Exit != 0 {
		level = wire.LevelWarning
	}
	r.out(Line{Level: level, Source: SourceDevice, Text: "ended: " + end.Text})
	r.report(wire.RunReport{Event: wire.RunEnded, Exit: int32(end.Exit), Text: end.Text})
	r.changed()
}

func (r *appRunner) enter(phase RunPhase, app Application) {
	r.set(phase, app)
	r.changed()
}

func (r *appRunner) set(phase RunPhase, app Application) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase, r.app = phase, app
}

// stop ends what starts or runs. It ignores unknown modes, and does nothing if the application is stopped.
func (r *appRunner) stop(mode wire.StopMode) {
	if mode != wire.StopAsk && mode != wire.StopKill {
		return
	}
	r.mu.Lock()
	app := r.app
	switch r.phase {
	case PhaseStarting:
		r.cancel()
	case PhaseRunning:
		r.phase = PhaseStopping
	}
	r.mu.Unlock()
	if app == nil {
		return
	}
	r.changed()
	end, word := app.Ask, "ask it to close: "
	if mode == wire.StopKill {
		end, word = app.Kill, "kill it: "
	}
	if err := end(); err != nil {
		r.out(Line{Level: wire.LevelError, Source: SourceDevice, Text: word + err.Error()})
	}
}

// running is the running application, or nil.
func (r *appRunner) running() Application {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.app
}

// await waits until an application has ended, and kills it after stopGrace.
func (r *appRunner) await(app Application) {
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-app.Done():
	case <-timer.C:
		r.stop(wire.StopKill)
		<-app.Done()
	}
}

// stopByHand asks the application to close, and kills it after stopGrace. It does not wait.
func (r *appRunner) stopByHand() {
	app := r.running()
	r.stop(wire.StopAsk)
	r.mu.Lock()
	defer r.mu.Unlock()
	if app != nil && !r.closed {
		r.working.Go(func() { r.await(app) })
	}
}

// close ends the application and all other work of the runner for good.
func (r *appRunner) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	app := r.running()
	if r.stop(wire.StopAsk); app != nil {
		r.await(app)
	}
	r.working.Wait()
}
