package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"collet/netproto"
	"collet/netproto/releasetest"
	"collet/netproto/server"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
)

// templates are the release folders with which tests begin. TestMain sets and removes them.
var templates *releasetest.Templates

func TestMain(m *testing.M) {
	var err error
	if templates, err = releasetest.NewTemplates(); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		templates.Remove()
		os.Exit(code)
	}))
}

// pack lays out a package folder: path → content. It returns the folder.
func pack(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		put(t, filepath.Join(root, filepath.FromSlash(name)), content)
	}
	return root
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fixture is the package of the recorded exchanges in small: four packs, two targets, an empty file and one that is
// larger than a portion.
func fixture() map[string]string {
	return map[string]string{
		"Resources/Core.zip":                            strings.Repeat("core", 70),
		"Resources/Textures.zip":                        strings.Repeat("0123456789abcdef", 150),
		"Resources/Tiny.zip":                            "tiny",
		"Resources/readme.txt":                          "not a pack",
		"PlatformBinaries/Linux-x64/FoGame.so":          "module",
		"PlatformBinaries/Linux-x64/FoGame.so.pdb":      "",
		"PlatformBinaries/Windows-win64/FoGame.dll":     "windows module",
		"PlatformBinaries/Android-arm64/libmain.so":     "store only",
		"PlatformBinaries/macOS-arm64/FoGame.debuginfo": "no module",
	}
}

const compatibility = "compat-A"

// maxBook is how many bytes of log are kept.
const maxBook = 4 << 20

// logBook is where a server under test logs; it may be read at any time.
type logBook struct {
	mu      sync.Mutex
	text    bytes.Buffer
	written chan struct{} // closed by the next write; nil while no test waits
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.written != nil {
		close(b.written)
		b.written = nil
	}
	if b.text.Len() > maxBook { // a long fuzzing run
		b.text.Reset()
	}
	return b.text.Write(p)
}

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// logWait is how long a line may take on a busy machine.
const logWait = time.Minute

// waitFor returns the first line with a text, once it is there.
func (b *logBook) waitFor(t testing.TB, text string) string {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), logWait)
	defer end()
	for {
		b.mu.Lock()
		if b.written == nil {
			b.written = make(chan struct{})
		}
		all, written := b.text.String(), b.written
		b.mu.Unlock()
		for line := range strings.Lines(all) {
			if strings.Contains(line, text) {
				return line
			}
		}
		select {
		case <-written:
		case <-ctx.Done():
			t.Fatalf("no line with %s in\n%s", text, all)
		}
	}
}

// has fails the test unless a line of the given level holds every text.
func (b *logBook) has(t testing.TB, level string, texts ...string) {
	t.Helper()
	for line := range strings.Lines(b.String()) {
		found := strings.Contains(line, fmt.Sprintf("%q:%q", "level", level))
		for _, text := range texts {
			found = found && strings.Contains(line, text)
		}
		if found {
			return
		}
	}
	t.Errorf("no %s line with %q in\n%s", level, texts, b)
}

// house is a running server.
type house struct {
	*server.Server
	log  *logBook
	addr string
	stop context.CancelFunc
	done chan error // Serve's result
}

// open builds a catalogue and a server of it, which is not running yet.
func open(t testing.TB, set config.Settings) *house {
	t.Helper()
	h := &house{log: &logBook{}, done: make(chan error, 1)}
	catalogue, err := catalogue.Open(t.Context(), set, h.logger())
	if err != nil {
		t.Fatal(err)
	}
	h.Server = server.New(catalogue, set, h.logger())
	return h
}

func (h *house) logger() zerolog.Logger { return zerolog.New(h.log).Level(zerolog.DebugLevel) }

// serve runs the server on a listener until the test ends.
func (h *house) serve(t testing.TB, listener net.Listener) *house {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	h.stop, h.addr = stop, listener.Addr().String()
	var running sync.WaitGroup
	running.Go(func() { h.done <- h.Serve(ctx, listener) })
	t.Cleanup(func() { stop(); running.Wait(); h.Close() })
	return h
}

