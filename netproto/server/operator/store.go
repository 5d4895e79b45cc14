package operator

import (
	"fmt"
	"io"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/platform"
)

// Store keeps every revision of the settings, the audit log, the players' floors, and the access tokens. A method that returns
// without an error has written to disk. It is safe for concurrent use; only the Operator writes.
//
// The default is a file on the server's own disk (OpenStore). A store that several servers share is another implementation: its
// Settings change without a Commit of this server, and Changed reports that.
type Store interface {
	// Settings is the document in force and the id of the build that wrote it; nil if not written yet.
	Settings() (document []byte, build string, err error)
	// Revision is the document of an earlier revision. The error is ErrUnknown if it was not found.
	Revision(number uint64) ([]byte, error)
	// Commit puts a document into force under its revision and appends its record, both or neither. Revision and record number
	// are the current ones plus one; if the store already has that revision the error is a *StaleError.
	Commit(document []byte, revision uint64, record compat.Audit) error
	// Append appends a record that is not about settings.
	Append(record compat.Audit) error
	// Records returns at most limit records, fewer if they are large, the newest first, with numbers below before; 0 begins with
	// the newest.
	Records(before uint64, limit int) ([]compat.Audit, error)
	// Log is the whole audit log as written, the oldest first. head is the number of the newest record at that moment. The caller
	// closes log.
	Log() (log io.ReadCloser, head uint64, err error)
	// Floor is the lowest logic version with which an account may play, 0 for none.
	Floor(account string) (int32, error)
	// SetFloor changes it and returns the previous floor. Without lower it only raises it. The error is ErrStoreFull if there are
	// MaxFloors already.
	SetFloor(account string, floor int32, lower bool) (was int32, err error)
	// Floors is the number of accounts for each floor. The caller owns it.
	Floors() map[int32]int
	// Accounts lists the accounts with a floor that match a query, by name. The next page begins after the account next, which is
	// empty at the end; a page without accounts may have a next one.
	Accounts(q AccountQuery) (accounts []AccountFloor, next string, err error)
	// Tokens are all tokens, and SetTokens replaces them.
	Tokens() ([]Token, error)
	SetTokens(tokens []Token) error
	// Changed has a value when another server has changed the settings. It is nil if the store is not shared.
	Changed() <-chan struct{}
	// Close waits for pending work.
	Close() error
}

// Limits of a store.
const (
	// MaxFloors is the largest number of accounts with a floor: accounts come from clients, and each takes about 100 bytes on
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
