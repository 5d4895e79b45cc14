package update

import (
	"errors"
	"fmt"
)

// Step is the whole state machine: it returns the next state for e, and the effects to perform. It is pure and total. An
// event that the phase does not expect changes nothing; in Done that is every event. Step returns at most one effect.
func Step(s State, e Event) (State, []Effect) {
	if !s.expects(e) {
		return s, nil
	}
	if s.Cancelling && endsEffect(e) {
		return s.finish(Cancelled)
	}
	switch e := e.(type) {
	case Started:
		return s.connect()
	case CancelAsked:
		return s.cancel()
	case Connected:
		s.Phase, s.Met, s.Judgement, s.Server, s.Ahead = Judging, true, e.Judgement, e.Server, false
		return s, []Effect{Judge{e.Judgement}}
	case Judged:
		return s.judged()
	case Listed:
		s.Phase, s.Offer = Comparing, s.offered(e.Offer)
		return s, []Effect{Compare{s.Mode, e.Offer}}
	case Planned:
		return s.planned(e.Plan)
	case Received:
		s.Phase = Verifying
		return s, nil
	case Verified:
		s.Phase, s.Verified = Fetching, s.Verified+1
		return s, nil
	case Fetched:
		return s.fetched()
	case Committed:
		return s.finish(s.Mode.ready())
	case RetryDue:
		return s.connect()
	case Faulted:
		return s.faulted(e)
	}
	return s, nil
}

// expects is the diagram of the package comment as a table: which phase expects which event.
func (s State) expects(e Event) bool {
	switch e := e.(type) {
	case Started:
		return s.Phase == Idle
	case CancelAsked:
		return s.Phase != Done
	case Connected:
		return s.Phase == Connecting
	case Judged:
		return s.Phase == Judging
	case Listed:
		return s.Phase == Listing
	case Planned:
		return s.Phase == Comparing
	case Received:
		return s.Phase == Fetching && e.Want == s.Verified && e.Want < len(s.Plan.Wants)
	case Verified:
		return s.Phase == Verifying && e.Want == s.Verified
	case Fetched:
		return s.Phase == Fetching || s.Phase == Verifying
	case Committed:
		return s.Phase == Committing
	case RetryDue:
		return s.Phase == Waiting
	case Faulted:
		return s.Phase.mayFault()
	default:
		return false
	}
}

// mayFault reports whether the effect of the phase can fail.
func (p Phase) mayFault() bool {
	switch p {
	case Connecting, Listing, Comparing, Fetching, Verifying, Committing:
		return true
	default:
		return false
	}
}

// endsEffect reports whether e ends the effect in progress.
func endsEffect(e Event) bool {
	switch e.(type) {
	case Started, CancelAsked, Received, Verified:
		return false
	default:
		return true
	}
}

func (s State) connect() (State, []Effect) {
	s.Phase, s.Attempt, s.Delay = Connecting, s.Attempt+1, 0
	return s, []Effect{Connect{}}
}

// cancel waits for the effect in progress. In Idle there is no effect, so the update ends at once.
func (s State) cancel() (State, []Effect) {
	if s.Phase == Idle {
		return s.finish(Cancelled)
	}
	s.Cancelling = true
	return s, nil
}

// ready is the outcome of a mode after a commit.
func (m Mode) ready() Outcome {
	if m == Binaries {
		return BinariesStaged
	}
	return ResourcesReady
}

func (s State) planned(p Plan) (State, []Effect) {
	s.Plan, s.Verified = p, 0
	switch {
	case s.Ahead && (p.Blocked || len(p.Wants) == 0 || p.Matched == 0):
		return s.finish(Maintenance)
	case p.Blocked:
		return s.finish(ResourcesReady) // the installed set stays; Status.Blocked reports why
	case s.loops(p):
		return s.finish(UpdateLoop)
	case s.Mode == Binaries && p.Matched == 0:
		return s.finish(ServerMissingNativeUpdate)
	case len(p.Wants) == 0:
		s.Phase = Committing
		return s, []Effect{Commit{}}
	default:
		s.Phase = Fetching
		return s, []Effect{Fetch{p.Wants}}
	}
}

// fetched commits only if every want was verified, whatever the Source reports.
func (s State) fetched() (State, []Effect) {
	if s.Verified < len(s.Plan.Wants) { // also in Verifying: the current want is not counted yet
		return s.faulted(Faulted{Fault: &Fault{
			Cause: ServerFault, Transient: true,
			Err: fmt.Errorf("transfer ended after %d of %d files", s.Verified, len(s.Plan.Wants)),
		}})
	}
	if s.Ahead {
		return s.finish(Maintenance) // the parts stay, and the update after the maintenance resumes them
	}
	s.Phase = Committing
	return s, []Effect{Commit{}}
}

// faulted decides between another attempt and the end of the update.
func (s State) faulted(e Faulted) (State, []Effect) {
	if s.Ahead { // a failed prefetch is not an error
		return s.finish(Maintenance)
	}
	s.Fault = e.Fault
	if s.Fault == nil {
		s.Fault = &Fault{Cause: ServerFault, Err: errors.New("no reason given")}
	}
	if e.Gained > 0 {
		s.Tries, s.Refusals, s.Waited = 0, 0, 0
	}
	s.Tries++
	if s.Fault.Refused {
		s.Refusals++
	}
	if s.Fault.Cause == DamagedDownload {
		s.Damaged = countedOnce(s.Damaged, s.Fault.Subject)
	}
	if !s.mayRetry() {
		return s.fail()
	}
	s.Phase, s.Delay = Waiting, s.pause(e.Dice)
	s.Waited += s.Delay
	return s, []Effect{Wait{s.Delay}}
}

// fail ends with the current fault. If a server has answered before, an unreachable server is reported as a broken
// connection, not as a wrong address.
func (s State) fail() (State, []Effect) {
	if s.Met && s.Fault.Cause == Unreachable {
		broken := *s.Fault
		broken.Cause = Interrupted
		s.Fault = &broken
	}
	return s.finish(Failed)
}

// finish is the only transition to Done. Only Failed keeps its fault.
func (s State) finish(o Outcome) (State, []Effect) {
	if o != Failed {
		s.Fault = nil
	}
	s.Phase, s.Outcome, s.Delay, s.Cancelling = Done, o, 0, false
	return s, []Effect{Finish{}}
}
