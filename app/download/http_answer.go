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
)

// question is what was asked of a mirror.
type question struct {
	mirror, name string
	from, to     int64 // to below 0: to the end
	limit        int64
}

const (
	// skipAlways is how many bytes before the range are let through from a server that sends the whole file: less than a
	// new connection costs.
	skipAlways = 64 << 10
	// skipShare is what of the range may stand before it to be skipped, beyond that: a quarter.
	skipShare = 4
)

// ranged reports whether a range is asked for, and not just the file.
func (q question) ranged() bool { return q.from > 0 || q.to >= 0 }

func (q question) header() string {
	if q.to < 0 {
		return fmt.Sprintf("bytes=%d-", q.from)
	}
	return fmt.Sprintf("bytes=%d-%d", q.from, q.to-1)
}

// wrong says what is wrong with the answer.
func (q question) wrong(kind WrongKind, format string, values ...any) *WrongError {
	return &WrongError{Mirror: q.mirror, Name: q.name, Kind: kind, Detail: fmt.Sprintf(format, values...)}
}

// judge compares an answer with the question, and gives its body as a reader that keeps to it.
func (q question) judge(ctx context.Context, answer *http.Response) (io.ReadCloser, error) {
	switch answer.StatusCode {
	case http.StatusOK, http.StatusPartialContent:
	default:
		return nil, q.status(answer)
	}
	if encoding := answer.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, q.wrong(WrongEncoded, "Content-Encoding %s", clip(encoding))
	}
	b := &body{ctx: ctx, q: q, from: answer.Body, left: -1, total: -1, html: page(answer)}
	var err error
	if answer.StatusCode == http.StatusPartialContent {
		err = b.partial(answer)
	} else {
		err = b.full(answer)
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

// tooLong is the fault of a file that has more bytes than it may: too many where the size was not known, and
// another file where it is known.
func (q question) tooLong(format string, values ...any) error {
	if q.to < 0 {
		return q.wrong(WrongLong, format, values...)
	}
	return q.wrong(WrongLength, format, values...)
}

// page reports whether an answer is a web page where none is ever sent, or may be one elsewhere.
func page(answer *http.Response) bool {
	kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	return err == nil && (kind == "text/html" || kind == "application/xhtml+xml")
}

// status is the error of an answer that brings nothing.
func (q question) status(answer *http.Response) error {
	switch status := answer.StatusCode; status {
	case http.StatusNotFound, http.StatusGone, http.StatusForbidden: // 403 is what stores say that hide what they have
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

// retryAfter reads how long to wait: seconds, or a date (RFC 9110, section 10.2.3). 0 is no word of it.
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

// contentRange reads "bytes FIRST-LAST/TOTAL"; total is below 0 for "*".
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

// number reads digits, and nothing else.
func number(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 62)
	return int64(n), err
}

// body reads the answer to a question and keeps to what was asked.
type body struct {
	ctx   context.Context // of the request, to tell why it broke
	q     question
	from  io.ReadCloser
	skip  int64 // bytes to pass over first
	left  int64 // bytes until the end of the range; below 0 is not known
	given int64
	total int64 // bytes of the file; below 0 is not known
	file  bool  // the server sends the whole file, whatever was asked for
	html  bool  // and calls it a web page
	err   error // how it ended
}

// partial takes an answer with a range.
func (b *body) partial(answer *http.Response) error {
	text := answer.Header.Get("Content-Range")
	first, last, total, ok := contentRange(text)
	switch {
	case !ok, first != b.q.from, b.q.to >= 0 && last >= b.q.to:
		return b.q.wrong(WrongRange, "asked for %s, got Content-Range %q", b.q.header(), clip(text))
	case b.q.to >= 0 && last != b.q.to-1, b.q.to < 0 && total >= 0 && last != total-1:
		return b.q.wrong(WrongLength, "asked for %s, got Content-Range %q", b.q.header(), clip(text))
	}
	b.left, b.total = last+1-first, total
	if answer.ContentLength >= 0 && answer.ContentLength != b.left {
		return b.q.wrong(WrongLength, "Content-Range %q with %d bytes", clip(text), answer.ContentLength)
	}
	return nil
}

// full takes an answer with the whole file.
func (b *body) full(answer *http.Response) error {
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
		b.end(err)
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
	b.end(err)
	if b.err == nil && b.left == 0 {
		b.finish()
	}
	return n, b.err
}

// end notes how the reading of the body ended, if it did.
func (b *body) end(err error) {
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

// finish looks whether the body is over where the range is, so that the connection can be used again. The rest of a whole
// file is left alone; that of a range should not be there.
func (b *body) finish() {
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

// explain gives an error of net/http one of the three types of a Mirror.
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
		errors.As(err, &said) && said.Op == "remote error": // as crypto/tls marks what the peer said
		kind = NetTLS
	case errors.As(err, &unreached):
		kind = NetUnreachable
	}
	return &NetError{Mirror: q.mirror, Name: q.name, Kind: kind, Err: bare(err)}
}

// bare is what an error of net/http says without the request, which the error around it names.
func bare(err error) error {
	var whole *url.Error
	if errors.As(err, &whole) {
		return whole.Err
	}
	return err
}

// clip shortens what a peer says, and takes out what is not printable.
func clip(text string) string {
	const most = 100 // bytes of a peer's words that an error repeats
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F {
			return '?'
		}
		return r
	}, text)
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}
