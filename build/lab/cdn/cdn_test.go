//go:build unix

package cdn

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"collet/app/acquire"
	"collet/app/download"
	"collet/build/testprograms"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform/testlevel"
	"collet/platform/testwait"
)

const (
	// startsPerSecond are 10,000 a minute.
	startsPerSecond = 167
	// seconds is how long the load lasts.
	seconds = 15
	// mostOfOrigin is how many requests the origin may get in any second.
	mostOfOrigin = 50
	// documents are the configurations for operators.
	documents = "../../../docs/caches"
)

// library is the beginning of a library for Linux on x86-64: as much as a publication looks at.
var library = "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x03\x00\x3e\x00" + strings.Repeat("\x00", 236)

// TestCaches is the load and the outage for each cache before each kind of origin. The two origins of a cache are tested beside each other:
// a load waits most of the time.
func TestCaches(t *testing.T) {
	testlevel.Lab(t)
	clock := fakeClock(t)
	for _, cache := range []struct {
		name, program string
		start         func(t *testing.T, exe, origin, prefix string, clock []string) string
	}{{"varnish", "varnishd", startVarnish}, {"trafficserver", "traffic_server", startTrafficServer}} {
		t.Run(cache.name, func(t *testing.T) {
			exe, err := exec.LookPath(cache.program)
			if err != nil {
				t.Skipf("NOT TESTED: there is no %s on this machine; install it, make setup does", cache.program)
			}
			for _, store := range []struct {
				name   string
				newest uint64 // release
				start  func(t *testing.T, f folder) (address, prefix string, stop func())
			}{{"collet-server", 2, startServer}, {"bucket", 3, startBucket}} {
				t.Run("before "+store.name, func(t *testing.T) {
					t.Parallel()
					f := publish(t)
					address, prefix, stop := store.start(t, f)
					c := clock(t)
					o := openOrigin(t, address, c)
					at := cache.start(t, exe, o.address, prefix, c.env)
					p := players{root: f.root, address: "http://" + at + prefix, have: store.newest}
					p.wait(t)
					p.install(t, f)
					p.load(t, o, c)
					o.close()
					stop()
					p.outage(t, f, c)
				})
			}
		})
	}
}

// faked is the clock of one cache.
type faked struct {
	file *os.File
	env  []string
	by   atomic.Int64 // seconds
}

// fakeClock builds testdata/clock.c.
func fakeClock(t *testing.T) func(t *testing.T) *faked {
	t.Helper()
	library := filepath.Join(t.TempDir(), "clock.so")
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, "testdata/clock.c").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: the clock can't be built: %v\n%s", err, out)
	}
	return func(t *testing.T) *faked {
		file, err := os.Create(filepath.Join(t.TempDir(), "clock"))
		must(t, err)
		t.Cleanup(func() { file.Close() })
		c := &faked{file: file, env: []string{"LD_PRELOAD=" + library, "LAB_CLOCK=" + file.Name()}}
		c.advance(t, 0)
		return c
	}
}

// advance moves the clock of the cache forward.
func (c *faked) advance(t *testing.T, by time.Duration) {
	t.Helper()
	ahead := c.by.Add(int64(by / time.Second))
	_, err := c.file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(ahead)), 0)
	must(t, err)
}

// folder is a release folder with two releases.
type folder struct {
	dir, path string
	root      []byte
}

