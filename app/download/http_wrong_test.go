package download_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"collet/app/download"
)

// wrongSize is the size of the object of these tests: several requests, and more than any server may send uselessly.
const wrongSize = 1_500_000

// answerRange sends the right headers of a range, and body.
func answerRange(w http.ResponseWriter, from, to, total int, body []byte) {
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, total))
	w.Header().Set("Content-Type", "application/octet-stream")
	w.WriteHeader(http.StatusPartialContent)
	_, _ = w.Write(body)
}

// cut breaks the connection under an answer that has begun.
func cut(w http.ResponseWriter) {
	w.(http.Flusher).Flush()
	if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// reset breaks the connection before there is an answer.
func reset(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if tcp, is := conn.(*net.TCPConn); is {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

const portal = "<!doctype html><html><title>Welcome to our guests</title>Please log in.</html>"

// wrongServer is a server that is wrong in one way.
type wrongServer struct {
	name  string
	kind  download.WrongKind // of the error when it is alone; empty where that is net, or where it works
	net   download.NetKind
	gone  bool // it says that it has no such file
	slow  bool // alone it takes seconds; the fetcher's other tests have it in a bubble of time
	serve func(data []byte) http.HandlerFunc
}

func (ws wrongServer) works() bool { return ws.kind == "" && ws.net == "" && !ws.gone }

// wrongServers are all of them.
func wrongServers() []wrongServer {
	right := func(data []byte) http.Handler { return holding(data) }
	return []wrongServer{
		{name: "200 for 206", serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(data) }
		}},
		{name: "200 for 206, chunked", serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				_, _ = w.Write(data[:1000])
				w.(http.Flusher).Flush()
				_, _ = w.Write(data[1000:])
			}
		}},
		{name: "200 for 206, and breaks", net: download.NetReset, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", strconv.Itoa(len(data)))
				_, _ = w.Write(data[:len(data)/3])
				cut(w)
			}
		}},
		{name: "another range", kind: download.WrongRange, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				from, to := span(r.Header.Get("Range"), len(data))
				answerRange(w, from+1, to, len(data), data[from+1:to])
			}
		}},
		{name: "range without a number", kind: download.WrongRange, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusPartialContent) }
		}},
		{name: "several ranges", kind: download.WrongRange, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "multipart/byteranges; boundary=x")
				w.WriteHeader(http.StatusPartialContent)
				_, _ = io.WriteString(w, "--x\r\n")
			}
		}},
		{name: "less than the range", kind: download.WrongLength, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				from, to := span(r.Header.Get("Range"), len(data))
				answerRange(w, from, to-7, len(data), data[from:to-7])
			}
		}},
		{name: "length and range disagree", kind: download.WrongLength, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				from, to := span(r.Header.Get("Range"), len(data))
				w.Header().Set("Content-Length", strconv.Itoa(to-from-1))
				answerRange(w, from, to, len(data), data[from:to-1])
			}
		}},
		{name: "a longer file", kind: download.WrongLength, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				from, to := span(r.Header.Get("Range"), len(data))
				answerRange(w, from, to, len(data)+1, data[from:to])
			}
		}},
		{name: "a longer file, whole", kind: download.WrongLength, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", strconv.Itoa(len(data)+1))
				_, _ = w.Write(append(bytes.Clone(data), 1))
			}
		}},
		{name: "an empty file", kind: download.WrongLength, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {}
		}},
		{name: "a shorter file", kind: download.WrongRefused, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Range", "bytes */10")
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			}
		}},
		{name: "chunked and too short", kind: download.WrongShort, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				from, to := span(r.Header.Get("Range"), len(data))
				w.Header().Set("Transfer-Encoding", "chunked")
				answerRange(w, from, to, len(data), data[from:min(to, from+1000)])
			}
		}},
		{name: "chunked and too long", serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				from, to := span(r.Header.Get("Range"), len(data))
				w.Header().Set("Transfer-Encoding", "chunked")
				answerRange(w, from, to, len(data), append(bytes.Clone(data[from:to]), 1, 2, 3))
			}
		}},
		{name: "compressed on its way", kind: download.WrongEncoded, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				right(data).ServeHTTP(w, r)
			}
		}},
		{name: "an old file", kind: download.WrongStale, serve: func(data []byte) http.HandlerFunc {
			old := random(len(data), 77)
			return func(w http.ResponseWriter, r *http.Request) {
				from, to := span(r.Header.Get("Range"), len(data))
				answerRange(w, from, to, len(data), old[from:to])
			}
		}},
		{name: "one bit is wrong", kind: download.WrongStale, serve: func(data []byte) http.HandlerFunc {
			old := bytes.Clone(data)
			old[len(old)/2+5] ^= 1
			return func(w http.ResponseWriter, r *http.Request) {
				from, to := span(r.Header.Get("Range"), len(data))
				answerRange(w, from, to, len(data), old[from:to])
			}
		}},
		{name: "breaks in the middle", serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				from, to := span(r.Header.Get("Range"), len(data))
				w.Header().Set("Content-Length", strconv.Itoa(to-from))
				answerRange(w, from, to, len(data), data[from:min(to, from+200_000)])
				cut(w)
			}
		}},
		{name: "resets at once", net: download.NetReset, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { reset(w) }
		}},
		{name: "resets every other time", serve: func(data []byte) http.HandlerFunc {
			var n atomic.Int64
			return func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1)%2 == 1 {
					reset(w)
					return
				}
				right(data).ServeHTTP(w, r)
			}
		}},
		{name: "redirects in circles", kind: download.WrongRedirect, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }
		}},
		{name: "redirects on and on", kind: download.WrongRedirect, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
			}
		}},
		{name: "redirects to another protocol", kind: download.WrongRedirect, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "file:///etc/hosts", http.StatusFound)
			}
		}},
		{name: "redirects once", serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasPrefix(r.URL.Path, "/real/") {
					http.Redirect(w, r, "/real"+r.URL.Path, http.StatusTemporaryRedirect)
					return
				}
				http.StripPrefix("/real", right(data)).ServeHTTP(w, r)
			}
		}},
		{name: "a page of a guest network", kind: download.WrongPage, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				_, _ = io.WriteString(w, portal)
			}
		}},
		{name: "a page, chunked", kind: download.WrongPage, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.(http.Flusher).Flush()
				_, _ = io.WriteString(w, portal)
			}
		}},
		{name: "a redirect to a page", kind: download.WrongPage, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/login" {
					http.Redirect(w, r, "/login", http.StatusFound)
					return
				}
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, portal)
			}
		}},
		{name: "network authentication", kind: download.WrongPage, serve: status(511)},
		{name: "not found", gone: true, serve: status(404)},
		{name: "gone", gone: true, serve: status(410)},
		{name: "forbidden", gone: true, serve: status(403)},
		{name: "internal error", kind: download.WrongStatus, serve: status(500)},
		{name: "not modified", kind: download.WrongStatus, serve: status(304)},
		{name: "busy", kind: download.WrongBusy, slow: true, serve: status(503)},
		{name: "too many requests", kind: download.WrongBusy, slow: true, serve: status(429)},
		{name: "not HTTP", net: download.NetReset, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
					_, _ = io.WriteString(conn, "220 mail.example ESMTP\r\n")
					_ = conn.Close()
				}
			}
		}},
		{name: "headers without end", net: download.NetReset, serve: func(data []byte) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				for i := range 2000 {
					w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("y", 100))
				}
				right(data).ServeHTTP(w, r)
			}
		}},
	}
}