// start runs a server on loopback.
func start(t testing.TB, set config.Settings) *house {
	t.Helper()
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return open(t, set).serve(t, listener)
}

// settings serves the fixture in portions of 1000 bytes, as the recordings do.
func settings(t testing.TB) config.Settings {
	t.Helper()
	set := config.ForFolder(pack(t, fixture()), compatibility)
	set.Network.UpdateFileMaxPortionSize = 1000
	return set
}

// pipes is a listener whose connections are net.Pipe, for tests in a bubble of fake time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

// connect hands the server one end and returns the other.
func (p *pipes) connect() net.Conn {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours
}

// peer is a client that does exactly what a test says.
type peer struct {
	t    testing.TB
	raw  net.Conn
	wire *netproto.Conn
}

// dial connects to a running server.
func (h *house) dial(t testing.TB, g netproto.Generation) *peer {
	t.Helper()
	raw, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	raw.SetDeadline(time.Now().Add(20 * time.Second)) // a hang is a failure, not a stuck test run
	return newPeer(t, raw, g)
}

func newPeer(t testing.TB, raw net.Conn, g netproto.Generation) *peer {
	t.Helper()
	t.Cleanup(func() { raw.Close() })
	p := &peer{t: t, raw: raw, wire: netproto.NewConn(raw, netproto.ClientSide, netproto.Limits{})}
	if err := p.wire.SetGeneration(g); err != nil {
		t.Fatal(err)
	}
	return p
}

// unhurried takes the deadline of dial away, for long transfers.
func (p *peer) unhurried() { p.raw.SetDeadline(time.Time{}) }

func (p *peer) send(ms ...netproto.Message) {
	p.t.Helper()
	if err := p.wire.Write(ms...); err != nil {
		p.t.Fatalf("send: %v", err)
	}
}

// hello is a correct handshake for the generation.
func hello(g netproto.Generation) *netproto.Handshake {
	m := &netproto.Handshake{Version: g.Version(), Compatibility: compatibility, Target: "Linux-x64"}
	if g.Engine() {
		m.Key = netproto.NewKey()
	} else {
		m.Capabilities = netproto.CapPipeline
	}
	return m
}

// next reads one message of type M and fails on anything else.
func next[M netproto.Message](p *peer) M {
	p.t.Helper()
	m, err := p.wire.Read()
	if err != nil {
		p.t.Fatalf("waiting for %T: %v", *new(M), err)
	}
	want, ok := m.(M)
	if !ok {
		p.t.Fatalf("got %v %+v, want %T", m.ID(), m, *new(M))
	}
	return want
}

// greet shakes hands and returns what the server offers, in either generation.
func (p *peer) greet(m *netproto.Handshake) (*netproto.HandshakeAnswer, []netproto.ListedFile) {
	p.t.Helper()
	p.send(m)
	answer := next[*netproto.HandshakeAnswer](p)
	var files []netproto.ListedFile
	if p.wire.Generation().Engine() {
		files = described(p.t, next[*netproto.InitData](p).Descriptor)
	} else {
		files = next[*netproto.FileList](p).Files
	}
	if q := next[*netproto.Ping](p); q.Answer {
		p.t.Fatal("an answer to a ping that was not asked")
	}
	return answer, files
}

// gone checks that the server has closed the connection, after nothing but pings and farewells.
func (p *peer) gone() []netproto.Message {
	p.t.Helper()
	var last []netproto.Message
	for {
		m, err := p.wire.Read()
		if err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				p.t.Fatalf("the server did not close: %v", err)
			}
			return last
		}
		last = append(last, m)
	}
}

// silent checks that nothing comes for a while and that the connection is open.
func (p *peer) silent(d time.Duration) {
	p.t.Helper()
	p.raw.SetReadDeadline(time.Now().Add(d))
	n, err := p.raw.Read(make([]byte, 1))
	var timeout net.Error
	if n != 0 || !errors.As(err, &timeout) || !timeout.Timeout() {
		p.t.Fatalf("read %d bytes, %v; want silence", n, err)
	}
	p.raw.SetReadDeadline(time.Now().Add(20 * time.Second))
}

var _ net.Listener = (*pipes)(nil)
