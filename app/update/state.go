package update

import (
	"time"

	"collet/netproto/compat"
	"collet/netproto/release"
)

// Policy is what an update may do. It is set once and only read by Step.
type Policy struct {
	CanSelfUpdate bool // the platform lets the host replace its native module
	Retry         RetryRules

	Redirected bool  // another server sent us here: a second redirect is not followed
	AskPinned  bool  // somebody is asked before an update that the account's last version calls for
	Prefetch   bool  // what will be needed after a maintenance is fetched during it, where the server lets us
	Applied    Offer // what the last update installed; zero is none
}

// Offer is a module that a server asked for, and on what grounds. The same one again after it was installed means that it does
// not help (compat reference, section 3.8, loop guard). It is a comparable value; the zero value is none.
type Offer struct {
	Server   string `json:"server"`   // the server's build, or its compatibility version where it names no build
	Revision uint64 `json:"revision"` // of its settings
	Rule     uint8  `json:"rule"`
	Hash     string `json:"hash"` // over the modules on offer, in hex
}

// State is everything that Step decides by. It is a value: Step never changes what one of its fields points to, so an
// older State stays true. The zero value with a Policy is an update that was not started.
type State struct {
	Policy Policy

	Phase     Phase
	Mode      Mode             // of the last verdict that allowed a transfer
	Met       bool             // a server has judged us during this update, so Judgement says something
	Judgement compat.Judgement // the last one
	Server    string           // who gave it: see Offer
	Ahead     bool             // there is a maintenance, and what will be needed after it is fetched now and not put in place
	Offer     Offer            // the last one in Binaries mode
	Plan      Plan             // the last one
	Verified  int              // of Plan.Wants, how many are complete and checked

	Attempt  int            // number of connection attempts so far, 1 for the first
	Tries    int            // attempts in a row that failed without bringing a byte
	Refusals int            // of those, how many the server refused
	Waited   time.Duration  // the pauses between them
	Damaged  map[string]int // for each file: how often it arrived damaged. Never written to; a new one replaces it
	Fault    *Fault         // what the last attempt died of, or why the update failed
	Delay    time.Duration  // while Waiting: the whole pause

	Cancelling bool    // somebody asked to cancel; the effect under way has not ended yet
	Outcome    Outcome // meaningful when Phase is Done
}

// Event is something that happened. The types of this file are all there are.
type Event interface{ event() }

type (
	// Started begins the update.
	Started struct{}
	// CancelAsked says that nobody wants the update any more.
	CancelAsked struct{}
	// Connected ends Connect: a server took the hello and judged it.
	Connected struct {
		Judgement compat.Judgement
		Server    string // who gave it: see Offer
	}
	// Judged ends Judge.
	Judged struct{}
	// Listed ends List. The offer belongs to the state from then on.
	Listed struct{ Offer []release.File }
	// Planned ends Compare. The plan belongs to the state from then on.
	Planned struct{ Plan Plan }
	// Received says that all bytes of one more want are in its part. Want is how many were verified before. Fetch goes on.
	Received struct{ Want int }
	// Verified says that the part of that want is what it was meant to become. Want is the same number. Fetch goes on.
	Verified struct{ Want int }
	// Fetched ends Fetch without a fault.
	Fetched struct{}
	// Committed ends Commit.
	Committed struct{}
	// RetryDue ends Wait.
	RetryDue struct{}
	// Faulted ends Connect, List, Compare, Fetch or Commit. Gained is how many bytes the attempt added to parts that
	// stay on disk; Dice is a random number in [0, 1) that spreads the next pause.
	Faulted struct {
		Fault  *Fault
		Gained int64
		Dice   float64
	}
)

func (Started) event()     {}
func (CancelAsked) event() {}
func (Connected) event()   {}
func (Judged) event()      {}
func (Listed) event()      {}
func (Planned) event()     {}
func (Received) event()    {}
func (Verified) event()    {}
func (Fetched) event()     {}
func (Committed) event()   {}
func (RetryDue) event()    {}
func (Faulted) event()     {}

// Effect is something to do. At most one is under way at a time. The types of this file are all there are.
type Effect interface{ effect() }

type (
	// Connect dials and shakes hands; Connected or Faulted follows.
	Connect struct{}
	// Judge says the verdict aloud, with a warning where this version does not know it; Judged follows.
	Judge struct{ Judgement compat.Judgement }
	// List asks what is on offer; Listed or Faulted follows.
	List struct{}
	// Compare finds out what is missing; Planned or Faulted follows.
	Compare struct {
		Mode  Mode
		Offer []release.File
	}
	// Fetch brings the wants, one after another; Received and Verified come for each, then Fetched, or Faulted.
	Fetch struct{ Wants []Want }
	// Commit makes what was fetched count; Committed or Faulted follows.
	Commit struct{}
	// Wait lets go of the connection and the parts, and lets time pass; RetryDue follows.
	Wait struct{ For time.Duration }
	// Finish lets go of the connection and the parts for good. Nothing follows.
	Finish struct{}
)

func (Connect) effect() {}
func (Judge) effect()   {}
func (List) effect()    {}
func (Compare) effect() {}
func (Fetch) effect()   {}
func (Commit) effect()  {}
func (Wait) effect()    {}
func (Finish) effect()  {}