func status(code int) func([]byte) http.HandlerFunc {
	return func([]byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(code) }
	}
}

// TestWrongServerAlone wants the right bytes, or an error that names the server and its fault.
func TestWrongServerAlone(t *testing.T) {
	data := random(wrongSize, 1)
	for _, ws := range wrongServers() {
		if ws.slow {
			continue
		}
		t.Run(ws.name, func(t *testing.T) {
			t.Parallel()
			mirror := serve(t, ws.serve(data))
			s := freshSpool(t)
			err := fetcher(t, download.FetchOptions{}, mirror).Whole(t.Context(), object(data), s, nil)
			if ws.works() {
				if err != nil || !bytes.Equal(content(t, s, object(data)), data) {
					t.Errorf("wrong bytes, or %v", err)
				}
				return
			}
			checkWrong(t, ws, err)
			if err != nil && !ws.gone && !strings.Contains(err.Error(), mirror.Name()) {
				t.Errorf("the error does not name %s: %v", mirror.Name(), err)
			}
			if _, opened := s.Open(t.Context(), object(data).Digest); opened == nil {
				t.Error("the spool gives what was never right")
			}
		})
	}
}

func checkWrong(t *testing.T, ws wrongServer, err error) {
	t.Helper()
	var missing *download.MissingError
	var wrong *download.WrongError
	var network *download.NetError
	switch {
	case err == nil:
		t.Error("it worked")
	case ws.gone != errors.As(err, &missing),
		(ws.kind != "") != errors.As(err, &wrong) || wrong != nil && wrong.Kind != ws.kind,
		(ws.net != "") != errors.As(err, &network) || network != nil && network.Kind != ws.net:
		t.Errorf("got %v", err)
	}
}

