package remote

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// attended serves a station's control socket until the test ends.
func attended(t *testing.T, s *Station) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "desk.sock")
	control, err := s.ListenControl(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- control.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-served, control.Close()); err != nil {
			t.Error(err)
		}
		goleak.VerifyNone(t, goleak.IgnoreCurrent())
	})
	return path
}

func TestRequestsOverTheSocket(t *testing.T) {
	s, d := newFake(t, "a")
	link, err := Dial(attended(t, s), "localhost:1")
	if err != nil {
		t.Fatal(err)
	}
	var h heard
	faultIs(t, link.Do(t.Context(), Request{Do: VerbPush, Root: s.options.Root}, h.add), FaultNone, "")
	h.has(t, "desk", "result a@10.0.0.1 push ok=true", "pushed push ok=true")
	faultIs(t, link.Do(t.Context(), Request{Do: VerbPush, Root: "/elsewhere"}, h.add), FaultUsage, "and not /elsewhere")
	if got := d.calls(); !slices.Equal(got, []string{"push a@10.0.0.1"}) {
		t.Errorf("did %q", got)
	}
}

// An interrupt cancels the request over there, and what becomes of it is still heard.
func TestInterruptOverTheSocket(t *testing.T) {
	s, d := newFake(t, "a")
	link, err := Dial(attended(t, s), "localhost:1")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var h heard
	err = link.Do(ctx, Request{Do: VerbPush, Launch: &Launch{}, Follow: true, StopAtEnd: true}, func(e Event) {
		h.add(e)
		if e.Kind == KindDevice && e.Info.Running {
			cancel()
		}
	})
	faultIs(t, err, FaultNone, "")
	h.has(t, "result a@10.0.0.1 stop ok=true")
	if !slices.Contains(d.calls(), "stop a@10.0.0.1") {
		t.Errorf("did %q", d.calls())
	}
}

// A client that dies cancels its request.
func TestClientThatDies(t *testing.T) {
	s, d := newFake(t, "a")
	stopped := make(chan string, 10)
	d.stopped = func(id string) error {
		stopped <- id
		return nil
	}
	conn, err := net.Dial("unix", attended(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte(`{"do":"start","launch":{},"follow":true,"stop_at_end":true}` + "\n")); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(conn); lines.Scan() && !strings.Contains(lines.Text(), `"running":true`); {
	}
	conn.Close()
	if id := <-stopped; id != "a@10.0.0.1" {
		t.Errorf("stopped %q", id)
	}
}

func TestNonsenseOverTheSocket(t *testing.T) {
	s, _ := newFake(t, "a")
	path := attended(t, s)
	for _, text := range []string{"\n", "nonsense\n", "{\"do\":7}\n", `{"do":"dance"}` + "\n", strings.Repeat("x", maxLine+1)} {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		go conn.Write([]byte(text)) // the desk may end before it has read all of it
		lines := bufio.NewScanner(conn)
		if !lines.Scan() || !strings.Contains(lines.Text(), `"fault":"usage"`) {
			t.Errorf("%.40q: answered %q", text, lines.Text())
		}
		conn.Close()
	}
}

func TestTwoDesksOnOneAddress(t *testing.T) {
	s, _ := newFake(t)
	path := attended(t, s)
	if _, err := s.ListenControl(path); err == nil || !strings.Contains(err.Error(), "another desk serves localhost:1 already") {
		t.Errorf("got %v", err)
	}
}

// The socket is its user's alone whatever the umask, and one that others can use is not trusted.
func TestSocketIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders inherit who may use them")
	}
	s, _ := newFake(t)
	path := attended(t, s)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(path, "localhost:1"); err == nil || errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "others can use it (mode 0666)") {
		t.Errorf("got %v", err)
	}
}

func TestHomeThatOthersCanWriteTo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders inherit who may use them")
	}
	path := t.TempDir()
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenHome(path); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("got %v", err)
	}
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenHome(path); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestSocketOfADeadDesk(t *testing.T) {
	s, _ := newFake(t)
	path := filepath.Join(t.TempDir(), "desk.sock")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	if _, err := Dial(path, "localhost:1"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a dead desk was found: %v", err)
	}
	control, err := s.ListenControl(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := control.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestDeskThatEndsMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "desk.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for _, answer := range []string{"", "nonsense\n"} {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			bufio.NewReader(conn).ReadString('\n')
			conn.Write([]byte(answer))
			conn.Close()
		}
	}()
	link := &Link{path, "localhost:1"}
	faultIs(t, link.Do(t.Context(), Request{Do: VerbPush}, func(Event) {}), FaultOther, "ended meanwhile")
	faultIs(t, link.Do(t.Context(), Request{Do: VerbPush}, func(Event) {}), FaultOther, "can't be understood")
	listener.Close()
	faultIs(t, link.Do(t.Context(), Request{Do: VerbPush}, func(Event) {}), FaultOther, "ended meanwhile")
}

func TestHome(t *testing.T) {
	home, err := OpenHome(filepath.Join(t.TempDir(), "new"))
	if err != nil {
		t.Fatal(err)
	}
	a, errA := home.Socket("localhost:3413")
	b, errB := home.Socket("[::1]:3413/../x")
	if errA != nil || errB != nil || a == b || filepath.Base(b) != "desk-___1__3413_.._x.sock" {
		t.Errorf("sockets %q and %q, %v, %v", a, b, errA, errB)
	}
	if one, again := home.Hashes("/a"), home.Hashes("/a"); one != again || one == home.Hashes("/b") {
		t.Error("working copies are not told apart")
	}
	long, err := OpenHome(filepath.Join(t.TempDir(), strings.Repeat("x", 100)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := long.Socket("localhost:3413"); err == nil || !strings.Contains(err.Error(), "--state") {
		t.Errorf("a path that no system takes: %v", err)
	}
	if _, err := OpenHome("/dev/null/x"); err == nil || !strings.Contains(err.Error(), "--state") {
		t.Errorf("a folder that can't be: %v", err)
	}
}
