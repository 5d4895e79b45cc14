package host

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/transporttest"
)

// judging is a server of C1 that judges by a snapshot and hands out files from memory.
type judging struct {
	t        *testing.T
	addr     string
	listener net.Listener
	work     sync.WaitGroup

	mu       sync.Mutex
	snapshot compat.Snapshot
	floor    int32
	files    map[string]string // by path; those that end in .so are modules
	whole    map[string]string // files from the second hello on; nil: they stay
	hellos   []netproto.HelloTags
	sent     int // bytes of files
	conns    []net.Conn
	config   *tls.Config
	trust    string // file of the authority that vouches for the server; empty: it speaks in the clear
}

// secured puts TLS before what is accepted from now on. All of them share an authority, whose file is in dir.
func (j *judging) secured(by *transporttest.Authority, dir string) *judging {
	j.t.Helper()
	cert, key, err := by.Issue(transporttest.Spec{Hosts: []string{"127.0.0.1"}})
	if err != nil {
		j.t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		j.t.Fatal(err)
	}
	name := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(name, by.PEM(), 0o600); err != nil {
		j.t.Fatal(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.trust, j.config = name, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	return j
}

// newJudging serves until the test ends.
func newJudging(t *testing.T, s compat.Snapshot, files map[string]string) *judging {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	j := &judging{t: t, addr: listener.Addr().String(), listener: listener, snapshot: s, files: files}
	j.work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			j.mu.Lock()
			if j.config != nil {
				conn = tls.Server(conn, j.config)
			}
			j.conns = append(j.conns, conn)
			j.mu.Unlock()
			j.work.Go(func() { j.serve(conn) })
		}
	})
	t.Cleanup(j.stop)
	return j
}

func (j *judging) stop() {
	_ = j.listener.Close()
	j.mu.Lock()
	for _, conn := range j.conns {
		_ = conn.Close()
	}
	j.mu.Unlock()
	j.work.Wait()
}

// endpoint is where this server is, as a redirect names it.
func (j *judging) endpoint() *compat.Endpoint {
	at := j.listener.Addr().(*net.TCPAddr)
	return &compat.Endpoint{Host: at.IP.String(), Port: uint16(at.Port), TLS: j.config != nil}
}

// change changes what the server knows.
func (j *judging) change(f func(s *compat.Snapshot)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f(&j.snapshot)
}

// met are the hellos so far.
func (j *judging) met() []netproto.HelloTags {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]netproto.HelloTags{}, j.hellos...)
}

// bytesSent counts what went out of files.
func (j *judging) bytesSent() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.sent
}

func (j *judging) serve(nc net.Conn) {
	defer nc.Close()
	conn := netproto.NewConn(nc, netproto.ServerSide, netproto.DefaultServerLimits())
	message, err := conn.Read()
	if err != nil {
		return
	}
	hello, is := message.(*netproto.Handshake)
	if !is {
		j.t.Errorf("the first message is %T", message)
		return
	}
	answers, names := j.answer(hello)
	if conn.Write(answers...) != nil {
		return
	}
	for len(answers) > 1 {
		message, err := conn.Read()
		if err != nil {
			return
		}
		if conn.Write(j.reply(message, names)...) != nil {
			return
		}
	}
}

// answer judges as the server does.
func (j *judging) answer(said *netproto.Handshake) (answers []netproto.Message, names []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	tags := said.Said()
	if j.hellos = append(j.hellos, tags); len(j.hellos) > 1 && j.whole != nil {
		j.files = j.whole
	}
	hello := said.Hello(netproto.C1)
	hello.Floor = j.floor
	verdict := compat.Evaluate(&j.snapshot, &hello)
	answer := netproto.NewAnswer(verdict)
	answer.MaxPortion, answer.MaxInFlight = 1<<16, 4
	if err := answer.Tell(netproto.TagsFor(&j.snapshot, &hello, verdict)); err != nil {
		j.t.Error(err)
	}
	answers = []netproto.Message{answer}
	if !answer.Transfers(netproto.C1) {
		return answers, nil
	}
	list := &netproto.FileList{}
	for name, content := range j.files {
		file := netproto.ListedFile{Index: uint32(len(names)), Path: name, Size: uint64(len(content)), SHA256: sha256.Sum256([]byte(content))}
		if strings.HasSuffix(name, ".so") {
			file.Role = 1
		}
		list.Files, names = append(list.Files, file), append(names, name)
	}
	return append(answers, list), names
}

// reply answers what a client asks while it fetches.
func (j *judging) reply(m netproto.Message, names []string) []netproto.Message {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch m := m.(type) {
	case *netproto.GetRange:
		data := j.files[names[m.Index]][m.Offset : m.Offset+uint64(m.Length)]
		j.sent += len(data)
		return []netproto.Message{&netproto.RangeData{Request: m.Request, Offset: m.Offset, Data: []byte(data)}}
	case *netproto.Ping:
		return []netproto.Message{&netproto.Ping{Answer: true}}
	}
	return nil
}

// start is one start of the client without a window: its exit code, the last line of its output, and what it said aside.
type start struct {
	code    int
	verdict string // the last one that let it go on
	end     line
	notes   []string
	aside   string
}

// sync starts the client in an install whose module has a compatibility version.
func (j *judging) sync(dir, compatibility string, more ...func(*Options)) start {
	j.t.Helper()
	var out, aside bytes.Buffer
	opt := Options{
		Headless: true, JSON: true, Dir: dir, Trust: "sha256", Server: j.addr, Generation: "c1", RuntimeName: "Lathe", Target: "Linux-x64", Lang: "en",
		LogLevel: "info", Compat: compatibility, Tls: j.trust != "", TlsCa: j.trust,
	}
	for _, change := range more {
		change(&opt)
	}
	code, again := Run(j.t.Context(), opt, &out, &aside)
	if again != nil {
		j.t.Error("it wants to start anew")
	}
	s := start{code: code, aside: aside.String()}
	for text := range strings.Lines(out.String()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			j.t.Fatalf("%q: %v", text, err)
		}
		if l.Note != "" {
			s.notes = append(s.notes, l.Note)
		}
		if l.Verdict != "" {
			s.verdict = l.Verdict
		}
		s.end = l
	}
	return s
}
