// Package public reads a published place as players do, and says what they would trip over.
//
// A place is a web server, a bucket, a GitHub release or an OCI registry, possibly behind a proxy or a CDN. It is read with the client's own
// code, so an answer that a client rejects is rejected here. Every file that the release folder has is asked for and compared with the
// folder's own bytes: small files whole, of larger ones the beginning and the end. In addition the headers are read that tell caches what
// to keep: clients ask for timestamp.json, the next root and the sequels at every start, and an old copy hides a release from them.
//
// CheckLists reads only the signed lists, from a root and without a folder, and says until when they are valid: for a timer.
package public

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"collet/app/download"
	"collet/netproto/release/location"
	"collet/platform"
)

const (
	// wholeFile is the size in bytes up to which a file is read whole.
	wholeFile = 1 << 20
	// edge is how many bytes are read of the beginning and of the end of a larger file.
	edge = 64 << 10
	// maxAge is for how many seconds a cache may answer with what changes while it can ask the origin: half a minute, and a minute while
	// it asks (docs/OPERATING.md). An answer of one that can't ask it may be older, and is named.
	maxAge = 90
	// timestamp is the one list that changes under its name.
	timestamp = "metadata/timestamp.json"
	sequels   = "sequels/"
)

// Folder is what the place should have.
type Folder struct {
	FS       platform.FS
	Names    []string // of all public files
	NextRoot string   // the root that does not exist yet, and that every client asks for
}

// Finding is one thing that players trip over, for one or more files.
type Finding struct {
	What  string   `json:"what"`  // without a dot
	Want  string   `json:"want"`  // advice
	Names []string `json:"names"` // of the files, sorted
}

// Result is what was read, and what is wrong.
type Result struct {
	Files    int       `json:"files"`
	Bytes    int64     `json:"bytes"` // received
	Findings []Finding `json:"findings"`
	Lists    []List    `json:"lists,omitempty"` // only of CheckLists
}

// Check reads the place at an address. An error means that the place can't be read at all, or that ctx or the folder's disk ended it.
func Check(ctx context.Context, address string, f Folder, o download.HTTPOptions, progress func(done, total int, name string)) (r Result, err error) {
	at, err := location.ParsePrivate(address)
	if err != nil {
		return r, err
	}
	c := &checker{folder: f, private: o.Token != nil || at.HasSignature(), found: map[complaint][]string{}}
	o.Answered = c.seen
	if c.mirror, err = download.NewHTTPMirror(address, o); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.mirror.Close()) }()
	if err := c.checkTimestamp(ctx); err != nil {
		return r, err
	}
	names := slices.DeleteFunc(slices.Clone(f.Names), func(name string) bool {
		return name == timestamp || at.Kind != location.Web && strings.HasPrefix(name, sequels)
	})
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(download.MaxInFlight)
	for _, name := range names {
		group.Go(func() error {
			err := c.checkFile(working, name)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.files++
			progress(c.files, len(names), name)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return r, err
	}
	if err := c.checkNextRoot(ctx); err != nil {
		return r, err
	}
	return c.result(), ctx.Err()
}

// complaint is a finding without its files.
type complaint struct{ what, want string }

// checker is one Check.
type checker struct {
	folder  Folder
	mirror  *download.HTTPMirror
	private bool // the place knows its readers

	mu    sync.Mutex
	files int
	bytes int64
	found map[complaint][]string
}

func (c *checker) complain(name, want, what string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := complaint{fmt.Sprintf(what, args...), want}
	if !slices.Contains(c.found[k], name) {
		c.found[k] = append(c.found[k], name)
	}
}

func (c *checker) result() Result {
	r := Result{Files: c.files + 1, Bytes: c.bytes, Findings: []Finding{}}
	for k, names := range c.found {
		slices.Sort(names)
		r.Findings = append(r.Findings, Finding{k.what, k.want, names})
	}
	slices.SortFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Names[0], b.Names[0]), cmp.Compare(a.What, b.What))
	})
	return r
}

