package update

import (
	"context"

	"collet/netproto/compat"
	"collet/netproto/release"
)

// Fault is why something could not be done. It is the only error type that Source and Stage return on purpose. Any other
// error counts as a transient Unreachable from Connect, a transient Interrupted from the rest of a Source, and a
// DiskFault that stays from a Stage.
//
// Untrusted is never tried again and DamagedDownload always (at most RetryRules.Damaged times a file), whatever
// Transient says.
type Fault struct {
	Cause     Cause
	Transient bool   // trying again may help without anybody doing anything
	Subject   string // the path, host or file that it is about; may be empty
	Err       error
}

// Error is the cause, the subject and the underlying error, as far as they are there.
func (f *Fault) Error() string {
	text := f.Cause.String()
	if f.Subject != "" {
		text += ": " + f.Subject
	}
	if f.Err != nil {
		text += ": " + f.Err.Error()
	}
	return text
}

// Unwrap gives the underlying error.
func (f *Fault) Unwrap() error { return f.Err }

// Want is one file to fetch, from Offset to its end. Offset is what a part on disk already holds.
type Want struct {
	File   release.File
	Offset int64
}

// Source is the server, as the Updater sees it. One method runs at a time, Close excepted. A method returns soon after
// its context has ended.
type Source interface {
	// Connect dials and shakes hands. It closes an earlier connection first.
	Connect(ctx context.Context) (compat.Judgement, error)
	// List returns what the server offers. It is valid after a verdict that allows a transfer.
	List(ctx context.Context) ([]release.File, error)
	// Fetch asks for every want and hands the bytes over in order: all of wants[0], then all of wants[1]. A want of
	// which nothing is missing is delivered once with no bytes. deliver is never called concurrently, must not keep
	// data, and its error ends Fetch, which returns it unchanged; it refuses bytes out of order and beyond the end of a
	// file as a ServerFault.
	Fetch(ctx context.Context, wants []Want, deliver func(i int, data []byte) error) error
	// Close ends the connection. It may be called at any time and more than once.
	Close() error
}

// Plan is what is missing.
type Plan struct {
	Mode    Mode
	Wants   []Want // never written to once returned
	Bytes   int64  // sum of the sizes of Wants' files
	Resumed int64  // sum of the offsets
	Matched int    // files of the list that concern this install, wanted or current
}

// Stage is the install, as the Updater sees it. One method runs at a time. Every error is a *Fault or a context error.
// A method that has a context returns soon after it has ended.
type Stage interface {
	// Plan compares the offer with the disk, checks every path and the free space, and prepares parts for what is
	// missing. progress is called as bytes are hashed; it may be called often, and from any goroutine until Plan
	// returns. A later Plan replaces an earlier one.
	Plan(ctx context.Context, mode Mode, offer []release.File, progress func(file string, done, size int64)) (Plan, error)
	// Write appends data to the part of the planned want i.
	Write(i int, data []byte) error
	// Finish checks that part i is complete and is what it was meant to become. A part that is not is thrown away and
	// the fault's cause is DamagedDownload and its subject the file.
	Finish(ctx context.Context, i int) error
	// Commit makes the finished parts live (Resources) or staged (Binaries), all of them. It is called only after every
	// want of the last Plan was finished, also when there was none.
	Commit(ctx context.Context) error
	// Abandon lets go of open files and keeps the parts, so that a later Plan goes on from them. It is called before
	// every pause and once at the very end, also when nothing is open and after Commit.
	Abandon() error
}
