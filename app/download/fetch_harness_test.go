package download_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"collet/app/download"
	"collet/netproto/release"
	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/interrupt"
)

// random is content that nothing compresses and that differs by seed.
func random(size int, seed uint64) []byte {
	data := make([]byte, size)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = r.Read(data)
	return data
}

// object is content under the name that it has in a release folder.
func object(data []byte) download.Object { return download.ObjectAt(release.ObjectOf(data)) }

// spoolOn opens a spool of a process of its own on a volume in memory.
func spoolOn(t testing.TB, disk *faultfs.Disk) (*download.Spool, *faultfs.FS) {
	t.Helper()
	fsys := disk.Open(faultfs.Options{})
	s, err := download.OpenSpool(fsys, "spool", download.SpoolOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s, fsys
}

func freshSpool(t testing.TB) *download.Spool {
	s, _ := spoolOn(t, faultfs.New(faultfs.Config{}))
	return s
}

// diskSpool is on a real disk.
func diskSpool(t testing.TB) *download.Spool {
	t.Helper()
	dir, err := platform.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := download.OpenSpool(dir, "spool", download.SpoolOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), dir.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// fetcher makes one that is closed before its mirrors are.
func fetcher(t testing.TB, o download.FetchOptions, mirrors ...download.Mirror) *download.Fetcher {
	t.Helper()
	f, err := download.NewFetcher(mirrors, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// content reads what a spool holds of an object.
func content(t testing.TB, s *download.Spool, o download.Object) []byte {
	t.Helper()
	c, err := s.Open(t.Context(), o.Digest)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	data, err := io.ReadAll(io.NewSectionReader(c, 0, c.Size()))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// serve starts a web server, over which a mirror leads, named as the test calls it in errors.
func serve(t testing.TB, h http.Handler) *download.HTTPMirror {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return wayTo(t, server.URL, download.HTTPOptions{})
}

func wayTo(t testing.TB, base string, o download.HTTPOptions) *download.HTTPMirror {
	t.Helper()
	mirror, err := download.NewHTTPMirror(base, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := mirror.Close(); err != nil {
			t.Error(err)
		}
	})
	return mirror
}

// files is a web server for its entries that counts requests.
type files struct {
	content map[string][]byte

	mu    sync.Mutex
	asked []string // "name bytes=…"
}

func holding(datas ...[]byte) *files {
	f := &files{content: map[string][]byte{}}
	for _, data := range datas {
		f.content[object(data).Name] = data
	}
	return f
}

func (f *files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	f.mu.Lock()
	f.asked = append(f.asked, name+" "+r.Header.Get("Range"))
	data, is := f.content[name]
	f.mu.Unlock()
	if !is {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

func (f *files) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.asked...)
}

// bytes is how many the answers to all requests have.
func (f *files) bytes() (n int64) {
	for _, asked := range f.requests() {
		name, header, _ := strings.Cut(asked, " ")
		from, to := span(header, len(f.content[name]))
		n += int64(to - from)
	}
	return n
}

// span reads the header that asks for a range.
func span(header string, size int) (from, to int) {
	to = size
	if text, is := strings.CutPrefix(header, "bytes="); is {
		a, b, _ := strings.Cut(text, "-")
		from, _ = strconv.Atoi(a)
		if last, err := strconv.Atoi(b); err == nil {
			to = last + 1
		}
	}
	return from, to
}

// memory is a mirror that gives what it holds, as fast as it is told: for tests within a bubble of time, which no socket enters.
type memory struct {
	name    string
	content map[string][]byte
	latency time.Duration
	rate    int64 // bytes a second of one request; 0 is any
	claims  int64 // how large it says that its files are, if that is not true
	// before may answer in place of the content; it is called with the number of the request, from 1.
	before func(n int, from, to int64) error
	// hold may let a request wait.
	hold func(ctx context.Context, n int, from int64)
	// broken lets the reader fail after so many bytes; below 0 never.
	broken func(n int) (after int64, err error)

	mu    sync.Mutex
	asked []download.Range
}

func remembering(name string, datas ...[]byte) *memory {
	return &memory{name: name, content: holding(datas...).content}
}

func (m *memory) Name() string { return m.name }

func (m *memory) requests() []download.Range {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]download.Range(nil), m.asked...)
}

func (m *memory) Get(ctx context.Context, name string, from, to, limit int64) (io.ReadCloser, error) {
	m.mu.Lock()
	m.asked = append(m.asked, download.Range{Start: from, End: to})
	n := len(m.asked)
	m.mu.Unlock()
	if err := interrupt.Sleep(ctx, m.latency); err != nil {
		return nil, err
	}
	if m.hold != nil {
		m.hold(ctx, n, from)
	}
	if m.before != nil {
		if err := m.before(n, from, to); err != nil {
			return nil, err
		}
	}
	data, is := m.content[name]
	if !is {
		return nil, &download.MissingError{Mirror: m.name, Name: name}
	}
	total := int64(len(data))
	if to < 0 {
		to = total
	}
	if total > limit || to > total {
		return nil, &download.WrongError{Mirror: m.name, Name: name, Kind: download.WrongLength, Detail: fmt.Sprint(total)}
	}
	r := &flow{ctx: ctx, m: m, data: data[from:to], total: cmp.Or(m.claims, total), after: -1}
	if m.broken != nil {
		r.after, r.err = m.broken(n)
	}
	return r, nil
}

// flow is what a memory sends.
type flow struct {
	ctx   context.Context
	m     *memory
	data  []byte
	total int64
	after int64
	err   error
}

func (f *flow) Total() int64 { return f.total }

func (f *flow) Read(p []byte) (int, error) {
	if f.after == 0 {
		if f.err == nil { // it just stops
			<-f.ctx.Done()
			return 0, f.ctx.Err()
		}
		return 0, f.err
	}
	if len(f.data) == 0 {
		return 0, io.EOF
	}
	n := min(len(p), len(f.data))
	if f.after > 0 {
		n = int(min(int64(n), f.after))
	}
	if f.m.rate > 0 {
		n = int(min(int64(n), max(1, f.m.rate/20)))
		if err := interrupt.Sleep(f.ctx, time.Duration(n)*time.Second/time.Duration(f.m.rate)); err != nil {
			return 0, err
		}
	}
	copy(p, f.data[:n])
	f.data = f.data[n:]
	if f.after > 0 {
		f.after -= int64(n)
	}
	return n, f.ctx.Err()
}

func (f *flow) Close() error { return nil }
