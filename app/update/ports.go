package update

import (
	"context"
	"fmt"
	"strings"

	"collet/netproto/compat"
	"collet/netproto/release"
	"collet/platform/span"
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
	Refused   bool   // the machine is there and takes no connection now, as while a server restarts; with Transient
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

// Range is bytes of a file.
type Range = span.Span[int64]

// Want is one file to make. Missing is what has to be fetched of it: ranges within the file, none empty, in order, with a
// gap between any two. Everything else is on this disk already, in a part or in a file with other damage.
type Want struct {
	File    release.File
	Missing []Range // never written to once made
}

// WantFrom is the usual want: everything from offset on is missing.
func WantFrom(file release.File, offset int64) Want {
	if offset >= file.Size {
		return Want{File: file}
	}
	return Want{File: file, Missing: []Range{span.Of(offset, file.Size)}}
}

// Offset is the first byte that is missing, and the file's size where none is.
func (w Want) Offset() int64 {
	if len(w.Missing) == 0 {
		return w.File.Size
	}
	return w.Missing[0].Start
}

// Have is how many bytes need not be fetched.
func (w Want) Have() int64 {
	have := w.File.Size
	for _, r := range w.Missing {
		have -= r.End - r.Start
	}
	return have
}

// Damage is what is wrong with one file of the set that was all right once.
type Damage struct {
	File   string // relative to the install folder
	Size   int64  // that it should have
	Ranges []Range
}

// shownRanges is how many ranges a person is told of one file.
const shownRanges = 8

// Where lists the ranges for a person, each with its first and its last byte.
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

// MaxDamage is how many ranges a list of damage holds for all its files together. Behind them each file has one range, from
// its first damaged byte to its last: enough to tell where to look, and no more than a terminal can show.
const MaxDamage = 1000

// Damages lists the damage that a plan found. It is never written to once made.
type Damages struct{ Files []Damage }

// Source is the server, as the Updater sees it. One method runs at a time, Close excepted. A method returns soon after
// its context has ended.
type Source interface {
	// Connect dials and shakes hands. It closes an earlier connection first.
	Connect(ctx context.Context) (compat.Judgement, error)
	// List returns what the server offers. It is valid after a verdict that allows a transfer.
	List(ctx context.Context) ([]release.File, error)
	// Fetch brings the missing ranges of every want, and hands their bytes over one want after another, in any order of
	// wants, and within a want in the order of its bytes. No delivery holds bytes of two ranges. A want of which nothing is
	// missing is delivered once with no bytes. An error of to ends Fetch, which returns it unchanged.
	Fetch(ctx context.Context, wants []Want, to Delivery) error
	// Close ends the connection. It may be called at any time and more than once.
	Close() error
}

// Delivery takes the bytes of one Fetch. Its methods are never called concurrently. After an error it takes nothing more.
type Delivery interface {
	// Deliver takes the next bytes of want i and does not keep data. Bytes out of order, of another want than the one under
	// way, and beyond the end of a range are a ServerFault.
	Deliver(i int, data []byte) error
	// Restart says that what was delivered of want i, the one under way, is wrong although each way to it kept to its
	// rules. What is there of it is thrown away: all of the file is missing then, from its first byte to its last, and no
	// want is under way.
	Restart(i int) error
}

// Traffic is what a Source has on the line for one update, in bytes. It is a comparable value.
type Traffic struct {
	Total  int64 // that have to come, as far as it is known; 0 while nothing is
	Done   int64 // of those, how many are here, those of earlier attempts included
	Paused bool  // somebody asked for a pause
	Cap    int64 // bytes a second at most; 0 is no cap
}

// Carrier is a Source on whose line other bytes travel than those of the files, such as patches, and whose traffic can be
// governed. Its methods are safe for concurrent use, at any time.
type Carrier interface {
	// Traffic tells how far the bytes on the line are.
	Traffic() Traffic
}

// Teller is a Source that knows who gave the last judgement.
type Teller interface {
	// Server is the build of the server that answered the last Connect, or its compatibility version where it names no build;
	// empty where it says neither.
	Server() string
}

// Plan is what is missing.
type Plan struct {
	Mode    Mode
	Wants   []Want   // never written to once returned
	Bytes   int64    // sum of the sizes of Wants' files
	Resumed int64    // of those, how many need not be fetched
	Matched int      // files of the list that concern this install, wanted or current
	Damage  *Damages // nil where nothing of the set is damaged

	// HeldBack says that the offered set was taken back after failed starts, so that nothing is wanted of it.
	HeldBack bool
}

// Stage is the install, as the Updater sees it. One method runs at a time. Every error is a *Fault or a context error.
// A method that has a context returns soon after it has ended.
type Stage interface {
	// Plan compares the offer with the disk, checks every path and the free space, and prepares parts for what is
	// missing. progress is called as bytes are hashed; it may be called often, and from any goroutine until Plan
	// returns. Where it is known before, one call comes first with no file and the size of all that will be hashed. A later
	// Plan replaces an earlier one.
	Plan(ctx context.Context, mode Mode, offer []release.File, progress func(file string, done, size int64)) (Plan, error)
	// Advance fills the part of the planned want i with what this disk holds, up to the next byte that is missing. It is
	// called before the first Write of each missing range. Where the disk no longer holds what Plan saw, the part keeps what
	// is right of it, the fault's cause is DamagedDownload, and a later Plan finds more to be missing.
	Advance(ctx context.Context, i int) error
	// Write appends data, of one missing range, to the part of the planned want i.
	Write(i int, data []byte) error
	// Restart throws away what the part of the planned want i holds. All of its file is missing then.
	Restart(ctx context.Context, i int) error
	// Finish checks that part i is complete and is what it was meant to become. A part that is not is thrown away and
	// the fault's cause is DamagedDownload and its subject the file.
	Finish(ctx context.Context, i int) error
	// Commit makes the finished parts live, or staged if a module is among them: all of them or none. It is called only
	// after every want of the last Plan was finished, also when there was none.
	Commit(ctx context.Context) error
	// Abandon lets go of open files and keeps the parts, so that a later Plan goes on from them. It is called before
	// every pause and once at the very end, also when nothing is open and after Commit.
	Abandon() error
}
