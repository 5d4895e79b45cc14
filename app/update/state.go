package update

import (
	"time"

	"collet/netproto/compat"
	"collet/netproto/release"
)

// Policy says what an update may do. It is set once; Step only reads it.
type Policy struct {
	CanSelfUpdate bool // the platform lets the host replace its native module
	Retry         RetryRules

	Redirected bool  // another server redirected the client here: a second redirect is not followed
	AskPinned  bool  // the player decides about an update that the account's floor requires
	Prefetch   bool  // files for the update after a maintenance are fetched during it, where the server allows that
	Applied    Offer // the module that the last update installed; zero if none
}

// Offer identifies a module that a server requests, and the rule behind the request. The same Offer again after its
// installation means that the update does not satisfy the server (loop guard). It is a comparable value; the zero value
// means no offer.
type Offer struct {
	Server   string `json:"server"`   // the server's build, or its compatibility version if it names no build
	Revision uint64 `json:"revision"` // of the server's settings
	Rule     uint8  `json:"rule"`
	Hash     string `json:"hash"` // over the offered modules, in hex
}

// State is the whole input of Step besides the event. It is a value: Step never changes what its fields point to, so older
// States remain valid. The zero value with a Policy is an update that has not started.
type State struct {
	Policy Policy

	Phase     Phase
	Mode      Mode             // of the last verdict that allowed a transfer
	Met       bool             // a server has answered during this update, so Judgement is valid
	Judgement compat.Judgement // the last one
	Server    string           // the server that sent it: see Offer
	Ahead     bool             // a maintenance is on; the files of the update after it are fetched now and not committed
	Offer     Offer            // the last one in Binaries mode
	Plan      Plan             // the last one
	Verified  int              // number of Plan.Wants that are complete and verified

	Attempt  int            // number of connection attempts so far, 1 for the first
	Tries    int            // consecutive attempts that failed without adding a byte
	Refusals int            // those of Tries that the server refused
	Waited   time.Duration  // sum of the pauses between them
	Damaged  map[string]int // per file: number of damaged arrivals. Never written to; a new map replaces it
	Fault    *Fault         // the fault of the last attempt, or the reason for Failed
	Delay    time.Duration  // while Waiting: the whole pause

	Cancelling bool    // a cancel request has arrived; the effect in progress has not ended yet
	Outcome    Outcome // meaningful when Phase is Done
}

// Event is an input of the state machine. This file declares all its types.
type Event interface{ event() }

type (
	// Started begins the update.
	Started struct{}
	// CancelAsked requests cancellation.
	CancelAsked struct{}
	// Connected ends Connect: a server answered the hello with a verdict.
	Connected struct {
		Judgement compat.Judgement
		Server    string // the server that sent it: see Offer
	}
	// Judged ends Judge.
	Judged struct{}
	// Listed ends List. The State owns the offer from then on.
	Listed struct{ Offer []release.File }
	// Planned ends Compare. The State owns the plan from then on.
	Planned struct{ Plan Plan }
	// Received reports that the part of one more want has all its bytes. Want is the number of wants verified before. Fetch
	// continues.
	Received struct{ Want int }
	// Verified reports that the part of that want matches its digest. Want is the same number. Fetch continues.
	Verified struct{ Want int }
	// Fetched ends Fetch without a fault.
	Fetched struct{}
	// Committed ends Commit.
	Committed struct{}
	// RetryDue ends Wait.
	RetryDue struct{}
	// Faulted ends Connect, List, Compare, Fetch or Commit. Gained is the number of bytes that the attempt added to parts
	// that stay on disk. Dice is a random number in [0, 1) for the jitter of the next pause.
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

// Effect is an action for the worker. At most one is in progress at a time. This file declares all its types.
type Effect interface{ effect() }

type (
	// Connect dials and performs the handshake; Connected or Faulted follows.
	Connect struct{}
	// Judge logs the verdict, as a warning if this version does not know it; Judged follows.
	Judge struct{ Judgement compat.Judgement }
	// List requests the offered files; Listed or Faulted follows.
	List struct{}
	// Compare determines the missing files; Planned or Faulted follows.
	Compare struct {
		Mode  Mode
		Offer []release.File
	}
	// Fetch transfers the wants, one after another; Received and Verified follow for each, then Fetched, or Faulted.
	Fetch struct{ Wants []Want }
	// Commit puts the fetched files in place; Committed or Faulted follows.
	Commit struct{}
	// Wait closes the connection and the parts, then waits; RetryDue follows.
	Wait struct{ For time.Duration }
	// Finish closes the connection and the parts at the end of the update. No event follows.
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
