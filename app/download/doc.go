// Package download gets files over any number of places that hold the same ones, in as few round trips as the line needs, resumed
// where they broke off, and not trusted until their digest was checked. It knows names, sizes, digests, ranges and places. What a
// file means, and which ones are needed, is its caller's concern.
//
// # Mirrors
//
// A Mirror is one place: an HTTP mirror (HTTPMirror) or the updater's own connection. It answers Get with the bytes of one
// named file from one offset to another, and says by three types what went wrong: *MissingError (the place says that it
// has no such file), *WrongError (the place answered, and the answer is wrong: its fault, with a WrongKind for each way
// in which servers are wrong), *NetError (there was no answer, or it broke off: the line's fault as far as can be told).
//
// HTTPMirror asks for single ranges with Accept-Encoding: identity, over HTTP/2 where the server offers it, with TLS 1.2 or
// newer, through the proxies of netproto/dial. It follows at most MaxRedirects redirects and none from https to http.
//
// # Fetcher
//
// A Fetcher gets files over several mirrors. What it promises:
//
//   - Whole returns nil only after the SHA-256 of everything in the spool was found equal to the object's digest. What
//     Small and Ranges bring is unverified, and who asked verifies it.
//   - The mirror that delivered best is asked first: mirrors rank by their failures of late and by bytes a second. One that has
//     delivered nothing for a while gets a small request now and then, so that a mirror that became good is found.
//   - A mirror that fails twice in a row at one file without bringing anything is left for that file, and the next one goes
//     on from the byte where it stopped. One that has no such file, or another one under its name, is left at once.
//     When none is left the error is an *ExhaustedError that says of each mirror why.
//   - A file that arrived whole and has the wrong digest is mended, not just fetched again: what the best mirror brought is
//     kept and the rest is asked of it anew. If the digest is still wrong it was that mirror (WrongStale), and the next one's
//     turn. Every try leaves one mirror less, so this ends.
//   - A server that sends whole files in place of ranges (WrongWhole) is used for what it can: a few bytes are skipped,
//     and when no other mirror is left it sends the whole file once, in one stream.
//   - Patience is about progress, never about the whole: a request ends when nothing came for Patience, and when it is
//     slower than an eighth of what another mirror delivered of late (WrongSlow). Paused time does not count.
//   - MinInFlight to MaxInFlight requests are under way. There is one more as long as one more made it faster, and half
//     as many after a timeout, a busy server (429, 503) or a collapse of the throughput: see pacer. A busy server is left
//     alone for as long as its Retry-After asks, at most MaxRetryAfter.
//   - Requests are large, because their bytes are written as they arrive and a broken one costs only a new request. A
//     request whose end is far away is cut in two when there is room for one more under way.
//   - A connection on which nothing comes, while another one became free, is not waited for: what it owes is asked for there.
//   - Ranges that are close to each other are asked for as one where the gap costs less than a request, and never so that
//     more than an eighth of what is wanted is fetched in vain: see coalesce.
//   - A cap of bytes a second, Pause and Resume hold for everything under way, at once.
//   - No goroutine outlives the call that started it, and Close waits for all calls.
//
// # Spool
//
// A Spool is a folder of parts of objects by digest, three files each:
//
//	<64 hex>.unverified   the bytes that have come, each where it belongs
//	<64 hex>.have         which those are: a record of ranges, replaced atomically, and only after the bytes were synced
//	<64 hex>.came         what came since: a note for each write, with a checksum of its bytes; not synced
//
// Nothing in the folder is believed because it is there: a part counts as complete only after this process hashed all of
// it, so a stop at any moment, of the process or the machine, can leave nothing that is wrong. The end of the
// process costs what it was just reading, and a power cut what came since the last record, CheckpointEvery at most. Parts are named by what they are to become, so what was fetched for one release
// serves the next one. What was not asked for in a long time goes first when there is more than the spool may hold.
//
// What is small enough to wait in memory (documents, lists, the sequel, objects up to 1 MiB, ranges of packs) lies in one file
// beside the spool until it is of no more use, piece by piece with checksums. So all starts of an update together fetch 1.05 times
// what one start fetches, wherever they are stopped, and each the timestamp, which is all that has to be asked anew.
package download

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"collet/netproto/release"
	"collet/platform/span"
)

// Mirror gets named things of one release folder from one place: an HTTP mirror, or the updater connection. It is safe for
// concurrent use.
type Mirror interface {
	// Name tells the place from others, in errors and in the log. It holds no password.
	Name() string
	// Get gives the bytes [from, to) of a file, or from "from" to the file's end if to is below 0. The name is slash-separated
	// below the release folder. limit is the most bytes that the file may have in all: a place that says it has more is a
	// *WrongError, and the reader never gives a byte beyond it.
	//
	// The reader gives exactly those bytes and then io.EOF, or an error before. It may be a Sized. The caller closes
	// it, also before its end. Errors of Get and of the reader are ctx's, a *MissingError, a *WrongError or a *NetError.
	// ctx covers the reader as well.
	Get(ctx context.Context, name string, from, to int64, limit int64) (io.ReadCloser, error)
}

// Sized is what the reader of a Mirror may implement: how many bytes the whole file has, as the place says; below 0 if it
// does not say.
type Sized interface{ Total() int64 }

