package update

import (
	"context"
	"errors"
	"slices"
	"time"
)

// worker performs the effects, one at a time, on its own goroutine. It is the only caller of Source and Destination and never
// reads the State. A panic in a port is a bug and ends the process.
type worker struct {
	cfg    Config
	meter  *meter
	events chan<- Event
}

// run performs effects until the channel is closed. For each but Finish it sends the event that ends it.
func (w *worker) run(ctx context.Context, effects <-chan Effect) {
	for effect := range effects {
		if answer := w.perform(ctx, effect); answer != nil {
			w.events <- answer
		}
	}
}

func (w *worker) perform(ctx context.Context, effect Effect) Event {
	switch e := effect.(type) {
	case Connect:
		judgement, err := w.cfg.Source.Connect(ctx)
		return w.answer(Connected{judgement, w.server()}, asFault(err, Unreachable))
	case Judge:
		w.logVerdict(e)
		return Judged{}
	case List:
		offer, err := w.cfg.Source.List(ctx)
		return w.answer(Listed{offer}, asFault(err, Interrupted))
	case Compare:
		plan, err := w.cfg.Destination.Plan(ctx, e.Mode, e.Offer, w.meter.hash)
		return w.answer(Planned{plan}, asFault(err, DiskFault))
	case Fetch:
		return w.fetch(ctx, e.Wants)
	case Commit:
		return w.answer(Committed{}, asFault(w.cfg.Destination.Commit(ctx), DiskFault))
	case Wait:
		w.wait(ctx, e.For)
		return RetryDue{}
	case Finish:
		w.letGo()
	}
	return nil
}

// server identifies the server of the last judgement; empty if the Source is not a Teller.
func (w *worker) server() string {
	if teller, is := w.cfg.Source.(Teller); is {
		return teller.Server()
	}
	return ""
}

// answer returns success, or Faulted if there is a fault.
func (w *worker) answer(success Event, fault *Fault) Event {
	if fault == nil {
		return success
	}
	return Faulted{Fault: fault, Dice: w.cfg.Random()}
}

func (w *worker) fetch(ctx context.Context, wants []Want) Event {
	t := &transfer{wants: slices.Clone(wants), destination: w.cfg.Destination, meter: w.meter, events: w.events}
	err := w.cfg.Source.Fetch(ctx, wants, delivery{ctx, t})
	fault := t.fault
	if fault == nil {
		fault = asFault(err, Interrupted)
	}
	if fault == nil {
		return Fetched{}
	}
	return Faulted{Fault: fault, Gained: t.gained(fault), Dice: w.cfg.Random()}
}

// logVerdict logs the verdict. One that only a newer updater knows is a warning, because the outcome alone would not show it.
func (w *worker) logVerdict(e Judge) {
	j, line := e.Judgement, w.cfg.Log.Info()
	text := "server judged"
	if !j.Verdict.Known() {
		line, text = w.cfg.Log.Warn(), "server gave a verdict that only a newer updater knows"
	}
	line.Stringer("verdict", j.Verdict).Uint8("rule", uint8(j.Rule)).Str("compatibility", j.Compatibility).
		Uint32("reasons", uint32(j.Reasons)).Uint32("warnings", uint32(j.Warnings)).Uint64("revision", j.Revision).
		Stringer("age", j.Age).Uint32("retry_after", j.RetryAfter).Msg(text)
}

// wait closes connection and parts first, so that no resource is held during the pause. The time for that is part of the
// pause.
func (w *worker) wait(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	w.letGo()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// letGo closes the connection and the parts. Errors are only logged: the content of a part is checked again before use.
func (w *worker) letGo() {
	if err := w.cfg.Source.Close(); err != nil {
		w.cfg.Log.Warn().Err(err).Msg("close the connection")
	}
	if err := w.cfg.Destination.Abandon(); err != nil {
		w.cfg.Log.Warn().Err(err).Msg("could not release the parts")
	}
}

// asFault converts an error of a port to a *Fault; nil stays nil. An error without a known cause gets the cause otherwise.
// A plain error of a Source is transient, one of a Destination is not.
func asFault(err error, otherwise Cause) *Fault {
	if err == nil {
		return nil
	}
	fault, ok := errors.AsType[*Fault](err)
	switch {
	case !ok:
		return &Fault{Cause: otherwise, Transient: otherwise != DiskFault, Err: err}
	case fault.Cause.known():
		return fault
	default:
		return &Fault{Cause: otherwise, Transient: fault.Transient, Subject: fault.Subject, Err: err}
	}
}
