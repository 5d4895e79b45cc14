// Package download fetches files from any number of mirrors with few round trips. Interrupted downloads resume. Files are untrusted
// until their digest was checked. The package knows names, sizes, digests, ranges and mirrors. The meaning of a file, and which files
// are needed, is the caller's concern.
//
// # Mirrors
//
// A Mirror is one source: a web server (HTTPMirror) or a session of the updater connection (SessionMirror). Get returns a range of a named file. Its errors
// have three types: *MissingError (the mirror says that it has no such file), *WrongError (the mirror's answer is wrong, with a
// WrongKind for each kind of fault), *NetError (no answer, or an interrupted one: presumably a fault of the network).
//
// HTTPMirror requests single ranges with Accept-Encoding: identity, over HTTP/2 if the server offers it, with TLS 1.2 or newer,
// through the proxies of netproto/dial. It follows at most MaxRedirects redirects, and none from https to http. Credentials never follow to
// another origin, and neither does the address that redirects, which may be signed. A bearer token is sent where HTTPOptions.Token says.
// 401 is WrongSignIn, and so is 403 for a file that must exist there; other answers of 403 are a MissingError, because object stores
// that hide their content answer so for files that they lack. Package location says where web servers, GitHub releases and OCI registries keep the files. A registry may ask for a token,
// which the mirror gets as a reader without an account; its list of metadata files is requested once for a refresh.
//
// # Fetcher
//
// A Fetcher fetches files from several mirrors. It guarantees:
//
//   - Whole returns nil only after the SHA-256 of the complete object in the spool matched its digest. The results of Small and
//     Ranges are unverified; the caller verifies them.
//   - The fastest mirror is asked first: mirrors rank by recent failures and by bytes a second. A mirror without recent requests gets
//     a small probe now and then, so that an improved mirror is noticed.
//   - A mirror that fails twice in a row at one file without delivering data is dropped for that file, and the next mirror continues
//     from the last byte. A mirror without the file, or with another file under its name, is dropped at once. When no mirror is
//     left, the error is an *ExhaustedError with the reason for each mirror.
//   - A complete file with the wrong digest is repaired: the bytes of the best mirror are kept, and that mirror is asked for the
//     rest. If the digest is still wrong, that mirror is at fault (WrongStale), and the next one is tried. Each attempt excludes one
//     mirror, so the repair ends.
//   - A server that sends whole files in place of ranges (WrongWhole) is used as far as possible: a few bytes are skipped, and if no
//     other mirror is left it sends the whole file once, in one stream.
//   - Time limits apply to progress, never to a whole download: a request ends when no byte came for Patience, and when it is slower
//     than an eighth of another mirror's recent rate (WrongSlow). Paused time does not count.
//   - MinInFlight to MaxInFlight requests are in flight. Their number grows by one while that increases the throughput. It is halved
//     after a timeout, a busy server (429, 503) or a collapse of the throughput: see window. A busy server is not asked for the time of
//     its Retry-After, at most MaxRetryAfter.
//   - Requests are large: their bytes are written as they arrive, so an interrupted request only costs a new one. A request with much
//     left is split when another one may be in flight.
//   - A stalled connection is not waited for while another one is free: the free one requests the missing bytes.
//   - Ranges that touch each other are requested as one. Which gaps are worth being fetched is the business of those who plan ranges.
//   - A rate limit, Pause and Resume apply to all requests in flight, at once.
//   - No goroutine outlives the call that started it, and Close waits for all calls.
//
// # Spool
//
// A Spool is a folder with partial objects (parts) by digest, three files each:
//
//	<64 hex>.unverified   the received bytes, at their offsets
//	<64 hex>.have         the record: the received ranges; replaced atomically, after the bytes were synced
//	<64 hex>.came         a log of later writes: a note for each, with a checksum of its bytes; not synced
//
// The folder is untrusted: a part counts as complete only after this process hashed all of it. So a crash of the process or the
// machine never leaves a wrong object. A killed process loses only the bytes that it was reading. A power cut loses at most the bytes
// since the last record, CheckpointEvery at most. Parts are named by the digest of the complete object, so parts of one release serve
// the next one. When the spool is over its limit, the parts that were not written to for longest are removed first.
//
// Small files (documents, lists, the sequel, objects up to 1 MiB, ranges of packs) are kept in memory. Beside the spool one file holds
// their received pieces with checksums, until they are no longer needed. So all starts of an update together fetch at most 1.05 times
// the bytes of one uninterrupted start, wherever they are stopped, plus the timestamp for each start, which is always requested anew.
package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"collet/netproto/release"
	"collet/platform/span"
)

// Mirror fetches named files of one release folder from one source: an HTTP mirror, or the updater connection. It is safe for
// concurrent use.
type Mirror interface {
	// Name identifies the mirror in errors and in the log. It contains no password.
	Name() string
	// Get returns the bytes [from, to) of a file, or those from "from" to the file's end if to is below 0. The name is relative to the
	// release folder, with slashes. limit is the largest size of the file in bytes: a larger announced size is a *WrongError, and
	// the reader returns no byte beyond it.
	//
	// The reader returns exactly those bytes and then io.EOF, or an earlier error. It may implement Sized. The caller closes
	// it, at its end or before. Errors of Get and of the reader are ctx's, a *MissingError, a *WrongError or a *NetError.
	// ctx covers the reader as well.
	Get(ctx context.Context, name string, from, to int64, limit int64) (io.ReadCloser, error)
}

