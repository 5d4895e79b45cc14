package download

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"collet/netproto/dial"
	"collet/platform/text"
)

// question is a request to a mirror.
type question struct {
	mirror, name string
	from, to     int64 // to below 0: to the end
	limit        int64
	private      bool // the mirror knows its readers: by a token, or by a signature in its address
}

const (
	// skipAlways is how many bytes before the range are always skipped from a server that sends the whole file: this costs less
	// than a new connection.
	skipAlways = 64 << 10
	// skipShare is the divisor of the range's length that may be skipped beyond that: a quarter.
	skipShare = 4
)

// ranged reports whether a range is requested, not the whole file.
func (q question) ranged() bool { return q.from > 0 || q.to >= 0 }

func (q question) header() string {
	if q.to < 0 {
		return fmt.Sprintf("bytes=%d-", q.from)
	}
	return fmt.Sprintf("bytes=%d-%d", q.from, q.to-1)
}

// wrong is the error for a wrong answer to the question.
func (q question) wrong(kind WrongKind, format string, values ...any) *WrongError {
	return &WrongError{Mirror: q.mirror, Name: q.name, Kind: kind, Detail: fmt.Sprintf(format, values...)}
}

// checkAnswer checks an answer against the question, and returns its body as a reader that enforces it.
func (q question) checkAnswer(ctx context.Context, answer *http.Response) (io.ReadCloser, error) {
	switch answer.StatusCode {
	case http.StatusOK, http.StatusPartialContent:
	default:
		return nil, q.statusError(answer)
	}
	if encoding := answer.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, q.wrong(WrongEncoded, "Content-Encoding %s", clip(encoding))
	}
	b := &body{ctx: ctx, q: q, from: answer.Body, left: -1, total: -1, html: isWebPage(answer)}
	var err error
	if answer.StatusCode == http.StatusPartialContent {
		err = b.checkPartial(answer)
	} else {
		err = b.checkFull(answer)
	}
	if err == nil && b.total > q.limit {
		err = q.tooLong("%d bytes, at most %d are taken", b.total, q.limit)
	}
	switch {
	case err != nil && b.html:
		return nil, q.wrong(WrongPage, "status %d", answer.StatusCode)
	case err != nil:
		return nil, err
	}
	return b, nil
}

// tooLong is the error for a file over its limit: WrongLong if its size was unknown, else WrongLength, because it is another file.
func (q question) tooLong(format string, values ...any) error {
	if q.to < 0 {
		return q.wrong(WrongLong, format, values...)
	}
	return q.wrong(WrongLength, format, values...)
}

// isWebPage reports whether an answer is a web page, by its Content-Type.
func isWebPage(answer *http.Response) bool {
	kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	return err == nil && (kind == "text/html" || kind == "application/xhtml+xml")
}

// statusError is the error for an answer with a status other than 200 and 206.
func (q question) statusError(answer *http.Response) error {
	status := answer.StatusCode
	if status == http.StatusForbidden && answer.Header.Get("Retry-After") != "" { // GitHub's rate limit
		status = http.StatusTooManyRequests
	}
	switch status {
	case http.StatusUnauthorized:
		return q.wrong(WrongSignIn, "status %d", status)
	case http.StatusForbidden:
		if q.mustExist() {
			return q.wrong(WrongSignIn, "status %d", status)
		}
		return &MissingError{Mirror: q.mirror, Name: q.name, Status: status} // object stores that hide their content answer so
	case http.StatusNotFound, http.StatusGone:
		return &MissingError{Mirror: q.mirror, Name: q.name, Status: status}
	case http.StatusRequestedRangeNotSatisfiable:
		return q.wrong(WrongRefused, "%d to %d, Content-Range %q", q.from, q.to, clip(answer.Header.Get("Content-Range")))
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		e := q.wrong(WrongBusy, "status %d", status)
		e.RetryAfter = retryAfter(answer.Header, time.Now())
		return e
	case http.StatusProxyAuthRequired:
		return &NetError{Mirror: q.mirror, Name: q.name, Kind: NetProxy, Err: errors.New("it wants a user name and a password (status 407)")}
	case http.StatusNetworkAuthenticationRequired:
		return q.wrong(WrongPage, "status %d", status)
	default:
		return q.wrong(WrongStatus, "status %d", status)
	}
}

// mustExist reports whether a file that the mirror refuses must be there: the timestamp, and of a private mirror all but the next root and
// sequels.
func (q question) mustExist() bool {
	return q.name == "metadata/timestamp.json" || q.private && !strings.HasPrefix(q.name, "sequels/") && !strings.HasSuffix(q.name, ".root.json")
}

// retryAfter reads Retry-After: seconds, or a date (RFC 9110, section 10.2.3). 0 means missing or invalid.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	date, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return max(0, date.Sub(now))
}

// contentRange parses "bytes FIRST-LAST/TOTAL". total is below 0 for "*".
func contentRange(text string) (first, last, total int64, ok bool) {
	rest, is := strings.CutPrefix(strings.TrimSpace(text), "bytes ")
	span, whole, slash := strings.Cut(rest, "/")
	a, b, dash := strings.Cut(span, "-")
	first, err1 := number(a)
	last, err2 := number(b)
	total = -1
	var err3 error
	if whole != "*" {
		total, err3 = number(whole)
	}
	ok = is && slash && dash && err1 == nil && err2 == nil && err3 == nil && first <= last && (total < 0 || last < total)
	return first, last, total, ok
}

// number parses decimal digits only.
func number(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 62)
	return int64(n), err
}

