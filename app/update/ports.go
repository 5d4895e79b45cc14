package update

import (
	"context"
	"fmt"
	"strings"

	"collet/netproto/compat"
	"collet/netproto/release"
	"collet/platform/span"
)

// Fault is the reason for a failed operation. It is the error type of Source and Destination. Any other error counts as a
// transient Unreachable from Source.Connect, a transient Interrupted from the other methods of a Source, and a permanent
// DiskFault from a Destination.
//
// Untrusted is never retried. DamagedDownload is always retried, at most RetryRules.Damaged times per file. Transient does
// not matter for either.
type Fault struct {
	Cause     Cause
	Transient bool   // a retry may help without any action of the player
	Refused   bool   // the host is up but refuses connections, as during a restart of the server; with Transient
	Subject   string // the affected path, host or file; may be empty
	Err       error
}

// Error joins the cause, the subject and the underlying error, as far as present.
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

// Unwrap returns the underlying error.
func (f *Fault) Unwrap() error { return f.Err }

// Range is a range of bytes of a file.
type Range = span.Span[int64]

// Want is one file to produce. Missing lists the ranges to fetch: not empty, in order, with a gap between any two. All
// other bytes are already on this disk, in a part or in a damaged file.
type Want struct {
	File    release.File
	Missing []Range // never written to afterwards
}

// WantFrom returns a want that misses everything from offset on.
func WantFrom(file release.File, offset int64) Want {
	if offset >= file.Size {
		return Want{File: file}
	}
	return Want{File: file, Missing: []Range{span.Of(offset, file.Size)}}
}

// Offset is the position of the first missing byte, or the file's size if nothing is missing.
func (w Want) Offset() int64 {
	if len(w.Missing) == 0 {
		return w.File.Size
	}
	return w.Missing[0].Start
}

// Have is the number of bytes that need not be fetched.
func (w Want) Have() int64 {
	have := w.File.Size
	for _, r := range w.Missing {
		have -= r.End - r.Start
	}
	return have
}

// Damage describes the damaged ranges of one file of the installed set.
type Damage struct {
	File   string // relative to the install folder
	Size   int64  // expected size
	Ranges []Range
}

// shownRanges is the largest number of ranges that Where lists for one file.
const shownRanges = 8

// Where formats the ranges for people, each with its first and its last byte.
func (d Damage) Where() string {
	words := make([]string, 0, shownRanges+1)
	for i, r := range d.Ranges {
		if i == shownRanges {
			words = append(words, fmt.Sprintf("and %d more", len(d.Ranges)-i))
			break
		}
		words = append(words, fmt.Sprintf("%d–%d", r.Start, r.End-1))
	}
	return strings.Join(words, ", ")
}

// MaxDamage is the largest number of ranges in a list of damage, over all files. Each further file has one range, from its
// first damaged byte to its last. That is enough to locate the damage, and short enough for a terminal.
const MaxDamage = 1000

// Damages lists the damage found by a plan. It is never written to afterwards.
type Damages struct{ Files []Damage }

// Source is the Updater's view of the server. Only one method runs at a time, except Close. A method returns soon after its
// context has ended.
type Source interface {
	// Connect dials and performs the handshake. It closes an earlier connection first.
	Connect(ctx context.Context) (compat.Judgement, error)
	// List returns the files that the server offers. It may be called after a verdict that allows a transfer.
	List(ctx context.Context) ([]release.File, error)
	// Fetch transfers the missing ranges of every want to a Delivery. It delivers one want after another, in any order of
	// wants. Within a want the bytes arrive in order. A delivery never spans two ranges. A want without missing bytes is
	// delivered once with no bytes. An error of to ends Fetch, which returns it unchanged.
	Fetch(ctx context.Context, wants []Want, to Delivery) error
	// Close ends the connection. It may be called at any time and more than once.
	Close() error
}

// Delivery receives the bytes of one Fetch. Its methods are never called concurrently. After an error it accepts nothing
// more.
type Delivery interface {
	// Deliver accepts the next bytes of want i and does not retain data. Bytes out of order, of a want other than the
	// current one, and beyond the end of a range are a ServerFault.
	Deliver(i int, data []byte) error
	// Restart discards what was delivered of want i, the current one: its bytes are wrong although each transfer strategy
	// kept to its rules. All bytes of the file that are on disk are thrown away. The whole file is then missing, and no
	// want is current.
	Restart(i int) error
}

// Traffic counts the bytes on the wire of one update. It is a comparable value.
type Traffic struct {
	Total  int64 // bytes to receive, as far as known; 0 while unknown
	Done   int64 // bytes received, including those of earlier attempts
	Paused bool  // the transfer was paused on request
	Cap    int64 // rate limit in bytes per second; 0 is unlimited
}

// Carrier is a Source that receives other bytes than those of the files, such as patches, and whose rate can be controlled.
// Its methods are safe for concurrent use, at any time.
type Carrier interface {
	// Traffic returns the progress of the bytes on the wire.
	Traffic() Traffic
}

// Teller is a Source that can identify the server of the last judgement.
type Teller interface {
	// Server is the build of the server that answered the last Connect, or its compatibility version if it names no build.
	// It is empty if the server names neither.
	Server() string
}

// Plan lists what an update has to fetch.
type Plan struct {
	Mode    Mode
	Wants   []Want   // never written to once returned
	Bytes   int64    // sum of the sizes of Wants' files
	Resumed int64    // bytes of those that need not be fetched
	Matched int      // offered files that belong to this install, wanted or current
	Damage  *Damages // nil if no file of the set is damaged

	// Blocked reports that the offered set was rolled back after failed starts. Wants is then empty.
	Blocked bool
}

// Destination is the Updater's view of the install. One method runs at a time. Every error is a *Fault or a context error. A
// method with a context returns soon after the context has ended.
type Destination interface {
	// Plan compares the offer with the disk, checks every path and the free space, and prepares parts for the missing
	// files. It calls progress as bytes are hashed, often, and from any goroutine until Plan returns. If the size of all
	// files to hash is known in advance, the first call has that size and no file. A later Plan replaces an earlier one.
	Plan(ctx context.Context, mode Mode, offer []release.File, progress func(file string, done, size int64)) (Plan, error)
	// Advance fills the part of planned want i with bytes from this disk, up to the next missing byte. It is called before
	// the first Write of each missing range. If the disk no longer holds what Plan saw, the part keeps its correct bytes
	// and the fault's cause is DamagedDownload. A later Plan then finds more to be missing.
	Advance(ctx context.Context, i int) error
	// Write appends data to the part of planned want i. The data belongs to one missing range.
	Write(i int, data []byte) error
	// Restart discards the part of planned want i. The whole file is then missing.
	Restart(ctx context.Context, i int) error
	// Finish checks that part i is complete and matches its digest. It deletes a part that does not; the fault's cause is
	// then DamagedDownload and its subject the file.
	Finish(ctx context.Context, i int) error
	// Commit makes the finished parts live, all of them or none. If a module is among them, they wait for a swap: complete,
	// and not yet live. It is called after every want of the last Plan was finished, and also if the Plan had no wants.
	Commit(ctx context.Context) error
	// Abandon closes open files and keeps the parts, so that a later Plan can resume them. It is called before every pause
	// and once at the end, also if no file is open and after Commit.
	Abandon() error
}
