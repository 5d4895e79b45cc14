package operator

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/adoption"
	"collet/netproto/compat"
)

// Operator applies compatibility settings while a server runs. A running server with a configured store has one; any other server
// judges by its configuration.
//
// Its own methods are about the settings. All methods of it and of its parts are safe for concurrent use. Those that change
// something need an Actor with the role for it, take effect completely or not at all, and return after the change is on disk. The caller
// owns the results.
type Operator struct {
	Tokens   *Tokens   // of the admin API and the dashboard
	Floors   *Floors   // of the players' accounts
	Audit    *AuditLog // of all changes
	Sessions *Sessions // the connected clients
	Games    *Games    // what game servers tell of their sessions
	Figures  Figures   // what beacons of clients tell; nil for none

	log     zerolog.Logger
	store   Store
	metrics *metrics
	boot    []compat.Change         // changes and warnings of the start
	current atomic.Pointer[current] // written under the lock of Audit
	running sync.WaitGroup
	closing chan struct{} // closed by Close; ends countdowns
	close   func() error
	holding sync.Mutex // the store is being moved, or HoldStore was called

	countdown atomic.Pointer[countdown] // the last one, until it ends; nil: none
}

// countdown is the time before sessions end that a revision no longer admits.
type countdown struct {
	end      time.Time
	revision uint64
}

// current are the settings in force, with their declaration and snapshot.
type current struct {
	settings compat.Settings
	declared *compat.Declared
	snapshot *compat.Snapshot
}

// Figures are what beacons of clients tell.
type Figures interface {
	// Adoption is the report of a window.
	Adoption(adoption.Window) (adoption.Report, error)
}

// Options are the options of Open.
type Options struct {
	AsStored       bool // settings are neither reconciled with the build nor written; a store without settings is an error
	AcceptRollback bool // accept an older server than the last one: boot rule B4 lowers the active range
	Figures        Figures
	After          *Operator // was closed; its sessions, countdown, games and metrics go on with the new one, and stored settings are not written
}

// Role is the set of rights of an actor. The texts are part of the store and the API.
type Role string

// Roles. Each may read everything.
const (
	RoleView    Role = "view"
	RoleOperate Role = "operate" // change the settings and floors: who may play
	RoleRelease Role = "release" // propose changes of the signed list: who is offered which release
	RoleAdmin   Role = "admin"   // all of it, and the tokens

	roleEdit Role = "edit" // what RoleAdmin was called in earlier stores and requests
)

// Roles are all roles, from the fewest rights to the most.
func Roles() []Role { return []Role{RoleView, RoleOperate, RoleRelease, RoleAdmin} }

// Current is the role by its present name.
func (r Role) Current() Role {
	if r == roleEdit {
		return RoleAdmin
	}
	return r
}

// May reports whether an actor of this role may do what another role is for. Each role may view.
func (r Role) May(what Role) bool {
	return what == RoleView || r.Current() == RoleAdmin || r == what
}

// Actor is the author of a change, for the audit log. Authenticate returns one; a caller in this process may create one.
type Actor struct {
	Name   string // of a token, or another name for the audit log, at most MaxActor bytes
	Role   Role
	Source string // compat.SourceAPI and similar
	Remote string // address; empty for none
}

// MaxActor is the longest name of an actor or a token in bytes, and MaxComment the longest comment.
const (
	MaxActor   = 64
	MaxComment = compat.MaxComment
)

// ForbiddenError says that an actor's role does not allow the call.
type ForbiddenError struct {
	Actor Actor
	Needs Role
}

func (e *ForbiddenError) Error() string {
	needs := fmt.Sprintf("%q", e.Needs)
	if e.Needs != RoleAdmin {
		needs += fmt.Sprintf(" or %q", RoleAdmin)
	}
	return fmt.Sprintf("%q has the role %q: this needs the role %s", e.Actor.Name, e.Actor.Role, needs)
}