// body reads the answer to a question and checks that it has exactly the requested bytes.
type body struct {
	ctx   context.Context // of the request, for the cause of an error
	q     question
	from  io.ReadCloser
	skip  int64 // bytes to skip first
	left  int64 // bytes until the end of the range; below 0 is unknown
	given int64
	total int64 // bytes of the file; below 0 is unknown
	file  bool  // the server sends the whole file
	html  bool  // the Content-Type is that of a web page
	err   error // how it ended
}

// checkPartial checks an answer with a range (206).
func (b *body) checkPartial(answer *http.Response) error {
	sent := answer.Header.Get("Content-Range")
	first, last, total, ok := contentRange(sent)
	switch {
	case !ok, first != b.q.from, b.q.to >= 0 && last >= b.q.to:
		return b.q.wrong(WrongRange, "asked for %s, got Content-Range %q", b.q.header(), clip(sent))
	case b.q.to >= 0 && last != b.q.to-1, b.q.to < 0 && total >= 0 && last != total-1:
		return b.q.wrong(WrongLength, "asked for %s, got Content-Range %q", b.q.header(), clip(sent))
	}
	b.left, b.total = last+1-first, total
	if answer.ContentLength >= 0 && answer.ContentLength != b.left {
		return b.q.wrong(WrongLength, "Content-Range %q with %d bytes", clip(sent), answer.ContentLength)
	}
	return nil
}

// checkFull checks an answer with the whole file (200).
func (b *body) checkFull(answer *http.Response) error {
	b.total, b.skip, b.file = answer.ContentLength, b.q.from, true
	if b.q.ranged() && b.q.from > max(skipAlways, (b.q.to-b.q.from)/skipShare) {
		return b.q.wrong(WrongWhole, "asked for %s", b.q.header())
	}
	if b.total >= 0 && (b.total < b.q.from || b.total < b.q.to) {
		return b.q.wrong(WrongLength, "%d bytes, asked for %s", b.total, b.q.header())
	}
	if b.q.to >= 0 {
		b.left = b.q.to - b.q.from
	} else if b.total >= 0 {
		b.left = b.total - b.q.from
	}
	if b.html && b.total < 0 && b.q.ranged() {
		return b.q.wrong(WrongPage, "asked for %s", b.q.header())
	}
	if b.html && (strings.HasPrefix(b.q.name, "metadata/") || strings.HasPrefix(b.q.name, "releases/")) {
		return b.q.wrong(WrongPage, "where there are none")
	}
	return nil
}

// Total implements Sized.
func (b *body) Total() int64 { return b.total }

// Read implements io.Reader.
func (b *body) Read(p []byte) (n int, err error) {
	if b.err == nil && b.skip > 0 {
		_, err := io.CopyN(io.Discard, b.from, b.skip)
		b.skip = 0
		b.recordEnd(err)
	}
	if b.err != nil || len(p) == 0 {
		return 0, b.err
	}
	if b.left >= 0 {
		p = p[:min(int64(len(p)), b.left)]
	}
	if len(p) > 0 {
		n, err = b.from.Read(p)
		b.given += int64(n)
	}
	if b.left >= 0 {
		b.left -= int64(n)
	}
	b.recordEnd(err)
	if b.err == nil && b.left == 0 {
		b.checkNoMore()
	}
	return n, b.err
}

// recordEnd records how reading the body ended, or that it has too many bytes.
func (b *body) recordEnd(err error) {
	switch {
	case err == io.EOF && b.left <= 0:
		b.err = io.EOF
	case err == io.EOF && b.html:
		b.err = b.q.wrong(WrongPage, "and a short one")
	case err == io.EOF:
		b.err = b.q.wrong(WrongShort, "%d bytes are lacking", b.left)
	case err != nil:
		b.err = b.q.explain(b.ctx, err)
	case b.left < 0 && b.q.from+b.given > b.q.limit:
		b.err = b.q.wrong(WrongLong, "more than %d", b.q.limit)
	}
}

// checkNoMore checks that the body ends with the range, so that the connection can be used again. The rest of a whole file is not
// read; more bytes after a range are an error.
func (b *body) checkNoMore() {
	b.err = io.EOF
	if b.file && b.q.to >= 0 && b.q.to != b.total {
		return
	}
	var one [1]byte
	if n, _ := b.from.Read(one[:]); n > 0 {
		b.err = b.q.wrong(WrongLong, "more than %d", b.given)
	}
}

// Close implements io.Closer.
func (b *body) Close() error { return b.from.Close() }

// explain maps an error of net/http to one of the three types of a Mirror, or to ctx's error.
func (q question) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var redirect *redirectError
	var unreached *dialError
	var proxy *dial.ProxyError
	var certificate *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	var said *net.OpError
	kind := NetReset
	switch {
	case errors.As(err, &redirect):
		return &WrongError{Mirror: q.mirror, Name: q.name, Kind: WrongRedirect, Detail: redirect.text}
	case errors.As(err, &proxy):
		kind = NetProxy
	case errors.As(err, &certificate), errors.As(err, &unknown), errors.As(err, &record),
		errors.As(err, &said) && said.Op == "remote error": // an alert of the peer, as crypto/tls marks it
		kind = NetTLS
	case errors.As(err, &unreached):
		kind = NetUnreachable
	}
	return &NetError{Mirror: q.mirror, Name: q.name, Kind: kind, Err: bare(err)}
}

// bare is an error of net/http without the request, which the enclosing error names.
func bare(err error) error {
	var whole *url.Error
	if errors.As(err, &whole) {
		return whole.Err
	}
	return err
}

// clip shortens a peer's text for an error.
func clip(s string) string { return text.Clip(text.Line(s), maxQuoted) }

// maxQuoted is how many bytes of a peer's text an error repeats.
const maxQuoted = 100