// get reads a range of a file from the place; to is -1 for the end.
func (c *checker) get(ctx context.Context, name string, from, to, limit int64) ([]byte, error) {
	body, err := c.mirror.Get(ctx, name, from, to, limit)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(body, limit))
	if err = errors.Join(err, body.Close()); ctx.Err() != nil {
		err = ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += int64(len(data))
	return data, err
}

// maxTimestamp is how many bytes of the timestamp are read; real ones have about one thousand.
const maxTimestamp = 64 << 10

// checkTimestamp reads the first file of every client. If the place does not answer at all, that is an error.
func (c *checker) checkTimestamp(ctx context.Context) error {
	data, err := c.get(ctx, timestamp, 0, -1, maxTimestamp)
	var unreachable *download.NetError
	if errors.As(err, &unreachable) || ctx.Err() != nil || c.private && errors.Is(err, download.ErrSignIn) {
		return err
	}
	if err != nil {
		c.explain(timestamp, err)
		return nil
	}
	own, err := platform.ReadFile(c.folder.FS, timestamp, maxTimestamp)
	if err != nil {
		return err
	}
	is, want := versionOf(data), versionOf(own)
	switch {
	case bytes.Equal(data, own):
	case is == 0:
		c.complain(timestamp, "the place must hand out the file unchanged", "is something else than a signed list")
	case is < want:
		c.complain(timestamp, "a cache keeps it for too long, or the place was not updated: empty the cache, or publish there again with --to",
			"is old: players see version %d, and the folder has %d", is, want)
	default:
		c.complain(timestamp, "another folder is published there: bring the folders together first", "is another one: version %d, and the folder has %d", is, want)
	}
	return nil
}

// versionOf is the version of signed metadata; 0 if it is none.
func versionOf(data []byte) int64 {
	var document struct {
		Signed struct {
			Version int64 `json:"version"`
		} `json:"signed"`
	}
	if json.Unmarshal(data, &document) != nil {
		return 0
	}
	return document.Signed.Version
}

// checkFile compares a file with the folder's own one.
func (c *checker) checkFile(ctx context.Context, name string) error {
	in, err := c.folder.FS.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	type piece struct{ from, to, end int64 }
	pieces := []piece{{0, -1, size}}
	if size > wholeFile {
		pieces = []piece{{0, edge, edge}, {size - edge, size, size}}
	}
	for _, p := range pieces {
		own := make([]byte, p.end-p.from)
		if _, err := in.ReadAt(own, p.from); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		data, err := c.get(ctx, name, p.from, p.to, max(size, 1))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			c.explain(name, err)
			return nil
		case !bytes.Equal(data, own) && strings.HasPrefix(name, sequels):
			c.complain(name, "a cache keeps it for too long, or it was not copied: let caches keep sequels for a minute", "is old; updates then take more round trips")
			return nil
		case !bytes.Equal(data, own):
			c.complain(name, "publish there again with --to; a cache or proxy must not change files", "has other bytes than in the folder")
			return nil
		}
	}
	return nil
}

