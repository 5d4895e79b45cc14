package download_test

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

	"github.com/rs/zerolog"

	"collet/app/download"
)

// gate is a server that wants a token. It notes what it was sent.
type gate struct {
	*httptest.Server
	mu   sync.Mutex
	good string
	seen []string // method, path and query, authorization, referer
}

func newGate(t *testing.T, good string, answer http.HandlerFunc) *gate {
	g := &gate{good: good}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.seen = append(g.seen, fmt.Sprintf("%s %q %q", r.URL, r.Header.Get("Authorization"), r.Header.Get("Referer")))
		good := g.good
		g.mu.Unlock()
		if good != "" && r.Header.Get("Authorization") != "Bearer "+good {
			http.Error(w, "sign in", http.StatusUnauthorized)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *gate) requests() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.seen)
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

// fetch reads a whole file.
func fetch(ctx context.Context, m download.Mirror, name string) (string, error) {
	body, err := m.Get(ctx, name, 0, -1, 100)
	if err != nil {
		return "", err
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	return string(data), err
}

// tokens gives one token after the other: the next one when one is rejected.
func tokens(list ...string) func(context.Context, string) (string, error) {
	return func(_ context.Context, rejected string) (string, error) {
		at := slices.Index(list, rejected) + 1
		return list[min(at, len(list)-1)], nil
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		token func(context.Context, string) (string, error)
		asked int
		want  string // in the error; empty: it works
	}{
		"none":            {nil, 1, "status 401"},
		"the right one":   {tokens("right"), 1, ""},
		"a wrong one":     {tokens("wrong"), 1, "status 401"},
		"an expired one":  {tokens("old", "right"), 2, ""},
		"two wrong ones":  {tokens("old", "older"), 2, "status 401"},
		"no token at all": {func(context.Context, string) (string, error) { return "", errors.New("not signed in") }, 1, "there is no token: not signed in"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t, "right", hello)
			data, err := fetch(t.Context(), wayTo(t, g.URL, download.HTTPOptions{Token: test.token}), stampName)
			if n := len(g.requests()); n != test.asked {
				t.Errorf("%d requests: %v", n, g.requests())
			}
			var wrong *download.WrongError
			switch {
			case test.want == "" && (err != nil || data != "hello"):
				t.Errorf("%q, %v", data, err)
			case test.want != "" && (!errors.Is(err, download.ErrSignIn) || !errors.As(err, &wrong) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "sign in")):
				t.Errorf("error %v", err)
			}
			for _, secret := range []string{"right", "wrong", "older"} {
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("the error has a token: %v", err)
				}
			}
		})
	}
}

// TestTokenStaysAtHome: neither a token nor a signed address follows a redirect to another origin; both reach the mirror's own.
func TestTokenStaysAtHome(t *testing.T) {
	t.Parallel()
	there := newGate(t, "", hello)
	var here *gate
	here = newGate(t, "right", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/moved/"):
			hello(w, r)
		case strings.HasSuffix(r.URL.Path, "away"):
			http.Redirect(w, r, there.URL+"/away", http.StatusFound)
		default:
			http.Redirect(w, r, here.URL+"/moved/x", http.StatusFound)
		}
	})
	mirror := wayTo(t, here.URL+"/games?sig=signature", download.HTTPOptions{Token: tokens("right")})
	for _, name := range []string{"away", "near"} {
		if data, err := fetch(t.Context(), mirror, name); err != nil || data != "hello" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if got := there.requests(); len(got) != 1 || got[0] != `/away "" ""` {
		t.Errorf("the other origin was sent %v", got)
	}
	want := []string{`/games/away?sig=signature "Bearer right" ""`, `/games/near?sig=signature "Bearer right" ""`, `/moved/x "Bearer right" ""`}
	if got := here.requests(); !slices.Equal(got, want) {
		t.Errorf("the mirror was sent %v", got)
	}
	if mirror.Name() != here.URL+"/games" {
		t.Errorf("it is called %s", mirror.Name())
	}
}

// TestTokenNeedsEncryption: without TLS a token goes to this machine only, and the log says why it is not sent.
func TestTokenNeedsEncryption(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	g := newGate(t, "", hello)
	mirror, err := download.NewHTTPMirror("http://builds.example.org/x?sig=signature", download.HTTPOptions{
		Token: tokens("right"), Log: zerolog.New(&log), Direct: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, g.Listener.Addr().String())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mirror.Close() })
	if _, err := fetch(t.Context(), mirror, stampName); err != nil {
		t.Error(err)
	}
	if got := g.requests(); len(got) != 1 || got[0] != `/x/metadata/timestamp.json?sig=signature "" ""` {
		t.Errorf("it was sent %v", got)
	}
	if !strings.Contains(log.String(), "the token is not sent there") || strings.Contains(log.String(), "right") || strings.Contains(log.String(), "signature") {
		t.Errorf("log: %s", log.String())
	}
}

// TestForbidden: 403 is a refusal of who asks for a file that must be there, and a missing file elsewhere.
func TestForbidden(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(server.Close)
	for _, test := range []struct {
		query, name string
		signIn      bool
	}{
		{"", stampName, true}, {"", "metadata/2.root.json", false}, {"", "objects/aa/x", false}, {"", "sequels/x", false},
		{"?sig=s", stampName, true}, {"?sig=s", "metadata/2.root.json", false}, {"?sig=s", "objects/aa/x", true}, {"?sig=s", "sequels/x", false},
		{"?sig=s", "metadata/3.targets.json", true},
	} {
		_, err := fetch(t.Context(), wayTo(t, server.URL+"/g"+test.query, download.HTTPOptions{}), test.name)
		var missing *download.MissingError
		if errors.Is(err, download.ErrSignIn) != test.signIn || errors.As(err, &missing) == test.signIn || err == nil {
			t.Errorf("%s%s: %v", test.name, test.query, err)
		}
	}
}

// TestSignInAsksOthers: a mirror that wants a sign-in is asked once, and the next one gives the file.
func TestSignInAsksOthers(t *testing.T) {
	t.Parallel()
	closed, open := newGate(t, "right", hello), newGate(t, "", hello)
	noToken := func(context.Context, string) (string, error) { return "", errors.New("not signed in") }
	if data, err := fetch(t.Context(), wayTo(t, open.URL, download.HTTPOptions{Token: noToken}), stampName); err != nil || data != "hello" {
		t.Errorf("a mirror that needs no token: %q, %v", data, err)
	}
	f := fetcher(t, download.FetchOptions{}, wayTo(t, closed.URL, download.HTTPOptions{}), wayTo(t, open.URL, download.HTTPOptions{}))
	if data, err := f.Small(t.Context(), stampName, 100, nil); err != nil || string(data) != "hello" {
		t.Errorf("%q, %v", data, err)
	}
	alone := fetcher(t, download.FetchOptions{}, wayTo(t, closed.URL, download.HTTPOptions{}))
	before := len(closed.requests())
	_, err := alone.Small(t.Context(), stampName, 100, nil)
	if !errors.Is(err, download.ErrSignIn) || len(closed.requests()) != before+1 {
		t.Errorf("%v after %d requests", err, len(closed.requests())-before)
	}
}