// TestWrongServerBesideGood puts each in front of a good mirror: the bytes are right in the end.
func TestWrongServerBesideGood(t *testing.T) {
	data := random(wrongSize, 2)
	for _, ws := range wrongServers() {
		t.Run(ws.name, func(t *testing.T) {
			t.Parallel()
			s := freshSpool(t)
			f := fetcher(t, download.FetchOptions{}, serve(t, ws.serve(data)), serve(t, holding(data)))
			if err := f.Whole(t.Context(), object(data), s, nil); err != nil || !bytes.Equal(content(t, s, object(data)), data) {
				t.Errorf("Whole: wrong bytes, or %v", err)
			}
			if ws.kind == download.WrongStale {
				return // the bytes of Ranges are not verified
			}
			wanted := []download.Range{{Start: 3, End: 700}, {Start: 300_000, End: 1_200_000}, {Start: 1_499_990, End: 1_500_000}}
			f = fetcher(t, download.FetchOptions{}, serve(t, ws.serve(data)), serve(t, holding(data)))
			checkRanges(t, f, data, wanted)
		})
	}
}

// TestWrongServerRanges asks each of those that work alone for ranges.
func TestWrongServerRanges(t *testing.T) {
	data := random(wrongSize, 3)
	for _, ws := range wrongServers() {
		if !ws.works() {
			continue
		}
		t.Run(ws.name, func(t *testing.T) {
			t.Parallel()
			f := fetcher(t, download.FetchOptions{}, serve(t, ws.serve(data)))
			checkRanges(t, f, data, []download.Range{{Start: 3, End: 700}, {Start: 300_000, End: 1_200_000}, {Start: 1_300_000, End: 1_300_001}})
		})
	}
}

func checkRanges(t *testing.T, f *download.Fetcher, data []byte, wanted []download.Range) {
	t.Helper()
	got := make([][]byte, len(wanted))
	err := f.Ranges(t.Context(), object(data), wanted, nil, func(i int, offset int64, piece []byte) error {
		if offset != wanted[i].Start+int64(len(got[i])) {
			return fmt.Errorf("range %d goes on at %d", i, offset)
		}
		got[i] = append(got[i], piece...)
		return nil
	})
	if err != nil {
		t.Errorf("Ranges: %v", err)
		return
	}
	for i, r := range wanted {
		if !bytes.Equal(got[i], data[r.Start:r.End]) {
			t.Errorf("range %d has %d bytes that are wrong", i, len(got[i]))
		}
	}
}

// TestAllWrong wants every server named with its own reason.
func TestAllWrong(t *testing.T) {
	data := random(1000, 4)
	mirrors := []download.Mirror{}
	for _, ws := range wrongServers() {
		if ws.name == "compressed on its way" || ws.name == "not found" || ws.name == "an old file" || ws.name == "resets at once" {
			mirrors = append(mirrors, serve(t, ws.serve(data)))
		}
	}
	err := fetcher(t, download.FetchOptions{}, mirrors...).Whole(t.Context(), object(data), freshSpool(t), nil)
	var none *download.ExhaustedError
	if !errors.As(err, &none) || len(none.Reasons) != len(mirrors) {
		t.Fatalf("got %v", err)
	}
	for i, mirror := range mirrors {
		if !strings.Contains(none.Reasons[i].Error(), mirror.Name()) {
			t.Errorf("reason %d is %v, and not about %s", i, none.Reasons[i], mirror.Name())
		}
	}
}