// explain turns an error of the client's code into a finding.
func (c *checker) explain(name string, err error) {
	var missing *download.MissingError
	var wrong *download.WrongError
	switch {
	case errors.Is(err, download.ErrSignIn) && wrongDetail(err) != "status 403", errors.Is(err, download.ErrSignIn) && c.private:
		c.complain(name, "players need a token or a signed address: give this command one, too (--token-file), or open the place to everybody",
			"is given only to those who are signed in (%s)", wrongDetail(err))
	case errors.Is(err, download.ErrSignIn), errors.As(err, &missing) && missing.Status == http.StatusForbidden:
		c.complain(name, "let everybody read it: check the rights of the file and its folders, the policy of the bucket, and rules of the server",
			"is forbidden (status 403)")
	case errors.As(err, &missing) && strings.HasPrefix(name, sequels):
		c.complain(name, "publish the folder sequels, too, and let the server hand it out; without it every update takes some round trips more", "is missing")
	case errors.As(err, &missing):
		c.complain(name, "publish there again with --to, or copy the file; let the server hand out the folder", "is missing")
	case errors.As(err, &wrong) && wrong.Kind == download.WrongEncoded:
		c.complain(name, "switch compression off for this address in the server, the proxy and the CDN (nginx: gzip off); clients refuse it",
			"is compressed on the way (%s)", wrong.Detail)
	case errors.As(err, &wrong) && wrong.Kind == download.WrongPage:
		c.complain(name, "let the server answer with the file, or with 404 where there is none", "is a web page in place of the file")
	case errors.As(err, &wrong) && wrong.Kind == download.WrongWhole:
		c.complain(name, "let server and CDN answer to Range; without it interrupted downloads begin anew", "comes whole where a range was asked for")
	case errors.As(err, &wrong) && (wrong.Kind == download.WrongLength || wrong.Kind == download.WrongLong || wrong.Kind == download.WrongShort):
		c.complain(name, "publish there again with --to; a cache or proxy must not change files", "has another length than in the folder")
	case errors.As(err, &wrong):
		c.complain(name, "look at the log of the server", "fails: it %s (%s)", wrong.Kind, wrong.Detail)
	default:
		c.complain(name, "look at the connection and at the log of the server", "can't be read: %v", err)
	}
}

// wrongDetail is the detail of an answer that the client's code refused.
func wrongDetail(err error) string {
	var wrong *download.WrongError
	if errors.As(err, &wrong) {
		return wrong.Detail
	}
	return ""
}

// checkNextRoot asks for the root that does not exist yet, as every start of a client does.
func (c *checker) checkNextRoot(ctx context.Context) error {
	_, err := c.get(ctx, c.folder.NextRoot, 0, -1, maxTimestamp)
	var missing *download.MissingError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		c.complain(c.folder.NextRoot, "let the server answer 404 to names that do not exist, not with a page", "is answered, and no such file exists; clients refuse everything then")
	case !errors.As(err, &missing):
		c.explain(c.folder.NextRoot, err)
	}
	return nil
}

// seen examines the headers of an answer for caches. Other goroutines call it, too.
func (c *checker) seen(name string, answer *http.Response) {
	if name != timestamp && name != c.folder.NextRoot && !strings.HasPrefix(name, sequels) {
		return
	}
	if answer.StatusCode == http.StatusForbidden && strings.HasPrefix(name, sequels) {
		return // it is a finding by itself
	}
	want := "let caches and CDN keep it for half a minute: Cache-Control \"max-age=0, s-maxage=30, stale-while-revalidate=60, stale-if-error=86400\""
	if name == c.folder.NextRoot {
		want = "do not let caches or the CDN keep answers of 404 for longer than half a minute: clients would not see new keys"
	}
	if age, err := strconv.ParseInt(strings.TrimSpace(answer.Header.Get("Age")), 10, 64); err == nil && age > maxAge {
		c.complain(name, want, "comes from a cache that has had it for %d s", age)
	}
	if keep := max(keptFor(answer.Header, "Cache-Control"), keptFor(answer.Header, "CDN-Cache-Control")); keep > maxAge {
		c.complain(name, want, "may be kept by caches for %d s", keep)
	}
}

// keptFor is for how many seconds shared caches may answer with this without waiting for the origin, as far as a field says so (RFC 9111,
// section 5.2.2; RFC 5861, section 3; RFC 9213).
func keptFor(h http.Header, field string) int64 {
	said := map[string]int64{}
	for part := range strings.SplitSeq(strings.ToLower(strings.Join(h.Values(field), ",")), ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 64)
		if err != nil {
			n = 0
		}
		said[key] = n
	}
	for _, never := range []string{"no-store", "no-cache", "private"} {
		if _, is := said[never]; is {
			return 0
		}
	}
	fresh, is := said["s-maxage"]
	if !is {
		fresh = said["max-age"]
	}
	if _, must := said["must-revalidate"]; must {
		return fresh
	}
	return fresh + said["stale-while-revalidate"]
}
