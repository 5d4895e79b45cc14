package server

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/compat"
	"collet/netproto/server/config"
)

// Operator is where a server's compatibility settings are decided while it runs: which logic versions may connect, what a
// difference leads to, maintenance, redirects. There is one for each running server whose settings name a store; without one
// the server judges as its configuration says and nothing is changed live.
//
// Every handshake reads one immutable snapshot through an atomic pointer; a change is checked, written to the store together
// with its audit record, and only then becomes the snapshot that handshakes see. Sessions that are under way stay.
//
// All methods are safe for concurrent use. Those that change something need an Actor whose role is RoleEdit, take effect wholly or
// not at all, and return only when what they did is on disk. What they return belongs to the caller.
type Operator struct {
	log      zerolog.Logger
	store    Store
	meter    *compatMeter
	crowd    *crowd
	booted   []compat.Change // what the start did or warned of
	standing atomic.Pointer[standing]
	tokens   atomic.Pointer[[]Token]

	changing sync.Mutex    // one change at a time
	last     *compat.Audit // the newest record; nil for none. Guarded by changing
	helpers  sync.WaitGroup
	closing  chan struct{} // closed by Close: breaks off countdowns
	ending   sync.Once
	idle     *Catalogue // that nobody else closes; nil where a server does
}

// standing is what is decided now, with what it was decided for.
type standing struct {
	settings compat.Settings
	declared declaration
	snapshot *compat.Snapshot
	// catalogue is whose declaration it is.
	catalogue *Catalogue
}

// OperatorOptions are what the one who starts a server says.
type OperatorOptions struct {
	asStored       bool // nothing is reconciled and nothing written: the store is looked at
	AcceptRollback bool // an older server than the last one is meant: boot rule B4 lowers the active range
}

// Role says what somebody may do. The words stand in the store and in the API.
type Role string

const (
	RoleView Role = "view" // look at everything
	RoleEdit Role = "edit" // and change it
)

// Actor is who wants something, for the audit log. Authenticate makes one, or whoever speaks for an operator in this process.
type Actor struct {
	Name   string // of a token, or another name that an audit record shows, at most MaxActor bytes
	Role   Role
	Source string // compat.SourceAPI and its like
	Remote string // address; empty for none
}

// MaxActor is the longest name of an actor or a token in bytes, and MaxComment the longest comment.
const (
	MaxActor   = 64
	MaxComment = compat.MaxComment
)

// ForbiddenError says that an actor's role does not allow what it wanted.
type ForbiddenError struct{ Actor Actor }

func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("%q may only look: this needs the role %q", e.Actor.Name, RoleEdit)
}

// StaleError says that the settings have changed since the caller looked. Nothing was changed; look again.
type StaleError struct{ Asked, Current uint64 } // revisions

func (e *StaleError) Error() string {
	return fmt.Sprintf("the settings are at revision %d by now, not %d: look at them again", e.Current, e.Asked)
}

// ConfirmError says that a change lowers an end of the active range, and what it lacks: a confirmation, a comment, or both.
type ConfirmError struct {
	Impact       compat.Impact // whom it would affect
	NeedsComment bool
	NeedsConfirm bool
}

func (e *ConfirmError) Error() string {
	var lacks []string
	if e.NeedsConfirm {
		lacks = append(lacks, "a confirmation")
	}
	if e.NeedsComment {
		lacks = append(lacks, "a comment")
	}
	return fmt.Sprintf("lowering the active range needs %s: %d connected clients would not be let in again, %d players have played with a newer version",
		strings.Join(lacks, " and "), e.Impact.Sessions, e.Impact.Floors)
}

// InputError says what is wrong with something that a caller said, beside settings, for which there is compat.SettingsError.
type InputError struct{ Field, Why string }

func (e *InputError) Error() string { return e.Field + ": " + e.Why }

// ErrUnknown says that there is nothing by the name or number that was asked for.
var ErrUnknown = errors.New("there is none")

// Change is a wish to change the settings.
type Change struct {
	Revision uint64          // that the caller has looked at; another current one is a *StaleError
	Settings compat.Settings // wholly; their own revision is ignored
	Comment  string          // at most MaxComment bytes; needed for a lowering
	Confirm  bool            // the caller knows what a lowering means
	Kick     *time.Duration  // nil: sessions stay; otherwise those that would not be let in again are ended after it, at most MaxKick
}

// MaxKick is the longest countdown before sessions are ended: an hour is enough to finish a transfer and short enough to be
// remembered.
const MaxKick = time.Hour

// Outcome is what a change came to.
type Outcome struct {
	Settings compat.Settings  `json:"settings"`
	Changed  []string         `json:"changed"` // keys; none if the settings were the same already, and then there is no new revision
	Impact   compat.Impact    `json:"impact"`  // of all that the settings mean, as a dry run tells it
	Hints    []compat.Mistake `json:"hints"`   // what to know of settings that are valid
}

// Settings are those in force. The lists and maps in them must not be written to.
func (o *Operator) Settings() compat.Settings { return o.standing.Load().settings }

// Snapshot is what handshakes are judged by now. It must not be written to.
func (o *Operator) Snapshot() *compat.Snapshot { return o.standing.Load().snapshot }

// may is nil or a *ForbiddenError or *InputError.
func (a Actor) may(comment string) error {
	switch {
	case a.Role != RoleEdit:
		return &ForbiddenError{Actor: a}
	case len(a.Name) == 0 || len(a.Name) > MaxActor || strings.ContainsFunc(a.Name, config.IsControl):
		return &InputError{Field: "actor", Why: fmt.Sprintf("a name has 1 to %d bytes and no control characters", MaxActor)}
	case len(comment) > MaxComment:
		return &InputError{Field: "comment", Why: fmt.Sprintf("is %d bytes long, at most %d are kept", len(comment), MaxComment)}
	default:
		return nil
	}
}