func (f folder) collet(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command(testprograms.Collet(t), args...)
	cmd.Dir, cmd.Env = f.dir, append(os.Environ(), "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret", "SSL_CERT_FILE="+filepath.Join(f.dir, "certificate.pem"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("collet %q: %v\n%s", args, err, out)
	}
}

func publish(t *testing.T) folder {
	t.Helper()
	f := folder{dir: t.TempDir()}
	f.path = filepath.Join(f.dir, "release")
	f.collet(t, "keys", "init", "--development")
	f.collet(t, "release", "init", "--keys", "keys", "--product", "lathe", "--allow-development")
	for n := range 2 {
		for name, content := range map[string]string{"Resources/level": strings.Repeat(fmt.Sprintf("level %d\n", n), 100_000), "PlatformBinaries/Linux-x64/Lathe.so": library} {
			name = filepath.Join(f.dir, "game", filepath.FromSlash(name))
			must(t, os.MkdirAll(filepath.Dir(name), 0o755))
			must(t, os.WriteFile(name, []byte(content), 0o644))
		}
		f.collet(t, "release", "publish", "game", "--compatibility", fmt.Sprint(n+1), "--allow-development")
	}
	var err error
	f.root, err = os.ReadFile(filepath.Join(f.path, "metadata", "1.root.json"))
	must(t, err)
	return f
}

// files are all files of the folder for players but the lists, by name.
func (f folder) files(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, top := range []string{"objects", "releases", "sequels"} {
		must(t, filepath.WalkDir(filepath.Join(f.path, top), func(name string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(name)
			short, _ := filepath.Rel(f.path, name)
			files[filepath.ToSlash(short)] = data
			return err
		}))
	}
	return files
}

// startServer serves the folder with collet-server.
func startServer(t *testing.T, f folder) (address, prefix string, stop func()) {
	address = testwait.FreeAddress(t)
	cmd := exec.Command(testprograms.Server(t), "--release", "release", "--listen", "127.0.0.1:0", "--http", address)
	cmd.Dir = f.dir
	return "http://" + address, "/", start(t, cmd)
}

// startBucket publishes another release, into a public bucket of versitygw.
func startBucket(t *testing.T, f folder) (address, prefix string, stop func()) {
	exe, data := filepath.Join(f.dir, "versitygw"), filepath.Join(f.dir, "store")
	build := exec.Command("go", "build", "-o", exe, "github.com/versity/versitygw/cmd/versitygw")
	build.Dir, build.Env = "versitygw", append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: versitygw can't be built: %v\n%s", err, out)
	}
	must(t, os.MkdirAll(data, 0o755))
	address = testwait.FreeAddress(t)
	// Over TLS, as buckets are reached: without it uploads are signed in chunks, and versitygw 1.8.0 gives readers the encoding of these.
	certificate, key := filepath.Join(f.dir, "certificate.pem"), filepath.Join(f.dir, "key.pem")
	if out, err := exec.Command("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=store",
		"-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate).CombinedOutput(); err != nil {
		t.Fatalf("openssl: %v\n%s", err, out)
	}
	cmd := exec.Command(exe, "--cert", certificate, "--key", key, "--port", address, "--access", "key", "--secret", "secret", "--quiet", "posix", data)
	cmd.Dir = f.dir
	stop = start(t, cmd)
	listens(t, address)
	put(t, certificate, address, "/games", "")
	put(t, certificate, address, "/games?policy=", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":["s3:GetObject"],"Resource":["arn:aws:s3:::games/*"]}]}`)
	f.collet(t, "release", "publish", "game", "--compatibility", "3", "--allow-development", "--yes", "--to", "s3://games/lathe?region=us-east-1&endpoint="+address)
	return "https://" + address, "/games/lathe/", stop
}

// put makes a signed request to an object store.
func put(t *testing.T, certificate, address, path, body string) {
	t.Helper()
	out, err := exec.Command("curl", "-sS", "--cacert", certificate, "--fail-with-body", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", "key:secret", "-X", "PUT", "--data-binary", body,
		"-H", "Content-Type: application/json", "-H", fmt.Sprintf("x-amz-content-sha256: %x", sha256.Sum256([]byte(body))), "https://"+address+path).CombinedOutput()
	if err != nil {
		t.Fatalf("PUT %s: %v\n%s", path, err, out)
	}
}

func listens(t *testing.T, address string) {
	t.Helper()
	testwait.Until(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, "nothing listens at "+address)
}

// origin counts the requests that reach the origin, by second.
type origin struct {
	address string
	close   func()

	mu    sync.Mutex
	asked map[int64]int
	names map[string]int
}

// openOrigin opens the counter before an address with a scheme. Its answers have the date of the cache's clock, because caches compare it with their own.
func openOrigin(t *testing.T, address string, c *faked) *origin {
	t.Helper()
	o := &origin{asked: map[int64]int{}, names: map[string]int{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	at, err := url.Parse(address)
	must(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }}
	transport := &http.Transport{DisableCompression: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // the store's own certificate
	proxy.Transport = transport
	proxy.ModifyResponse = func(r *http.Response) error {
		r.Header.Set("Date", time.Now().Add(time.Duration(c.by.Load())*time.Second).UTC().Format(http.TimeFormat))
		return nil
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.asked[time.Now().Unix()]++
		o.names[r.URL.Path]++
		o.mu.Unlock()
		proxy.ServeHTTP(w, r)
	})}
	var serving sync.WaitGroup
	serving.Go(func() { s.Serve(listener) })
	o.address, o.close = listener.Addr().String(), func() { s.Close(); serving.Wait(); transport.CloseIdleConnections() }
	t.Cleanup(o.close)
	return o
}

// most is the largest number of requests in a second, and their sum; it forgets them.
func (o *origin) most() (most, sum int, names map[string]int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range o.asked {
		most, sum = max(most, n), sum+n
	}
	names = o.names
	o.asked, o.names = map[int64]int{}, map[string]int{}
	return most, sum, names
}

// startVarnish runs the VCL of the documents, with another origin and the path of the folder there.
func startVarnish(t *testing.T, exe, origin, prefix string, clock []string) string {
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(documents, "varnish.vcl"))
	must(t, err)
	host, port, _ := net.SplitHostPort(origin)
	text = replaceOne(t, replaceOne(t, text, `.host = "127.0.0.1"`, fmt.Sprintf(".host = %q", host)), `.port = "8080"`, fmt.Sprintf(".port = %q", port))
	text = replaceOne(t, text, `.url = "/metadata/`, fmt.Sprintf(`.url = "%smetadata/`, prefix))
	config := filepath.Join(dir, "varnish.vcl")
	must(t, os.WriteFile(config, text, 0o644))
	address := testwait.FreeAddress(t)
	cmd := exec.Command(exe, "-F", "-j", "none", "-n", filepath.Join(dir, "run"), "-a", address, "-f", config, "-s", "malloc,64m",
		"-p", "timeout_idle=172800", "-p", "send_timeout=172800") // s; the moved clock would end connections that have just begun
	cmd.Env = append(os.Environ(), clock...)
	start(t, cmd)
	return address
}

// startTrafficServer runs the files of the documents beside Debian's, with another origin and port.
func startTrafficServer(t *testing.T, exe, origin, _ string, clock []string) string {
	dir := t.TempDir()
	for _, name := range []string{"run", "cache", "log"} {
		must(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	config := filepath.Join(dir, "config")
	must(t, os.CopyFS(config, os.DirFS("/etc/trafficserver")))
	address := testwait.FreeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	for _, name := range []string{"records.config", "plugin.config", "headers.config", "remap.config"} {
		text, err := os.ReadFile(filepath.Join(documents, "trafficserver", name))
		must(t, err)
		switch name {
		case "records.config":
			text = replaceOne(t, text, "server_ports STRING 80\n", "server_ports STRING "+port+":ip-in=127.0.0.1\n")
		case "remap.config":
			text = replaceOne(t, text, "127.0.0.1:8080", origin)
		}
		must(t, os.WriteFile(filepath.Join(config, name), text, 0o644))
	}
	must(t, os.WriteFile(filepath.Join(config, "storage.config"), []byte(filepath.Join(dir, "cache")+" 64M\n"), 0o644))
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), clock...), "PROXY_CONFIG_CONFIG_DIR="+config, "PROXY_CONFIG_LOCAL_STATE_DIR="+filepath.Join(dir, "run"),
		"PROXY_CONFIG_LOG_LOGFILE_DIR="+filepath.Join(dir, "log"), "PROXY_CONFIG_ADMIN_USER_ID=#-1", "PROXY_CONFIG_DIAGS_OUTPUT_STATUS=E")
	start(t, cmd)
	return address
}

func replaceOne(t *testing.T, text []byte, old, with string) []byte {
	t.Helper()
	if bytes.Count(text, []byte(old)) != 1 {
		t.Fatalf("%q is not there once", old)
	}
	return bytes.Replace(text, []byte(old), []byte(with), 1)
}

// players are those who have a release. Each start has its own connections, as the client's.
type players struct {
	root    []byte
	address string // of the folder, at the cache
	have    uint64

	store *trust.MemoryStore // what an up-to-date player has verified
	asks  []string           // the files that a start of that player requests, the next root among them
}

// wait waits for the cache and the origin.
func (p *players) wait(t *testing.T) {
	t.Helper()
	testwait.Until(t, func() bool {
		answer, err := http.Get(p.address + "metadata/timestamp.json")
		if err == nil {
			answer.Body.Close()
		}
		return err == nil && answer.StatusCode == http.StatusOK
	}, "the cache does not answer with the timestamp")
}

// fetcher fetches by the client's own code.
type fetcher struct {
	mirror *download.HTTPMirror
	asked  func(name string)
}

func (f fetcher) Fetch(ctx context.Context, name string, limit int64) (trust.Unverified, error) {
	f.asked(name)
	body, err := f.mirror.Get(ctx, name, 0, -1, limit)
	if err != nil {
		return trust.Unverified{}, err
	}
	defer body.Close()
	return trust.ReadUnverified(body, limit)
}

// begin is the check of one start: the first files, which are requested early, the sequel beside them, and the signed lists. It is
// what acquire.TestNothingToDo counts.
func (p *players) begin(store *trust.MemoryStore, have uint64) error {
	_, err := p.record(store, have)
	return err
}

// record is begin, and names what was requested.
func (p *players) record(store *trust.MemoryStore, have uint64) (asked []string, err error) {
	var mu sync.Mutex
	note := func(name string) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, name)
	}
	err = p.check(store, have, note)
	slices.Sort(asked)
	return asked, err
}

func (p *players) check(store *trust.MemoryStore, have uint64, asked func(name string)) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	mirror, err := download.NewHTTPMirror(p.address, download.HTTPOptions{Agent: "test"})
	if err != nil {
		return err
	}
	defer mirror.Close()
	mirror.Warm(ctx, acquire.FirstFiles(p.root, os.DirFS("/nonexistent"), time.Now())...)
	entry := release.Entry{Product: "lathe", Channel: "stable", Target: "Linux-x64", Number: have}
	sequel := entry.RelativeSequelPath()
	if have == 0 {
		sequel = entry.PackedSequelPath() // a new player has nothing that a sequel could leave out
	}
	var beside sync.WaitGroup
	var sequelErr error
	beside.Go(func() {
		_, sequelErr = fetcher{mirror, asked}.Fetch(ctx, sequel, release.MaxSequel)
	})
	client, err := trust.Open(p.root, store, time.Now)
	if err == nil {
		var current trust.Current
		current, err = client.Refresh(ctx, fetcher{mirror, asked}, release.Query{Product: "lathe", Channel: "stable", Target: "Linux-x64", Install: "7f3c", Have: have})
		if err == nil && (!current.Fresh || current.Number != p.have) {
			err = fmt.Errorf("release %d, %s", current.Number, current.Why)
		}
	}
	beside.Wait()
	return errors.Join(err, sequelErr)
}

// copied is the state of a player whose question for the next root is overdue, as at the first start of a day: the worst case.
func (p *players) copied() *trust.MemoryStore {
	to := &trust.MemoryStore{}
	for _, name := range p.store.Names() {
		if data, err := p.store.Load(name, 1<<20); err == nil && name != trust.AskedFile {
			_ = to.Save(name, data) // memory has no errors
		}
	}
	return to
}

// install is the first start of a player, with all files of the folder, so that the cache has seen them.
func (p *players) install(t *testing.T, f folder) {
	t.Helper()
	p.store = &trust.MemoryStore{}
	must(t, p.begin(p.store, 0))
	p.wantFiles(t, f)
	var err error
	p.asks, err = p.record(p.copied(), p.have)
	must(t, err)
	if len(p.asks) != 3 || p.asks[0] != "metadata/2.root.json" || p.asks[1] != "metadata/timestamp.json" || !strings.HasPrefix(p.asks[2], "sequels/") {
		t.Fatalf("a start requests %q", p.asks)
	}
}

// request makes the requests of a start, as the client makes them and without what it does with the answers, on connections of its own.
func (p *players) request() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	mirror, err := download.NewHTTPMirror(p.address, download.HTTPOptions{Agent: "test"})
	if err != nil {
		return err
	}
	defer mirror.Close()
	var all errgroup.Group
	for _, name := range p.asks {
		all.Go(func() error {
			_, err := fetcher{mirror, func(string) {}}.Fetch(ctx, name, release.MaxSequel)
			if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(name, ".root.json") {
				return nil
			}
			return err
		})
	}
	return all.Wait()
}

// wantFiles fetches all files through the cache, and compares them.
func (p *players) wantFiles(t *testing.T, f folder) {
	t.Helper()
	mirror, err := download.NewHTTPMirror(p.address, download.HTTPOptions{})
	must(t, err)
	defer mirror.Close()
	for name, want := range f.files(t) {
		body, err := mirror.Get(context.Background(), name, 0, -1, int64(len(want)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := io.ReadAll(body)
		if body.Close(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(want), err)
		}
	}
}

// load starts players, and lets what the cache has expire twice meanwhile: once so that it may answer and ask, once so that it must ask.
func (p *players) load(t *testing.T, o *origin, c *faked) {
	t.Helper()
	o.most()
	var running sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	begun := time.Now()
	for n := range startsPerSecond * seconds {
		due := time.NewTimer(time.Until(begun.Add(time.Duration(n) * time.Second / startsPerSecond)))
		<-due.C // a start that is late is not left out
		switch n {
		case startsPerSecond * seconds / 3:
			c.advance(t, 45*time.Second)
		case startsPerSecond * seconds * 2 / 3:
			c.advance(t, 10*time.Minute)
		}
		running.Go(func() {
			if err := p.request(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, err)
			}
		})
	}
	running.Wait()
	took := time.Since(begun)
	most, sum, names := o.most()
	t.Logf("%d starts in %.1f s, %.0f a minute; the origin got %d requests, at most %d a second: %v", startsPerSecond*seconds, took.Seconds(), startsPerSecond*seconds/took.Minutes(), sum, most, names)
	if len(failed) > 0 {
		t.Errorf("%d starts failed, such as: %v", len(failed), failed[0])
	}
	if most > mostOfOrigin {
		t.Errorf("the origin got %d requests in a second, want at most %d", most, mostOfOrigin)
	}
	if each := sum / seconds; each > mostOfOrigin { // if this machine took longer
		t.Errorf("%d starts cost the origin %d requests", startsPerSecond, each)
	}
	if sum < 2*len(p.asks) {
		t.Errorf("the origin got only %d requests: what the cache has did not expire", sum)
	}
}

// outage is an hour without the origin: players who come back, and new ones, notice nothing. After a day the cache stops.
func (p *players) outage(t *testing.T, f folder, c *faked) {
	t.Helper()
	for minute := range 13 {
		// At once: all find what the cache has too old, and wait for the first to ask.
		var together errgroup.Group
		for range 20 {
			together.Go(p.request)
		}
		if err := together.Wait(); err != nil {
			t.Errorf("players at once, %d minutes after the origin: %v", 5*minute, err)
		}
		if err := p.begin(p.copied(), p.have); err != nil {
			t.Errorf("%d minutes after the origin: %v", 5*minute, err)
		}
		if err := p.begin(&trust.MemoryStore{}, 0); err != nil {
			t.Errorf("a new player, %d minutes after the origin: %v", 5*minute, err)
		}
		c.advance(t, 5*time.Minute)
	}
	p.wantFiles(t, f)
	c.advance(t, 24*time.Hour)
	if err := p.begin(p.copied(), p.have); err == nil {
		t.Error("a day after the origin the cache still has a timestamp")
	}
}

// start runs a program to the end of the test, or until stop is called.
func start(t *testing.T, cmd *exec.Cmd) (stop func()) {
	t.Helper()
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	must(t, cmd.Start())
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("%s said:\n%s", filepath.Base(cmd.Path), said.String())
		}
	})
	return stop
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
