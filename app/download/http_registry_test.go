package download_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"collet/app/download"
	"collet/netproto/release"
	"collet/netproto/release/location"
)

// fakeRegistry is an OCI registry with one repository, team/lathe. Its blobs are in a store on another host, to which it redirects. It wants
// a token.
type fakeRegistry struct {
	store *fakeStore
	url   string // of the registry
	realm string // of the token server

	mu       sync.Mutex
	tag      []byte // the manifest with the tag collet
	sequel   []byte // that of every sequel; nil for none
	token    string // accepted; empty: none is wanted
	granted  string // by the token server
	requests map[string]int
}

// fakeStore serves files by their last path element, and must not see credentials.
type fakeStore struct {
	*httptest.Server
	t     *testing.T
	files *files
}

func newFakeStore(t *testing.T, datas ...[]byte) *fakeStore {
	s := &fakeStore{t: t, files: &files{content: map[string][]byte{}}}
	for _, data := range datas {
		name := location.AssetName(object(data).Name)
		s.files.content[name], s.files.content[object(data).Digest.Hex()] = data, data
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *fakeStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		s.t.Errorf("the store gets credentials for %s", r.URL)
	}
	s.files.ServeHTTP(w, r)
}

func newFakeRegistry(t *testing.T, datas ...[]byte) *fakeRegistry {
	f := &fakeRegistry{store: newFakeStore(t, datas...), token: "first", granted: "first", requests: map[string]int{}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url, f.realm = server.URL, server.URL+"/token"
	return f
}

// address is that of the repository.
func (f *fakeRegistry) address() string {
	return "oci://" + strings.TrimPrefix(f.url, "http://") + "/team/lathe"
}

// list changes the manifest.
func (f *fakeRegistry) list(t *testing.T, files ...location.File) {
	t.Helper()
	data, err := location.EncodeManifest(files)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tag = data
}

func (f *fakeRegistry) count(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests[name]
}

func (f *fakeRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	const repository = "/v2/team/lathe/"
	name, blob := strings.CutPrefix(r.URL.Path, repository+"blobs/sha256:")
	switch {
	case r.URL.Path == "/token":
		f.requests["token"]++
		if r.URL.Query().Get("service") != "fake" || r.URL.Query().Get("scope") != "repository:team/lathe:pull" || r.Header.Get("Authorization") != "" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		fmt.Fprintf(w, `{"access_token":%q,"expires_in":60}`, f.granted)
	case f.token != "" && r.Header.Get("Authorization") != "Bearer "+f.token:
		f.requests["refused"]++
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+f.realm+`",service="fake",scope="repository:team/lathe:pull"`)
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED"}]}`, http.StatusUnauthorized)
	case r.URL.Path == repository+"manifests/collet" && f.tag != nil:
		f.requests["manifest"]++
		if !strings.Contains(r.Header.Get("Accept"), location.MediaType) {
			http.Error(w, "another type", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", location.MediaType)
		_, _ = w.Write(f.tag)
	case strings.HasPrefix(r.URL.Path, repository+"manifests/collet-sequel-") && f.sequel != nil:
		f.requests["sequel"]++
		_, _ = w.Write(f.sequel)
	case blob:
		http.Redirect(w, r, f.store.URL+"/"+name, http.StatusTemporaryRedirect)
	default:
		http.NotFound(w, r)
	}
}

// listed describes a metadata file; embedded ones are in the manifest.
func listed(name string, data []byte, embedded bool) location.File {
	f := location.File{Name: name, Sum: release.ObjectOf(data).Sum.Hex(), Size: int64(len(data))}
	if embedded {
		f.Data = data
	}
	return f
}

// readRange reads a range of a file; its error is that of Get or of reading.
func readRange(ctx context.Context, m download.Mirror, name string, from, to, limit int64) (string, error) {
	body, err := m.Get(ctx, name, from, to, limit)
	if err != nil {
		return "", err
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	return string(data), err
}

const (
	stampName = "metadata/timestamp.json"
	rootName  = "metadata/2.root.json"
)

func TestRegistry(t *testing.T) {
	data, stamp, root := random(3_000_000, 1), []byte(`{"version":7}`), []byte(`{"root":2}`)
	f := newFakeRegistry(t, data, root)
	f.list(t, listed(stampName, stamp, true), listed(rootName, root, false))
	mirror := wayTo(t, f.address(), download.HTTPOptions{})
	mirror.Warm(t.Context(), download.First{Name: stampName, Limit: 100}, download.First{Name: rootName, Limit: 100})
	for _, c := range []struct {
		name     string
		from, to int64
		want     string
	}{
		{stampName, 0, -1, string(stamp)}, {rootName, 0, -1, string(root)}, {stampName, 2, 9, "version"}, {stampName, 12, -1, "}"}, {rootName, 2, 6, "root"},
	} {
		if got, err := readRange(t.Context(), mirror, c.name, c.from, c.to, 100); err != nil || got != c.want {
			t.Errorf("%s, %d to %d: %q, %v", c.name, c.from, c.to, got, err)
		}
	}
	spool := freshSpool(t)
	if err := fetcher(t, download.FetchOptions{}, mirror).Whole(t.Context(), object(data), spool, nil); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"metadata/3.root.json", "sequels/x.sequel", object([]byte("x")).Name} {
		var missing *download.MissingError
		if _, err := readRange(t.Context(), mirror, name, 0, -1, 100); !errors.As(err, &missing) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := f.count("token"); n != 1 {
		t.Errorf("%d tokens for one mirror", n)
	}
	f.mu.Lock()
	f.token, f.granted = "second", "second" // the first one has expired
	f.mu.Unlock()
	if got, err := readRange(t.Context(), mirror, object(data).Name, 0, 3, 3_000_000); err != nil || got != string(data[:3]) {
		t.Errorf("after a token expired: %v", err)
	}
}

// TestRegistrySequel: a sequel is one request for a manifest of its own. One without the file, or with another, counts as none.
func TestRegistrySequel(t *testing.T) {
	t.Parallel()
	name := "sequels/" + strings.Repeat("ab", 32) + ".sequel"
	data := bytes.Repeat([]byte("sequel"), 2000) // more than a manifest may have of other files
	f := newFakeRegistry(t)
	f.token = ""
	mirror := wayTo(t, f.address(), download.HTTPOptions{})
	for _, c := range []struct {
		files   []location.File
		limit   int64
		missing bool
		want    string
	}{
		{[]location.File{listed(name, data, true)}, 1 << 20, false, string(data)},
		{nil, 1 << 20, true, ""},
		{[]location.File{listed(name, data, false)}, 1 << 20, true, ""},
		{[]location.File{listed("sequels/"+strings.Repeat("cd", 32)+".sequel", data, true)}, 1 << 20, true, ""},
		{[]location.File{listed(name, data, true)}, 100, false, ""},
		{[]location.File{listed(stampName, data, true)}, 1 << 20, false, ""}, // no manifest of ours
	} {
		sequel, err := location.EncodeManifest(c.files)
		if err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		f.sequel = sequel
		f.mu.Unlock()
		var missing *download.MissingError
		got, err := readRange(t.Context(), mirror, name, 0, -1, c.limit)
		if got != c.want || (err == nil) != (c.want != "") || errors.As(err, &missing) != c.missing {
			t.Errorf("%d files, limit %d: %d bytes, %v", len(c.files), c.limit, len(got), err)
		}
	}
	if f.count("sequel") != 6 || f.count("manifest") != 0 {
		t.Errorf("%v", f.requests)
	}
}

func TestRegistryFaults(t *testing.T) {
	stamp := []byte(`{"version":7}`)
	for what, c := range map[string]struct {
		change func(f *fakeRegistry)
		want   string
	}{
		"no token":         {func(f *fakeRegistry) { f.realm = f.url + "/nothing" }, "requires a password (token server: status 401)"},
		"a bad token":      {func(f *fakeRegistry) { f.granted = "wrong" }, "status 401"},
		"no token server":  {func(f *fakeRegistry) { f.realm = "" }, "requires a password"},
		"a strange scheme": {func(f *fakeRegistry) { f.realm = "ftp://h/" }, "requires a password"},
		"a password in it": {func(f *fakeRegistry) { f.realm = "http://me:pw@h/" }, "requires a password"},
		"an empty tag":     {func(f *fakeRegistry) { f.tag = nil }, "no file"},
		"another manifest": {func(f *fakeRegistry) { f.tag = []byte(`{"layers":[{}]}`) }, "not one of a release folder"},
		"a long manifest":  {func(f *fakeRegistry) { f.tag = make([]byte, location.MaxManifest+1) }, "more than 2097152"},
		"no JSON":          {func(f *fakeRegistry) { f.tag = []byte("<html>") }, "invalid character"},
		"no file":          {func(f *fakeRegistry) { f.tag = []byte(`{"layers":[]}`) }, "no file"},
		"a token, not JSON": {func(f *fakeRegistry) {
			f.realm = f.store.URL + "/" + object(stamp).Digest.Hex()
			f.store.files.content[object(stamp).Digest.Hex()] = []byte("x")
		}, "token server's answer"},
	} {
		f := newFakeRegistry(t, stamp)
		f.list(t, listed(stampName, stamp, true))
		c.change(f)
		_, err := readRange(t.Context(), wayTo(t, f.address(), download.HTTPOptions{}), stampName, 0, -1, 100)
		var wrong *download.WrongError
		var missing *download.MissingError
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &wrong) && !errors.As(err, &missing) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	f := newFakeRegistry(t)
	f.list(t, listed(stampName, stamp, true))
	mirror := wayTo(t, f.address(), download.HTTPOptions{})
	for _, c := range []struct{ from, to, limit int64 }{{0, -1, 12}, {0, 20, 100}, {20, -1, 100}} {
		var wrong *download.WrongError
		if _, err := readRange(t.Context(), mirror, stampName, c.from, c.to, c.limit); !errors.As(err, &wrong) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestRegistryForbidden: 403 for the list of files is a missing file of a public registry, and a refusal of this reader where
// readers have a token.
func TestRegistryForbidden(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(server.Close)
	address := "oci://" + strings.TrimPrefix(server.URL, "http://") + "/team/lathe"
	const targets = "metadata/3.targets.json"
	for _, test := range []struct {
		options download.HTTPOptions
		signIn  bool
	}{{download.HTTPOptions{}, false}, {download.HTTPOptions{Token: tokens("mine", "mine")}, true}} {
		_, err := readRange(t.Context(), wayTo(t, address, test.options), targets, 0, -1, 100)
		var missing *download.MissingError
		if errors.Is(err, download.ErrSignIn) != test.signIn || errors.As(err, &missing) == test.signIn || err == nil {
			t.Errorf("with a token %v: %v", test.signIn, err)
		}
	}
}

// TestRegistryTokenStaysEncrypted: a registry with TLS can't make the client ask for a token without it.
func TestRegistryTokenStaysEncrypted(t *testing.T) {
	f := newFakeRegistry(t)
	server := httptest.NewTLSServer(f)
	t.Cleanup(server.Close)
	address := "oci://" + strings.TrimPrefix(server.URL, "https://127.0.0.1") + "/team/lathe"
	address = strings.Replace(address, "oci://", "oci://example.com", 1) // the name in the certificate; loopback would be without TLS
	mirror := wayTo(t, address, download.HTTPOptions{TLS: trusting(server), Direct: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}})
	_, err := readRange(t.Context(), mirror, stampName, 0, -1, 100)
	if err == nil || !strings.Contains(err.Error(), "requires a password") || f.count("token") != 0 || f.count("refused") == 0 {
		t.Errorf("%v; %d tokens", err, f.count("token"))
	}
}

// pipes is a network in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	close(p.closed)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestRegistryListAges: one refresh sees one list, and a later one sees the next publication.
func TestRegistryListAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeRegistry{requests: map[string]int{}}
		network := pipes{make(chan net.Conn), make(chan struct{})}
		server := &http.Server{Handler: f}
		done := make(chan error, 1)
		go func() { done <- server.Serve(network) }()
		mirror := wayTo(t, "oci://localhost/team/lathe", download.HTTPOptions{Direct: network.dial})
		read := func(want string) {
			t.Helper()
			if got, err := readRange(t.Context(), mirror, stampName, 0, -1, 100); err != nil || got != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		}
		f.list(t, listed(stampName, []byte("old"), true))
		read("old")
		f.list(t, listed(stampName, []byte("new"), true))
		time.Sleep(4 * time.Second)
		read("old")
		time.Sleep(2 * time.Second)
		read("new")
		if n := f.count("manifest"); n != 2 {
			t.Errorf("%d requests for the list", n)
		}
		if err := mirror.Close(); err != nil {
			t.Error(err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
}

// TestGitHub fetches an asset, to which GitHub redirects on another host, and is refused by a rate limit.
func TestGitHub(t *testing.T) {
	data := random(3_000_000, 1)
	store := newFakeStore(t, data)
	var busy, asked atomic.Bool // requests are answered at once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(true)
		name, found := strings.CutPrefix(r.URL.Path, "/team/lathe/releases/download/collet/")
		switch {
		case busy.Load():
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusForbidden)
		case found:
			http.Redirect(w, r, store.URL+"/"+name+"?signature=x", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	mirror := wayTo(t, "github://team/lathe?endpoint="+server.URL, download.HTTPOptions{})
	if err := fetcher(t, download.FetchOptions{MaxInFlight: 1}, mirror).Whole(t.Context(), object(data), freshSpool(t), nil); err != nil {
		t.Error(err)
	}
	for _, name := range []string{stampName, "sequels/x.sequel"} {
		var missing *download.MissingError
		if _, err := readRange(t.Context(), mirror, name, 0, -1, 100); !errors.As(err, &missing) {
			t.Errorf("%s: %v", name, err)
		}
	}
	temporary := location.AssetName(stampName) + location.Temporary
	store.files.mu.Lock()
	store.files.content[temporary] = []byte("new")
	store.files.mu.Unlock()
	if got, err := readRange(t.Context(), mirror, stampName, 0, -1, 100); err != nil || got != "new" {
		t.Errorf("while the timestamp is replaced: %q, %v", got, err)
	}
	busy.Store(true)
	_, err := readRange(t.Context(), mirror, stampName, 0, -1, 100)
	var wrong *download.WrongError
	if !errors.As(err, &wrong) || wrong.Kind != download.WrongBusy || wrong.RetryAfter != 7*time.Second {
		t.Errorf("at a rate limit: %v", err)
	}
	if !asked.Load() || len(store.files.requests()) == 0 {
		t.Error("the asset came from elsewhere")
	}
}
