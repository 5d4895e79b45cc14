package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// counted is a web server that notes what it is asked for, and over how many connections.
type counted struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
	conns int
}

func newCounted(t *testing.T, answer http.HandlerFunc) *counted {
	c := &counted{}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.asked = append(c.asked, strings.TrimPrefix(r.URL.Path, "/"))
		c.mu.Unlock()
		answer(w, r)
	}))
	c.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			c.mu.Lock()
			c.conns++
			c.mu.Unlock()
		}
	}
	c.Start()
	t.Cleanup(c.Close)
	return c
}

func (c *counted) saw() (asked []string, conns int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(slices.Values(c.asked)), c.conns
}

func openWay(t *testing.T, address string) *HTTPMirror {
	t.Helper()
	w, err := NewHTTPMirror(address, HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func readAll(t *testing.T, w *HTTPMirror, name string) (string, error) {
	t.Helper()
	body, err := w.Get(t.Context(), name, 0, openEnd, 100)
	if err != nil {
		return "", err
	}
	defer body.Close()
	if sized, is := body.(Sized); !is || sized.Total() < 0 {
		t.Errorf("%s: the length is unknown", name)
	}
	data, err := io.ReadAll(body)
	return string(data), err
}

// TestWarmAsksOnce: the first Get of an early request makes no new request; the second one does.
func TestWarmAsksOnce(t *testing.T) {
	never := make(chan bool, 1)
	s := newCounted(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "gone"):
			http.NotFound(w, r)
			return
		case strings.HasSuffix(r.URL.Path, "never/taken"):
			never <- true
		}
		fmt.Fprint(w, "text of "+r.URL.Path)
	})
	w := openWay(t, s.URL)
	w.Warm(t.Context(), First{"here", 100}, First{"gone", 100}, First{"never/taken", 100})
	for range 2 {
		if text, err := readAll(t, w, "here"); err != nil || text != "text of /here" {
			t.Errorf("%q, %v", text, err)
		}
		var missing *MissingError
		if _, err := readAll(t, w, "gone"); !errors.As(err, &missing) {
			t.Errorf("%v", err)
		}
	}
	<-never
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	want := []string{"gone", "gone", "here", "here", "never/taken"}
	if asked, _ := s.saw(); !slices.Equal(asked, want) {
		t.Errorf("%q", asked)
	}
}

// TestWarmFails: the failure of an early request is ignored, and the request is made again.
func TestWarmFails(t *testing.T) {
	first := true
	var mu sync.Mutex
	s := newCounted(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if first {
			first = false
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		fmt.Fprint(w, "text")
	})
	w := openWay(t, s.URL)
	w.Warm(t.Context(), First{"file", 100})
	if text, err := readAll(t, w, "file"); err != nil || text != "text" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestWarmIsForgotten: a file with an early answer that is too old is requested again.
func TestWarmIsForgotten(t *testing.T) {
	s := newCounted(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "text") })
	w := openWay(t, s.URL)
	w.Warm(t.Context(), First{"file", 100})
	w.warm.mu.Lock()
	w.warm.begun = time.Now().Add(-2 * warmAge)
	w.warm.mu.Unlock()
	if text, err := readAll(t, w, "file"); err != nil || text != "text" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestWarmEndsWithItsTaker: an early answer ends with the context of its Get, and Close ends an unused one without waiting for it.
func TestWarmEndsWithItsTaker(t *testing.T) {
	hold := make(chan struct{})
	s := newCounted(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, "half ")
		w.(http.Flusher).Flush()
		<-hold
	})
	defer close(hold)
	w := openWay(t, s.URL)
	w.Warm(t.Context(), First{"slow", 100}, First{"other", 100})
	ctx, cancel := context.WithCancel(t.Context())
	body, err := w.Get(ctx, "slow", 0, openEnd, 100)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := io.ReadAll(body); err == nil {
		t.Error("it goes on")
	}
	_ = body.Close()
	_ = w.Close() // ends the unused one
}