// Object is one file below a release folder.
type Object struct {
	Name   string         // as a Mirror takes it, for example "objects/ab/ab…"
	Size   int64          // bytes; below 0 is unknown
	Digest release.Digest // SHA-256; only Whole needs it
	Parts  bool           // Ranges gives up rather than take the whole file for a small part: there are other means
}

// ObjectAt is the object that a verified document names.
func ObjectAt(o release.Object) Object { return Object{Name: o.Path(), Size: o.Size, Digest: o.Sum} }

// Range is bytes of a file.
type Range = span.Span[int64]

// MissingError says that a place has no such file. errors.Is with fs.ErrNotExist holds.
type MissingError struct {
	Mirror string // "" where all mirrors say so
	Name   string
	Status int // of HTTP; 0 elsewhere
}

func (e *MissingError) Error() string {
	text := fmt.Sprintf("no file %q", e.Name)
	if e.Mirror != "" {
		text = e.Mirror + ": " + text
	}
	if e.Status != 0 {
		text += fmt.Sprintf(" (status %d)", e.Status)
	}
	return text
}

// Is makes it an fs.ErrNotExist.
func (e *MissingError) Is(target error) bool { return target == fs.ErrNotExist }

// WrongKind says in which way an answer was wrong. The texts are for people and logs; a caller compares the values.
type WrongKind string

const (
	// WrongWhole is the whole file where a range was asked for (200 in place of 206), too much of it to skip.
	WrongWhole WrongKind = "sent the whole file in place of a range"
	// WrongRange is a range that was not asked for: another Content-Range, or several ranges.
	WrongRange WrongKind = "sent another range than was asked for"
	// WrongRefused is a range that the place says is outside of the file (416): its file is shorter.
	WrongRefused WrongKind = "says that the range is outside of the file"
	// WrongLength is a length that is not that of the file, said before any byte: another file under this name.
	WrongLength WrongKind = "has a file of another length"
	// WrongShort is a body that ended before its time.
	WrongShort WrongKind = "sent too few bytes"
	// WrongLong is a body that went on behind its end.
	WrongLong WrongKind = "sent too many bytes"
	// WrongEncoded is a body that was compressed on its way without being asked for.
	WrongEncoded WrongKind = "changed the bytes by compression"
	// WrongStale is the right length and the wrong digest: an old file, or a damaged one.
	WrongStale WrongKind = "sent bytes with another digest"
	// WrongPage is a web page in place of the file: the login page of a network, or a mirror's page of errors.
	WrongPage WrongKind = "sent a web page in place of the file; perhaps this network wants a login in a browser first"
	// WrongSlow is a place that delivers, far slower than another one did.
	WrongSlow WrongKind = "is far slower than another place"
	// WrongBusy is a place that wants to be left alone (429, 503).
	WrongBusy WrongKind = "is busy"
	// WrongRedirect is a redirect in circles, too long a row of them, or one from https to http.
	WrongRedirect WrongKind = "redirects to where we don't follow"
	// WrongStatus is any other status of HTTP, or an answer that is not HTTP.
	WrongStatus WrongKind = "answered with an error"
)

// WrongError says that a place answered, and that the answer is wrong. It is never the fault of this machine.
type WrongError struct {
	Mirror     string
	Name       string
	Kind       WrongKind
	Detail     string        // what exactly; may be empty
	RetryAfter time.Duration // WrongBusy: how long it asked to be left alone; 0 if it did not say
	Err        error         // may be nil
}

func (e *WrongError) Error() string {
	text := fmt.Sprintf("%s %s: %q", e.Mirror, e.Kind, e.Name)
	if e.Detail != "" {
		text += ", " + e.Detail
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the cause.
func (e *WrongError) Unwrap() error { return e.Err }

// NetKind says how a line failed. The texts are for people and logs; a caller compares the values.
type NetKind string

const (
	// NetUnreachable means that there was no connection: no such name, no route, refused, no answer to it.
	NetUnreachable NetKind = "can't be reached"
	// NetReset means that the connection broke.
	NetReset NetKind = "broke the connection"
	// NetStalled means that nothing came for Patience.
	NetStalled NetKind = "sent nothing for too long"
	// NetTLS means that there is no TLS with the place, or that its certificate proves nothing.
	NetTLS NetKind = "can't be spoken to safely"
	// NetProxy means that the proxy on the way there did not connect us.
	NetProxy NetKind = "can't be reached through the proxy"
)

// NetError says that there was no answer, or that it broke off.
type NetError struct {
	Mirror string
	Name   string
	Kind   NetKind
	Err    error // may be nil
}

func (e *NetError) Error() string {
	text := fmt.Sprintf("%s %s: %q", e.Mirror, e.Kind, e.Name)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the cause.
func (e *NetError) Unwrap() error { return e.Err }

// ExhaustedError says that no mirror is left for a file, and of each the last reason. errors.As finds the reasons.
type ExhaustedError struct {
	Name    string
	Reasons []error // one for each mirror, in the order in which they were given: *MissingError, *WrongError or *NetError
}

func (e *ExhaustedError) Error() string {
	reasons := make([]string, len(e.Reasons))
	for i, reason := range e.Reasons {
		reasons[i] = reason.Error()
	}
	return fmt.Sprintf("no place gives %q: %s", e.Name, strings.Join(reasons, "; "))
}

// Unwrap gives the reasons.
func (e *ExhaustedError) Unwrap() []error { return e.Reasons }