// Sized may be implemented by the reader of a Mirror. Total is the announced size of the whole file in bytes; below 0 is unknown.
type Sized interface{ Total() int64 }

// Object is one file below a release folder.
type Object struct {
	Name   string         // as in Mirror.Get, for example "objects/ab/ab…"
	Size   int64          // bytes; below 0 is unknown
	Digest release.Digest // SHA-256; only Whole needs it
	Parts  bool           // Ranges fails rather than fetch the whole file for a small part: the caller has other strategies

	// Arrived is called by Whole with the first n bytes of the object, unverified, whenever there are more of them; nil: it is not called.
	// n begins again at a lower number if bytes turned out to be wrong. from is valid until a call without it, which comes before Whole
	// returns. With Arrived the bytes come in order: Whole makes one request, and another one only if that takes long.
	Arrived func(from io.ReaderAt, n int64)
}

// ObjectAt is the object of a verified document.
func ObjectAt(o release.Object) Object { return Object{Name: o.Path(), Size: o.Size, Digest: o.Sum} }

// Range is a range of a file's bytes.
type Range = span.Span[int64]

// MissingError says that a mirror does not have the file. errors.Is with fs.ErrNotExist holds.
type MissingError struct {
	Mirror string // "" if all mirrors say so
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

// WrongKind is the kind of fault of an answer. The texts are for users and logs; callers compare the values.
type WrongKind string

const (
	// WrongWhole is the whole file in place of a range (200 in place of 206), with too many bytes before the range to skip.
	WrongWhole WrongKind = "sent the whole file in place of a range"
	// WrongRange is another range than requested: another Content-Range, or several ranges.
	WrongRange WrongKind = "sent another range than was asked for"
	// WrongRefused is a refused range (416): the mirror's file is shorter.
	WrongRefused WrongKind = "says that the range is outside of the file"
	// WrongLength is another announced length than the file's: another file under this name.
	WrongLength WrongKind = "has a file of another length"
	// WrongShort is a body with too few bytes.
	WrongShort WrongKind = "sent too few bytes"
	// WrongLong is a body with too many bytes.
	WrongLong WrongKind = "sent too many bytes"
	// WrongEncoded is a compressed body, which was not requested.
	WrongEncoded WrongKind = "changed the bytes by compression"
	// WrongStale is the right length and the wrong digest: an old file, or a damaged one.
	WrongStale WrongKind = "sent bytes with another digest"
	// WrongPage is a web page in place of the file: the login page of a network, or a mirror's page of errors.
	WrongPage WrongKind = "sent a web page in place of the file; perhaps this network wants a login in a browser first"
	// WrongSlow is a rate far below another mirror's.
	WrongSlow WrongKind = "is far slower than another place"
	// WrongBusy is a busy server (429, 503).
	WrongBusy WrongKind = "is busy"
	// WrongRedirect is a redirect loop, too many redirects in a row, or a redirect from https to http.
	WrongRedirect WrongKind = "redirects to where we don't follow"
	// WrongSignIn is a refusal of who asks (401, or 403 where the file must exist). errors.Is with ErrSignIn holds.
	WrongSignIn WrongKind = "gives files only to those who are signed in: sign in again where the token comes from, or set Release.Token or Release.TokenCommand"
	// WrongStatus is any other status of HTTP, or an answer that is not HTTP.
	WrongStatus WrongKind = "answered with an error"
)

// WrongError says that the answer of a mirror is wrong. It is never a fault of this machine.
type WrongError struct {
	Mirror     string
	Name       string
	Kind       WrongKind
	Detail     string        // may be empty
	RetryAfter time.Duration // WrongBusy: the server's Retry-After; 0 without one
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

// Unwrap returns the cause.
func (e *WrongError) Unwrap() error { return e.Err }

// ErrSignIn is a WrongError of the kind WrongSignIn, or that of one of several mirrors.
var ErrSignIn = errors.New("a sign-in is required")

// Is makes WrongSignIn an ErrSignIn.
func (e *WrongError) Is(target error) bool { return target == ErrSignIn && e.Kind == WrongSignIn }

// NetKind is the kind of a network failure. The texts are for users and logs; callers compare the values.
type NetKind string

const (
	// NetUnreachable means that no connection could be opened: name not found, no route, refused, or timed out.
	NetUnreachable NetKind = "can't be reached"
	// NetReset means that the connection was interrupted.
	NetReset NetKind = "broke the connection"
	// NetStalled means that no byte came for Patience, or too few.
	NetStalled NetKind = "sent nothing for too long"
	// NetTLS means that the TLS handshake failed, or that the certificate is not trusted.
	NetTLS NetKind = "can't be spoken to safely"
	// NetProxy means that the proxy did not connect to the mirror.
	NetProxy NetKind = "can't be reached through the proxy"
)

// NetError says that no answer came, or that it was interrupted.
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

// Unwrap returns the cause.
func (e *NetError) Unwrap() error { return e.Err }

// ExhaustedError says that no mirror is left for a file, with the last error of each. errors.As finds these errors.
type ExhaustedError struct {
	Name    string
	Reasons []error // one for each tried mirror, in the order of NewFetcher: *MissingError, *WrongError or *NetError
}

func (e *ExhaustedError) Error() string {
	reasons := make([]string, len(e.Reasons))
	for i, reason := range e.Reasons {
		reasons[i] = reason.Error()
	}
	return fmt.Sprintf("no place gives %q: %s", e.Name, strings.Join(reasons, "; "))
}

// Unwrap returns the reasons.
func (e *ExhaustedError) Unwrap() []error { return e.Reasons }
