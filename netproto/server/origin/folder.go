package origin

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"collet/netproto/server"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/limits"
	"collet/platform/text"
)

const (
	cacheForever = "public, max-age=31536000, immutable"
	cacheNever   = "no-cache" // may be stored, must be revalidated
	// cacheTargeted tells a CDN alone (RFC 9213) how long it may keep what changes under its name, in seconds: half a minute, another minute
	// while it asks again, and a day while the origin does not answer (RFC 5861). docs/OPERATING.md has the reasons.
	cacheTargeted  = "max-age=30, stale-while-revalidate=60, stale-if-error=86400"
	targetedHeader = "CDN-Cache-Control"
	// busyRetry is after how many seconds a refused client should try again.
	busyRetry = "5"
)

// fileName is the name in the release folder that a path requests. It is false for the monitor's own paths.
func fileName(prefix, path string) (name string, is bool) {
	if prefix == "" {
		return "", false
	}
	name, is = strings.CutPrefix(path, prefix)
	first, _, _ := strings.Cut(name, "/")
	return name, is && (first == "metadata" || first == "releases" || first == "objects" || first == "sequels")
}

// serveFolder answers a request for a file of the release folder.
func (m *Monitor) serveFolder(out http.ResponseWriter, r *http.Request, name string) {
	s := m.server.Load()
	if s == nil {
		unavailable(out, starting)
		return
	}
	w := &answer{ResponseWriter: out, server: s, progress: m.progressTime(), private: m.readers.Load() != nil}
	if r.ProtoMajor >= 2 {
		w.stream = http.NewResponseController(out)
	}
	defer w.count()
	c := connectionOf(r)
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "only GET and HEAD are answered here")
	case !s.Ready():
		unavailable(w, "stopping: no new requests are answered")
	case c != nil && c.refusal != "":
		unavailable(w, c.refusal.Explain())
	case m.mayRead(w, r):
		sendFile(s, w, r, name)
	}
}

// sendFile answers with a file of the current catalogue.
func sendFile(s *server.Server, w *answer, r *http.Request, name string) {
	c := s.HoldCatalogue()
	defer c.Release()
	if c.Folder() == nil {
		refuse(w, http.StatusNotFound, "no release folder is offered")
		return
	}
	if r.Method == http.MethodGet {
		s.Metrics().CountCheck(c.Folder(), name)
	}
	b, err := c.Folder().Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if isAskedInVain(name) {
			w.Header().Set(targetedHeader, cacheTargeted)
		}
		refuse(w, http.StatusNotFound, "there is no such file, or it is not handed out")
		return
	}
	if err != nil {
		s.Warn(limits.Client(limits.Address(r.RemoteAddr)), limits.CauseUnreadable, limits.WarnKnown).Err(err).Str("peer", r.RemoteAddr).Str("file", text.Clip(name, text.MaxQuoted)).
			Msg("Can't read a file of the release folder")
		refuse(w, http.StatusInternalServerError, "the file can't be read")
		return
	}
	defer b.Close()
	setHeader(w.Header(), b, name)
	keepSingleRange(r)
	var content io.ReadSeeker = b.File
	if b.File == nil {
		content = bytes.NewReader(b.Data)
	} else {
		w.check = func() error { return b.CheckUnchanged(name) }
	}
	w.peer = r.RemoteAddr
	http.ServeContent(w, r, "", time.Time{}, content)
}

// setHeader sets type, ETag and cache lifetime of a file.
func setHeader(h http.Header, b catalogue.Blob, name string) {
	kind := "application/octet-stream"
	if strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".release") {
		kind = "application/json"
	}
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", b.ETag)
	if b.Immutable {
		h.Set("Cache-Control", cacheForever)
		return
	}
	h.Set("Cache-Control", cacheNever)
	h.Set(targetedHeader, cacheTargeted)
}

// isAskedInVain reports whether clients ask for a file that is usually missing: the next root, and sequels.
func isAskedInVain(name string) bool {
	return strings.HasPrefix(name, "sequels/") || strings.HasPrefix(name, "metadata/") && strings.HasSuffix(name, ".root.json")
}

// refuse answers without a file. Caches may not store the answer, but for what targetedHeader allows: the file may appear at any moment.
func refuse(w http.ResponseWriter, status int, reason string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, reason, status)
}

