package operator

import (
	"fmt"
	"io"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/platform"
)

// Store is where an operator's decisions live: the settings with every revision there was, the audit log, the floors of players,
// and the tokens of those who may ask. What a method returned without an error is on disk. It is safe for concurrent use; the
// Operator is the only one who writes.
//
// The default is a file on the server's own disk (OpenStore). A store that several servers share is another implementation: its
// Settings change without a Commit of this server, and it tells so through Changed.
type Store interface {
	// Settings is the document in force and the id of the build that wrote it; nil where there is none yet.
	Settings() (document []byte, build string, err error)
	// Revision is the document of an earlier revision. The error is ErrUnknown where there is none.
	Revision(number uint64) ([]byte, error)
	// Commit makes a document the one in force, under its revision, and appends the record of it, both or neither. The revision is
	// that of the one in force and one more, and the record's number too; a store that has another one by now says *StaleError.
	Commit(document []byte, revision uint64, record compat.Audit) error
	// Append appends a record about something else than settings.
	Append(record compat.Audit) error
	// Records are at most limit records, fewer where they are large, the newest first, beginning below the number before; 0 is the newest of all.
	Records(before uint64, limit int) ([]compat.Audit, error)
	// Log is the whole audit log as it was written, the oldest first. The head is the number of the newest record at the same
	// moment. The caller closes it.
	Log() (log io.ReadCloser, head uint64, err error)
	// Floor is the lowest logic version with which an account may play, 0 for none.
	Floor(account string) (int32, error)
	// SetFloor changes it and returns what it was. Without lower it is only ever raised. The error is ErrStoreFull where there are
	// MaxFloors already.
	SetFloor(account string, floor int32, lower bool) (was int32, err error)
	// Floors is how many accounts have each floor. The caller owns it.
	Floors() map[int32]int
	// Accounts are those that have a floor, by name, as far as a query wants them. The next page begins behind the account that it
	// returns, empty at the end; there may be one even where no account is listed.
	Accounts(q AccountQuery) (accounts []AccountFloor, next string, err error)
	// Tokens are all tokens, and SetTokens replaces them.
	Tokens() ([]Token, error)
	SetTokens(tokens []Token) error
	// Changed has a value when the settings were changed by another server. It is nil where that can't be.
	Changed() <-chan struct{}
	// Close waits for what is under way.
	Close() error
}

// What a store holds at most.
const (
	// MaxFloors is how many accounts may have a floor: accounts come from clients, and each takes about 100 bytes of the disk.
	MaxFloors = 10_000_000
	// MaxAccount is the longest name of an account in bytes.
	MaxAccount = netproto.MaxAccount
	// MaxTokens is how many tokens there may be: one for each person and program that operates a server.
	MaxTokens = 100
	// MaxRecords is how many records are read at a time.
	MaxRecords = 1000
	// maxRecordBytes ends a page of records: each has two documents of settings.
	maxRecordBytes = 4 << 20
)

// StoreError says that a store can't be used, why, and what to do. It is the operator's to fix: nothing falls back to defaults,
// because that would let in who was shut out.
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