// TestEndlessSmall takes no more of a file without end than the limit.
func TestEndlessSmall(t *testing.T) {
	mirror := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	}))
	_, err := fetcher(t, download.FetchOptions{}, mirror).Small(t.Context(), "metadata/timestamp.json", 16<<10, nil)
	var wrong *download.WrongError
	if !errors.As(err, &wrong) || wrong.Kind != download.WrongLong {
		t.Errorf("got %v", err)
	}
}

// TestMixedStale has two mirrors that each deliver a part, one of them an old one: the good one's part is kept.
func TestMixedStale(t *testing.T) {
	data := random(wrongSize, 5)
	old := random(wrongSize, 6)
	bad := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, to := span(r.Header.Get("Range"), len(old))
		if from > 0 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		answerRange(w, from, to, len(old), old[from:to])
	})
	good := holding(data)
	s := freshSpool(t)
	f := fetcher(t, download.FetchOptions{}, serve(t, bad), serve(t, good))
	if err := f.Whole(t.Context(), object(data), s, nil); err != nil || !bytes.Equal(content(t, s, object(data)), data) {
		t.Fatalf("wrong bytes, or %v", err)
	}
	if sent := good.bytes(); sent > wrongSize*3/2 {
		t.Errorf("the good mirror sent %d bytes for %d", sent, wrongSize)
	}
}

// TestHTTPSRedirectsStaySafe has a server with TLS that redirects to one without.
func TestHTTPSRedirectsStaySafe(t *testing.T) {
	data := random(1000, 7)
	plain := httptest.NewServer(holding(data))
	t.Cleanup(plain.Close)
	server := httptest.NewTLSServer(http.RedirectHandler(plain.URL+"/"+object(data).Name, http.StatusFound))
	t.Cleanup(server.Close)
	mirror := wayTo(t, server.URL, download.HTTPOptions{TLS: trusting(server)})
	err := fetcher(t, download.FetchOptions{}, mirror).Whole(t.Context(), object(data), freshSpool(t), nil)
	var wrong *download.WrongError
	if !errors.As(err, &wrong) || wrong.Kind != download.WrongRedirect || !strings.Contains(err.Error(), "from https to http") {
		t.Errorf("got %v", err)
	}
}

// TestRetryAfter reads both forms, and no nonsense.
func TestRetryAfter(t *testing.T) {
	for text, want := range map[string][2]time.Duration{
		"":        {0, 0},
		"7":       {7 * time.Second, 7 * time.Second},
		"-7":      {0, 0},
		"never":   {0, 0},
		"9999999": {9999999 * time.Second, 9999999 * time.Second},
		time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat): {60 * time.Second, 90 * time.Second},
		"Sun, 06 Nov 1994 08:49:37 GMT":                                {0, 0},
	} {
		mirror := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", text)
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		_, err := mirror.Get(t.Context(), "x", 0, -1, 10)
		var wrong *download.WrongError
		if !errors.As(err, &wrong) || wrong.Kind != download.WrongBusy || wrong.RetryAfter < want[0] || wrong.RetryAfter > want[1] {
			t.Errorf("%q: %v, %v", text, wrong.RetryAfter, err)
		}
	}
}

// TestRefusalKeepsTheConnection: the text of a 404 is read, so that what is asked for next needs no new connection; a long one is
// not, because it would cost more than that.
func TestRefusalKeepsTheConnection(t *testing.T) {
	const asked = 4
	for length, again := range map[int]bool{0: true, 300: true, 1 << 20: false} {
		var conns atomic.Int32
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(length))
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write(make([]byte, length))
		}))
		server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				conns.Add(1)
			}
		}
		server.Start()
		mirror, err := download.NewHTTPMirror(server.URL, download.HTTPOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range asked {
			var missing *download.MissingError
			if _, err := mirror.Get(t.Context(), "nothing", 0, -1, 100); !errors.As(err, &missing) {
				t.Errorf("%v", err)
			}
		}
		if n := int(conns.Load()); again && n > asked/2 || !again && n < asked { // on a busy machine one may not be there in time
			t.Errorf("%d refusals of %d bytes took %d connections", asked, length, n)
		}
		if err := mirror.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	}
}
