package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"collet/netproto/launcher/wire"
	"collet/platform/text"
)

const (
	// maxBroken is how many malformed messages of one device close its connection: one may be a message of a later
	// version, a hundred are a fault.
	maxBroken = 100
	// maxProperties caps the names in a list of properties or profiles.
	maxProperties = 1000
)

type (
	// linkEffect links the run state, with its initial value 0, after connectAccepted was queued.
	linkEffect struct{}
	// admitEffect requests the admission decision; admittedEvent follows.
	admitEffect struct{ name string }
	// logEffect passes a line to the readers of logs.
	logEffect struct{ line LogLine }
	// closeEffect ends the connection.
	closeEffect struct{ err error }
	// dropEffect drops the unsent effects of a finished push.
	dropEffect struct{ run int }
	// doneEffect answers a command.
	doneEffect struct {
		ticket int
		err    error
	}
)

type (
	// messageEvent is one message of the device.
	messageEvent struct{ message wire.Message }
	// brokenEvent is a malformed one.
	brokenEvent struct{ err error }
	// admittedEvent is the decision about the device.
	admittedEvent struct {
		decision Decision
		id       string
		doubts   *doubts
	}
	// runEvent is a change of the linked run state.
	runEvent struct{ state uint8 }
	// pushCommand begins a push; no other is in progress.
	pushCommand struct {
		ticket int
		task   *pushTask
	}
	// runCommand starts or stops the game; no other is in progress.
	runCommand struct {
		ticket int
		op     *runOp
	}
	// cancelCommand ends a command without an answer.
	cancelCommand struct{ ticket int }
	// tickEvent is the moment that session.wake named.
	tickEvent struct{}
)

// sessionPhase is how far the greeting is.
type sessionPhase uint8

const (
	phaseGreeting  sessionPhase = 0 // connectRequest is awaited
	phaseAdmission sessionPhase = 1 // Admit is asked
	phaseReady     sessionPhase = 2
	phaseClosed    sessionPhase = 3
)

// sessionSettings is what all sessions of a desk share.
type sessionSettings struct {
	times   Times
	dialect wire.Dialect
	keep    func(path string) bool
	known   *layouts
}

// session is one connection with a device. It is pure: step takes an event and its time, and returns the effects to execute.
//
//	greeting ─connectRequest→ admission ─admitted→ ready        any → closed
//
// In ready at most one push and one start or stop are in progress; a push continues while the game runs.
type session struct {
	sessionSettings
	canOwn   bool // the transport offers our own mode
	phase    sessionPhase
	changed  time.Time // of the phase
	id       string
	features wire.Features
	own      bool
	heard    time.Time // the last message that came in
	alive    time.Time // the last keepAlive or heard, whatever is later
	broken   int
	info     DeviceInfo
	rate     lineRate
	lost     uint64 // lines that were dropped since the last one that was not
	run      *runState
	push     *pusher
	pushing  int // ticket
	runs     int // of pushers
	doubts   *doubts
}

func newSession(settings sessionSettings, canOwn bool, now time.Time) *session {
	return &session{sessionSettings: settings, canOwn: canOwn, changed: now, heard: now, alive: now, run: &runState{times: settings.times},
		doubts: new(doubts), info: DeviceInfo{Connected: true, Since: now, Push: PushProgress{Phase: PushIdle}}}
}

// step is the one transition.
func (s *session) step(now time.Time, e any) []effect {
	if s.phase == phaseClosed {
		return nil
	}
	switch e := e.(type) {
	case messageEvent:
		s.heard, s.alive = now, now
		return s.handleMessage(e.message, now)
	case brokenEvent:
		s.heard, s.alive = now, now
		return s.takeBroken(e.err, now)
	case admittedEvent:
		return s.admitted(e, now)
	case runEvent:
		return s.linked(e.state, now)
	case tickEvent:
		return s.tick(now)
	case pushCommand:
		return s.beginPush(e, now)
	case runCommand:
		return s.run.start(e, now)
	case cancelCommand:
		return s.cancel(e.ticket)
	}
	return s.read(e, now)
}

// read handles the results of a push's effects.
func (s *session) read(e any, now time.Time) []effect {
	if s.push == nil {
		return nil
	}
	var out []effect
	switch e := e.(type) {
	case scanEvent:
		out = s.push.scanned(e, now)
	case hashEvent:
		out = s.push.hashed(e, now)
	case readEvent:
		out = s.push.unreadable(e, now)
	}
	return s.pushed(out)
}

// handleMessage handles one message.
func (s *session) handleMessage(m wire.Message, now time.Time) []effect {
	switch s.phase {
	case phaseGreeting:
		request, is := m.(*wire.ConnectRequest)
		if !is {
			return s.close(&DeviceError{Device: s.info.Address.String(), Op: "greeting", Reason: "not a remote launcher device: check which program connects"})
		}
		s.phase, s.changed = phaseAdmission, now
		s.features, s.info.Name = request.SupportedFeatures, text.Line(request.Name)
		return []effect{admitEffect{name: s.info.Name}}
	case phaseAdmission:
		// A device must be silent until it is accepted. Some keepAlive does no harm.
		return s.count(nil)
	}
	switch m := m.(type) {
	case *wire.ResponseSystemProperty:
		s.takeProperty(m)
	case *wire.Logs:
		return s.log(now, now, m.Level, m.Source, m.Message)
	case *wire.LogLines:
		return s.takeLines(m, now)
	case *wire.RunReport:
		return s.takeReport(m, now)
	case *wire.Unknown, *wire.KeepAlive, *wire.ConnectRequest:
	default:
		if s.push != nil {
			return s.pushed(s.push.handleMessage(m, now))
		}
	}
	return nil
}

