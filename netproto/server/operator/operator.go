package operator

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/compat"
)

// Operator applies compatibility settings while a server runs. There is one for each running server whose settings name a store;
// without one the server judges as its configuration says.
//
// All methods are safe for concurrent use. Those that change something need an Actor whose role is RoleEdit, take effect wholly or
// not at all, and return only when what they did is on disk. What they return belongs to the caller.
type Operator struct {
	log      zerolog.Logger
	store    Store
	metrics  *metrics
	sessions *sessions
	boot     []compat.Change // what the start did or warned of
	current  atomic.Pointer[current]
	tokens   atomic.Pointer[[]Token]

	changing sync.Mutex    // one change at a time
	last     *compat.Audit // the newest record; nil for none. Guarded by changing
	running  sync.WaitGroup
	closing  chan struct{} // closed by Close: breaks off countdowns
	close    sync.Once
}

// current are the settings in force, with the declaration that they apply to.
type current struct {
	settings compat.Settings
	declared *compat.Declared
	snapshot *compat.Snapshot
}

// Options are how a store is opened.
type Options struct {
	AsStored       bool // nothing is reconciled with the build and nothing is written; a store without settings is an error
	AcceptRollback bool // an older server than the last one is meant: boot rule B4 lowers the active range
}

// Role says what an actor may do. The words stand in the store and in the API.
type Role string

const (
	RoleView Role = "view" // look at everything
	RoleEdit Role = "edit" // and change it
)

// Actor is the author of a change, for the audit log. Authenticate makes one, or a caller in this process.
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
func (o *Operator) Settings() compat.Settings { return o.current.Load().settings }

// Snapshot is what handshakes are judged by now. It must not be written to.
func (o *Operator) Snapshot() *compat.Snapshot { return o.current.Load().snapshot }

// SnapshotFor is what handshakes are judged by that are offered what d declares. While a server replaces one declaration by another,
// settings in force are applied to each: a client is never judged by one and offered the files of the other.
func (o *Operator) SnapshotFor(d *compat.Declared) *compat.Snapshot {
	now := o.current.Load()
	if now.declared == d {
		return now.snapshot
	}
	return d.Snapshot(now.settings, time.Now())
}

// Manifest are the components of the server's own build; nil is unknown. It must not be written to.
func (o *Operator) Manifest() *compat.Manifest { return o.current.Load().declared.Manifest }

// may is nil or a *ForbiddenError or *InputError.
func (a Actor) may(comment string) error {
	switch {
	case a.Role != RoleEdit:
		return &ForbiddenError{Actor: a}
	case len(a.Name) == 0 || len(a.Name) > MaxActor || strings.ContainsFunc(a.Name, isControl):
		return &InputError{Field: "actor", Why: fmt.Sprintf("a name has 1 to %d bytes and no control characters", MaxActor)}
	case len(comment) > MaxComment:
		return &InputError{Field: "comment", Why: fmt.Sprintf("is %d bytes long, at most %d are kept", len(comment), MaxComment)}
	default:
		return nil
	}
}

func isControl(r rune) bool { return r < ' ' || r == 0x7F }
