package host

import "collet/app/update"

// step is what an attempt does next.
type step string

const (
	stepMakeRoom   step = "make room"         // for a newer version of this program
	stepNoModule   step = "no module"         // end: nothing of this game can be started
	stepNothing    step = "nothing before"    // end: the offered set is blocked, and no set is installed
	stepPlayBefore step = "play the last set" // the offered set is blocked
	stepPlay       step = "play"              // everything is in its place
	stepOffline    step = "play offline"      // no answer, and the installed set has proven itself
	stepSwap       step = "swap"              // a module is complete, not live yet: a new one, or the replacement of a damaged one
	stepEnd        step = "end"               // with the outcome of the update
)

// updateResult determines the step after an update.
type updateResult struct {
	outcome  update.Outcome
	blocked  bool // the offered set was rolled back here; the installed one may have been repaired
	due      bool // a newer version of this program waits for its trial
	bare     bool // no module of this game was installed
	prepared bool // a complete module waits for its swap; never one that is blocked
	packs    bool // at least one pack is installed
	offline  bool // the update failed, and the installed version may be played without an answer
}

// nextStep is the step after an update. It is total: every combination has one.
func (u updateResult) nextStep() step {
	staged := u.prepared && isReady(u.outcome)
	switch {
	case u.due:
		return stepMakeRoom
	case u.bare && !staged && (u.blocked || isReady(u.outcome)):
		return stepNoModule
	case u.blocked && !u.packs:
		return stepNothing
	case u.blocked && !staged:
		return stepPlayBefore
	case u.outcome == update.ResourcesReady && !u.prepared:
		return stepPlay
	case u.offline && !u.bare && !u.blocked:
		return stepOffline
	case !isReady(u.outcome):
		return stepEnd
	}
	return stepSwap
}
