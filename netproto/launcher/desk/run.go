package desk

import (
	"context"
	"time"

	"collet/netproto/launcher/wire"
)

// runOp is a start or a stop in progress.
//
//	stop:  asked ─Stop passed→ killed ─Kill passed→ failed        stopped → done
//	start: the same first if the game runs, then started ─Start passed→ failed        running → done
type runOp struct {
	start   *StartOptions // nil for a stop
	force   bool
	began   bool // the device was sent a request
	killed  bool
	started bool // startApplication was sent
	since   time.Time
	lines   []LogLine // that came since startApplication
}

// runState is the game on one device, as the desk knows it. The protocol has no query for it. It is pure.
type runState struct {
	id      string // of the device
	times   Times
	running bool
	op      *runOp
	ticket  int
}

// start begins a command.
func (r *runState) start(c runCommand, now time.Time) []effect {
	r.op, r.ticket = c.op, c.ticket
	if r.op.start != nil && r.running && !r.op.start.Restart {
		return r.end(ErrRunning)
	}
	return r.tick(now)
}

// tick acts on the state and the time.
func (r *runState) tick(now time.Time) []effect {
	switch op := r.op; {
	case op == nil:
		return nil
	case op.started && r.running:
		return r.end(nil)
	case op.started:
		return r.late(now)
	case r.running:
		return r.stop(now)
	case op.start == nil:
		return r.end(nil)
	default:
		op.started, op.since = true, now
		return []effect{sendEffect{message: &wire.StartApplication{GameConfig: op.start.GameConfig, ProfileName: op.start.Profile, Arguments: op.start.Arguments}}}
	}
}

// late ends a start that exceeded its limit.
func (r *runState) late(now time.Time) []effect {
	if now.Sub(r.op.since) < r.times.Start {
		return nil
	}
	return r.end(&StartTimeoutError{Device: r.id, After: r.times.Start, Lines: r.op.lines})
}

// stop first asks, then kills, then fails.
func (r *runState) stop(now time.Time) []effect {
	op := r.op
	switch waited := now.Sub(op.since); {
	case !op.began:
		op.began, op.since, op.killed = true, now, op.force
	case !op.killed && waited >= r.times.Stop:
		op.killed, op.since = true, now
	case op.killed && waited >= r.times.Kill:
		return r.end(&WaitError{Device: r.id, For: "end of the game after a kill", After: r.times.Kill})
	default:
		return nil
	}
	mode := wire.StopAsk
	if op.killed {
		mode = wire.StopKill
	}
	return []effect{sendEffect{message: &wire.StopApplication{Mode: mode}}}
}

// refused ends a start that the device refused with a reason.
func (r *runState) refused(err error) []effect {
	if r.op == nil || !r.op.started {
		return nil
	}
	return r.end(err)
}

func (r *runState) end(err error) []effect {
	ticket := r.ticket
	r.op, r.ticket = nil, 0
	return []effect{doneEffect{ticket: ticket, err: err}}
}

// cancel ends an abandoned command. The game may still start or stop.
func (r *runState) cancel(ticket int) []effect {
	if r.op == nil || r.ticket != ticket {
		return nil
	}
	return r.end(context.Canceled)
}

// logged keeps lines for a StartTimeoutError.
func (r *runState) logged(line LogLine) {
	if r.op == nil || !r.op.started {
		return
	}
	r.op.lines = append(r.op.lines, line)
	if extra := len(r.op.lines) - MaxLogTail; extra > 0 {
		r.op.lines = r.op.lines[extra:]
	}
}

// wake is when tick has to be called, zero for never.
func (r *runState) wake() time.Time {
	switch op := r.op; {
	case op == nil:
		return time.Time{}
	case op.started:
		return op.since.Add(r.times.Start)
	case op.killed:
		return op.since.Add(r.times.Kill)
	default:
		return op.since.Add(r.times.Stop)
	}
}

// lineRate counts the lines of one second.
type lineRate struct {
	second time.Time
	lines  int
}

func (l *lineRate) allow(now time.Time) bool {
	if now.Sub(l.second) >= time.Second {
		l.second, l.lines = now, 0
	}
	l.lines++
	return l.lines <= MaxLogRate
}

// next is when a new second begins.
func (l *lineRate) next() time.Time { return l.second.Add(time.Second) }