// count counts messages that should not have come.
func (s *session) count(err error) []effect {
	if s.broken++; s.broken > maxBroken {
		return s.close(&DeviceError{Device: s.name(), Op: "talk", Reason: fmt.Sprintf("more than %d malformed messages: update its launcher, or choose the other dialect", maxBroken)})
	}
	return nil
}

// takeBroken handles a malformed message. A push that awaits exactly this answer fails.
func (s *session) takeBroken(err error, now time.Time) []effect {
	if s.phase == phaseGreeting {
		return s.close(err)
	}
	out := s.count(err)
	if s.phase == phaseReady && s.push != nil {
		out = append(out, s.pushed(s.push.broken(err))...)
	}
	return out
}

// admitted accepts the device: connectAccepted comes before the link, whose list has exactly one value; then the
// properties are requested at once.
func (s *session) admitted(e admittedEvent, now time.Time) []effect {
	if s.phase != phaseAdmission {
		return nil
	}
	if e.decision != Admit {
		return s.close(&DeviceError{Device: s.info.Name, Op: "greeting", Reason: "it was not let in: pair it first"})
	}
	s.phase, s.changed, s.id, s.info.ID, s.run.id = phaseReady, now, e.id, e.id, e.id
	s.doubts = e.doubts
	enabled := wire.Features(0)
	if s.canOwn && s.dialect == wire.Released {
		enabled = s.features & wire.FeatureCollet
	}
	s.own = enabled != 0
	s.info.Own = s.own
	out := []effect{sendEffect{message: &wire.ConnectAccepted{EnabledFeatures: enabled}}, linkEffect{}}
	if s.dialect == wire.Released {
		for _, name := range []string{wire.PropertyNames, wire.PropertyProfiles, wire.PropertyDefaultProfile} {
			out = append(out, sendEffect{message: &wire.RequestSystemProperty{Property: name}})
		}
	}
	return out
}

func (s *session) beginPush(c pushCommand, now time.Time) []effect {
	s.push = &pusher{id: s.id, own: s.own, draft: s.dialect == wire.Draft, times: s.times, keep: s.keep, known: s.known, doubts: s.doubts,
		task: c.task, run: s.runs}
	s.pushing = c.ticket
	return s.pushed(s.push.begin(now))
}

// pushed checks whether a push has ended, and drops what its attempts left unsent.
func (s *session) pushed(out []effect) []effect {
	if s.push == nil {
		return out
	}
	if s.push.run != s.runs {
		s.runs = s.push.run
		out = append([]effect{dropEffect{run: s.runs}}, out...)
	}
	s.info.Push = s.push.progress()
	if s.push.ended {
		err := s.push.err
		out = append(out, doneEffect{ticket: s.pushing, err: err})
		s.push, s.pushing = nil, 0
		if wait := (*WaitError)(nil); errors.As(err, &wait) {
			// The transport is alive but the device does not answer: only a new connection can help.
			out = append(out, s.close(err)...)
		}
	}
	return out
}

// cancel ends an abandoned command.
func (s *session) cancel(ticket int) []effect {
	if s.push != nil && s.pushing == ticket {
		s.push.abandon()
		s.info.Push.Phase = PushIdle
		s.push, s.pushing = nil, 0
		s.runs++
		return []effect{dropEffect{run: s.runs}, doneEffect{ticket: ticket, err: context.Canceled}}
	}
	return s.run.cancel(ticket)
}

// abandon handles the end of the connection.
func (s *session) abandon() {
	if s.push != nil {
		s.push.abandon()
	}
	s.phase = phaseClosed
}

func (s *session) close(err error) []effect {
	s.abandon()
	return []effect{closeEffect{err}}
}

// tick handles whatever is due.
func (s *session) tick(now time.Time) (out []effect) {
	switch due := s.changed.Add(s.limit()); {
	case s.phase == phaseReady:
	case now.Before(due):
		return nil
	default:
		return s.close(&WaitError{Device: s.name(), For: "greeting", After: s.limit()})
	}
	if s.push != nil {
		out = s.pushed(s.push.tick(now))
	}
	out = append(out, s.run.tick(now)...)
	out = append(out, s.reportLost(now)...)
	if s.dialect == wire.Released && now.Sub(s.alive) >= s.times.KeepAlive {
		s.alive = now
		out = append(out, sendEffect{message: &wire.KeepAlive{}})
	}
	return out
}

func (s *session) limit() time.Duration {
	if s.phase == phaseGreeting {
		return s.times.Greeting
	}
	return s.times.Admission
}

// wake is when tick has to be called next, zero for never. It lies after the last tick.
func (s *session) wake() time.Time {
	if s.phase != phaseReady {
		return s.changed.Add(s.limit())
	}
	times := []time.Time{s.run.wake()}
	if s.lost > 0 {
		times = append(times, s.rate.next())
	}
	if s.dialect == wire.Released {
		times = append(times, s.alive.Add(s.times.KeepAlive))
	}
	if s.push != nil {
		times = append(times, s.push.wake())
	}
	if times = slices.DeleteFunc(times, time.Time.IsZero); len(times) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(times, time.Time.Compare)
}

// name is what errors call the device.
func (s *session) name() string {
	if s.id != "" {
		return s.id
	}
	return s.info.Address.String()
}
