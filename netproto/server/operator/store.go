package operator

import (
	"errors"
	"fmt"
	"io"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/platform"
)

// Store keeps every revision of the settings, the audit log, the players' floors, and the access tokens. A method that returns
// without an error has written to disk. It is safe for concurrent use; only the Operator writes.
//
// FileStore is the one on the server's own disk. A store that several servers share is another implementation: there the settings
// change without a Commit of this server, and Changed reports that. Package storetest has what each of them must do.
type Store interface {
	// Settings is the document in force and the id of the build that wrote it; nil if not written yet.
	Settings() (document []byte, build string, err error)
	// Revision is the document of an earlier revision. The error is ErrUnknown if it was not found.
	Revision(number uint64) ([]byte, error)
	// Tokens are all tokens.
	Tokens() ([]Token, error)
	// Commit makes a change: its record and what comes with it, all of it or nothing. The errors are a *StaleError, ErrMoved,
	// ErrStoreFull, a *ReadOnlyError and those of the disk.
	Commit(c Commit) error
	// Records returns at most limit records, fewer if they are large, the newest first, with numbers below before; 0 begins with
	// the newest.
	Records(before uint64, limit int) ([]compat.Audit, error)
	// Log is the whole audit log as written, the oldest first. head is the number of the newest record at that moment. The caller
	// closes log.
	Log() (log io.ReadCloser, head uint64, err error)
	// Floor is the lowest logic version with which an account may play, 0 for none.
	Floor(account string) (int32, error)
	// Raise raises the floor of an account; a lower or equal one changes nothing. The error is ErrStoreFull if there are
	// MaxFloors already.
	Raise(account string, floor int32) error
	// Floors is the number of accounts for each floor. The caller owns it.
	Floors() map[int32]int
	// Accounts lists the accounts with a floor that match a query, by name. The next page begins after the account next, which is
	// empty at the end.
	Accounts(q AccountQuery) (accounts []AccountFloor, next string, err error)
	// Changed has a value after another server has changed something. It is nil if the store is not shared.
	Changed() <-chan struct{}
	// Writable returns a *ReadOnlyError while nothing can be changed.
	Writable() error
	// Backup writes the whole store as a file that OpenStore opens, as it is at this moment.
	Backup(io.Writer) error
	// Close waits for pending work.
	Close() error
}

// Commit is a change of a store.
type Commit struct {
	Record   compat.Audit  // follows the newest one, or the error is ErrMoved
	Document []byte        // of settings to put into force; nil: they stay
	Revision uint64        // of Document: the newest plus one, or the error is a *StaleError
	Tokens   *[]Token      // that replace all tokens; nil: they stay
	Floor    *AccountFloor // of an account, lower ones too; nil: floors stay
}

// ErrMoved says that another server has changed something since the newest record was read. Nothing was changed.
var ErrMoved = errors.New("another server of the cluster changed something at the same moment: try again")

// ReadOnlyError says that a shared store can be read and not changed.
type ReadOnlyError struct {
	Since time.Time // when it could last be changed
	Why   string
}

func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("the settings can be read and not changed since %s: %s", e.Since.UTC().Format("2006-01-02 15:04:05 UTC"), e.Why)
}

// Limits of a store.
const (
	// MaxFloors is the largest number of accounts with a floor: accounts come from clients, and each takes about 40 bytes on
	// disk.
	MaxFloors = 10_000_000
	// MaxAccount is the longest name of an account in bytes.
	MaxAccount = netproto.MaxAccount
	// MaxTokens is the largest number of tokens: one for each person and program that operates a server.
	MaxTokens = 100
	// MaxRecords is the largest number of records that are read at a time.
	MaxRecords = 1000
	// maxRecordBytes is the size at which a page of records ends: each record has two documents of settings.
	maxRecordBytes = 4 << 20
)

// StoreError says why a store can't be used, with a hint. The operator can fix it: there is no fallback to defaults, because that
// would admit excluded clients.
type StoreError struct {
	Path   string
	Backup string // a good copy of it; empty for none
	Err    error
	Hint   string
	Held   bool // another process has it open
}

func (e *StoreError) Error() string {
	text := fmt.Sprintf("compatibility store %q: %v", e.Path, platform.Reason(e.Err))
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	if e.Backup != "" {
		text += fmt.Sprintf("; the newest good copy is %q: look at it, and put it in the store's place", e.Backup)
	}
	return text
}

// Unwrap gives the underlying error.
func (e *StoreError) Unwrap() error { return e.Err }