// StaleError says that the settings have changed since the caller read them. The call changed nothing.
type StaleError struct{ Asked, Current uint64 } // revisions

func (e *StaleError) Error() string {
	return fmt.Sprintf("the settings are at revision %d, not %d: read them again", e.Current, e.Asked)
}

// ConfirmError says that a change lowers an end of the active range, and lacks a confirmation, a comment, or both; or that it raises the
// lower end, and lacks a comment.
type ConfirmError struct {
	Impact       compat.Impact // the affected sessions and accounts
	Raises       bool          // it lowers neither end
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
	if e.Raises {
		return fmt.Sprintf("raising the lower end of the active range needs %s: %d connected clients could not reconnect", strings.Join(lacks, " and "), e.Impact.Sessions)
	}
	return fmt.Sprintf("lowering the active range needs %s: %d connected clients could not reconnect, %d players have played a newer version",
		strings.Join(lacks, " and "), e.Impact.Sessions, e.Impact.Floors)
}

// InputError describes an invalid argument other than settings, whose error is compat.SettingsError.
type InputError struct{ Field, Why string }

func (e *InputError) Error() string { return e.Field + ": " + e.Why }

// ErrUnknown says that the requested name or number was not found.
var ErrUnknown = errors.New("not found")

// Change is a requested change of the settings.
type Change struct {
	Revision uint64          // that the caller has read; if it is not the current one the error is a *StaleError
	Settings compat.Settings // complete; their revision is ignored
	Comment  string          // at most MaxComment bytes; needed for a lowering, and where the lower end rises
	Confirm  bool            // confirms a lowering
	Kick     *time.Duration  // nil: sessions continue; otherwise the countdown after which sessions that are no longer admitted end, at most MaxKick
}

// MaxKick is the longest countdown before sessions are ended: an hour is enough to finish a transfer.
const MaxKick = time.Hour

// Outcome is the result of a change.
type Outcome struct {
	Settings compat.Settings  `json:"settings"`
	Changed  []string         `json:"changed"` // keys; empty if the settings were equal, without a new revision
	Impact   compat.Impact    `json:"impact"`  // of the settings as a whole, as in a dry run
	Hints    []compat.Mistake `json:"hints"`   // hints about valid settings
}

// Settings are the settings in force. Their lists and maps are read-only.
func (o *Operator) Settings() compat.Settings { return o.current.Load().settings }

// Snapshot is the current snapshot for handshakes. It is read-only.
func (o *Operator) Snapshot() *compat.Snapshot { return o.current.Load().snapshot }

// SnapshotFor is the snapshot for handshakes on the declaration d. While a server replaces one declaration by another, the
// settings in force apply to each: a client is never judged by one and offered the files of the other.
func (o *Operator) SnapshotFor(d *compat.Declared) *compat.Snapshot {
	now := o.current.Load()
	if now.declared == d {
		return now.snapshot
	}
	return d.Snapshot(now.settings, time.Now())
}

// Manifest has the components of the server's own build; nil if unknown. It is read-only.
func (o *Operator) Manifest() *compat.Manifest { return o.current.Load().declared.Manifest }

// CheckRights checks that an actor may do what a role is for, its name, and a comment. The error is a *ForbiddenError or *InputError.
func (a Actor) CheckRights(what Role, comment string) error {
	switch {
	case !a.Role.May(what):
		return &ForbiddenError{Actor: a, Needs: what}
	case len(a.Name) == 0 || len(a.Name) > MaxActor || strings.ContainsFunc(a.Name, isControl):
		return &InputError{Field: "actor", Why: fmt.Sprintf("a name has 1 to %d bytes and no control characters", MaxActor)}
	case len(comment) > MaxComment:
		return &InputError{Field: "comment", Why: fmt.Sprintf("is %d bytes long, at most %d are kept", len(comment), MaxComment)}
	default:
		return nil
	}
}

func isControl(r rune) bool { return r < ' ' || r == 0x7F }