func unavailable(w http.ResponseWriter, reason string) {
	w.Header().Set("Retry-After", busyRetry)
	w.Header().Set("Connection", "close")
	refuse(w, http.StatusServiceUnavailable, reason)
}

// oneRange is a single range of bytes as RFC 9110, section 14.1.1 writes it.
var oneRange = regexp.MustCompile(`^(?i:bytes)=[ \t]*(?:([0-9]+)-([0-9]*)|-([0-9]+))[ \t]*$`)

// keepSingleRange keeps a request's valid single range, and removes a range that the RFC requires to be ignored: for methods other than
// GET, in other units, several at once, or malformed. A range behind every file's end stays and is answered with 416.
func keepSingleRange(r *http.Request) {
	asked := r.Header.Values("Range")
	r.Header.Del("Range")
	if len(asked) != 1 || r.Method != http.MethodGet {
		return
	}
	found := oneRange.FindStringSubmatch(asked[0])
	if found == nil {
		return
	}
	first, last, suffix := parsePosition(found[1]), parsePosition(found[2]), parsePosition(found[3])
	const beyond = "bytes=9223372036854775806-" // longer than any file
	switch {
	case found[3] != "" && suffix == 0:
		r.Header.Set("Range", beyond)
	case found[3] != "":
		r.Header.Set("Range", "bytes=-"+strconv.FormatInt(suffix, 10))
	case found[2] == "":
		r.Header.Set("Range", "bytes="+strconv.FormatInt(first, 10)+"-")
	case first <= last:
		r.Header.Set("Range", "bytes="+strconv.FormatInt(first, 10)+"-"+strconv.FormatInt(last, 10))
	}
}

// maxPosition stands for numbers that are larger than any file.
const maxPosition = 1<<63 - 2

// parsePosition reads a number; one that is too large is maxPosition.
func parsePosition(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && text != "" {
		return maxPosition
	}
	return min(n, maxPosition)
}

// answer counts what is sent, and gives each HTTP/2 stream its own write deadline: the connection may make progress while the
// client reads nothing of this stream.
type answer struct {
	http.ResponseWriter
	server   *server.Server
	stream   *http.ResponseController // nil before HTTP/2
	check    func() error             // checks the file for changes; nil: sent from memory
	peer     string                   // for the log
	progress time.Duration            // for one write
	private  bool                     // shared caches may not keep it
	status   int
	sent     int64
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.private {
		keepPrivate(a.Header())
	}
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (a *answer) Write(data []byte) (int, error) {
	if a.stream != nil {
		if err := a.stream.SetWriteDeadline(time.Now().Add(a.progress)); err != nil {
			return 0, err
		}
	}
	n, err := a.ResponseWriter.Write(data)
	a.sent += int64(n)
	return n, err
}

// ReadFrom implements io.ReaderFrom, which lets files go to the socket by sendfile. The last bytes are sent after a check of the
// file: if it has changed the connection is aborted, so the client does not take the file as complete.
func (a *answer) ReadFrom(from io.Reader) (int64, error) {
	part, limited := from.(*io.LimitedReader)
	if a.check == nil || !limited {
		return a.copy(from)
	}
	total := part.N
	sent, err := int64(0), error(nil)
	if total > catalogue.TailSize {
		if sent, err = a.copy(&io.LimitedReader{R: part.R, N: total - catalogue.TailSize}); err != nil || sent < total-catalogue.TailSize {
			return sent, err
		}
	}
	if err := a.check(); err != nil {
		a.server.Warn(limits.Client(limits.Address(a.peer)), limits.CauseChanged, limits.WarnKnown).Err(err).Str("peer", a.peer).
			Msg("A file of the release folder changed while it was handed out; never write into a file that is there")
		panic(http.ErrAbortHandler)
	}
	rest, err := a.copy(&io.LimitedReader{R: part.R, N: total - sent})
	return sent + rest, err
}

// copy sends all of from.
func (a *answer) copy(from io.Reader) (int64, error) {
	direct, is := a.ResponseWriter.(io.ReaderFrom)
	if !is || a.stream != nil {
		return io.Copy(struct{ io.Writer }{a}, from)
	}
	n, err := direct.ReadFrom(from)
	a.sent += n
	return n, err
}

// count adds the answer to the metrics.
func (a *answer) count() {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	a.server.Metrics().CountHTTPAnswer(a.status, a.sent)
}
