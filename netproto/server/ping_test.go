package server_test

import (
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
)

// pingCase is one case of testdata/timing/server-ping.txt: when the client answers, and every line of the case.
type pingCase struct {
	name    string
	answers []time.Duration // since the handshake was answered, ascending
	lines   []string
}

// pingCases reads the timing of the engine's server.
func pingCases(t *testing.T) []pingCase {
	t.Helper()
	text, err := os.ReadFile("../testdata/timing/server-ping.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []pingCase
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, begins := strings.CutPrefix(line, "case: "); begins {
			all = append(all, pingCase{name: name})
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		this := &all[len(all)-1]
		this.lines = append(this.lines, line)
		if at, answers := strings.CutSuffix(line, " C answer"); answers {
			d, err := time.ParseDuration(at + "s")
			if err != nil {
				t.Fatal(err)
			}
			this.answers = append(this.answers, d)
		}
	}
	if len(all) == 0 {
		t.Fatal("no cases")
	}
	return all
}

// TestPingTimingIsTheEngines plays the engine's timing to every generation.
func TestPingTimingIsTheEngines(t *testing.T) {
	t.Parallel()
	for _, c := range pingCases(t) {
		for _, g := range []netproto.Generation{netproto.G1, netproto.C1} {
			t.Run(c.name+"/"+g.String(), func(t *testing.T) {
				inBubble(t, func(t *testing.T, h *servertest.Server, pipes *pipes) {
					p := servertest.NewPeer(t, pipes.connect(), g)
					p.Greet(servertest.Handshake(g))
					if got := timeAnswers(p, c.answers); !slices.Equal(got, c.lines) {
						t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.lines, "\n"))
					}
				})
			})
		}
	}
}

// timeAnswers answers at the given times until the server closes or refuses, and tells what happened when. It begins with the
// question that greet took.
func timeAnswers(p *servertest.Peer, answers []time.Duration) []string {
	started := time.Now()
	var mu sync.Mutex
	var lines []string
	tell := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, strconv.FormatFloat(time.Since(started).Seconds(), 'f', -1, 64)+" "+what)
	}
	tell("S question")
	var answering sync.WaitGroup
	answering.Go(func() {
		for _, at := range answers {
			time.Sleep(time.Until(started.Add(at)))
			if p.Wire.Write(&netproto.Ping{Answer: true}) != nil {
				return
			}
			tell("C answer")
		}
	})
	defer answering.Wait()
	for {
		m, err := p.Wire.Read()
		if _, refused := m.(*netproto.Refuse); err != nil || refused {
			tell("S close")
			return lines
		}
		if ping, ok := m.(*netproto.Ping); ok && !ping.Answer {
			tell("S question")
		}
	}
}

// TestDeeplyBufferedLinkIsNotTakenForDead is an engine's client at 70 kB/s behind buffers that take everything at once: a
// portion of the default size takes 14 s, and a question waits behind it.
func TestDeeplyBufferedLinkIsNotTakenForDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		big := make([]byte, 6_000_000)
		rand.NewChaCha8([32]byte{}).Read(big) // nothing that the connection's compression could make smaller
		set := config.ForFolder(servertest.WriteFolder(t, map[string]string{"Resources/Big.zip": string(big)}), servertest.Compatibility)
		pipes := newPipes()
		servertest.Open(t, set).ServeOn(t, pipes)
		ours, theirs := net.Pipe()
		deep := bufferLink(theirs, 70_000)
		pipes.conns <- deep
		p := servertest.NewPeer(t, ours, netproto.G1)
		defer func() { p.Raw.Close(); deep.Close(); deep.draining.Wait() }()
		p.Greet(servertest.Handshake(netproto.G1))
		p.Send(&netproto.Ping{Answer: true}, &netproto.GetUpdateFile{})
		got := 0
		for got < len(big) {
			switch m, err := p.Wire.Read(); m := m.(type) {
			case *netproto.UpdateFileData:
				if got += len(m.Data); got < len(big) {
					p.Send(&netproto.GetUpdateFile{Offset: uint64(got)})
				}
			case *netproto.Ping:
				p.Send(&netproto.Ping{Answer: true})
			case nil:
				t.Fatalf("ended with %d of %d bytes: %v", got, len(big), err)
			}
		}
	})
}

// bufferedLink is the server's end of a line with a fixed rate that never makes its sender wait.
type bufferedLink struct {
	net.Conn
	queue    chan []byte
	closed   chan struct{}
	once     sync.Once
	draining sync.WaitGroup
}

// bufferLink puts a buffer in front of conn, which drains at rate bytes in a second.
func bufferLink(conn net.Conn, rate int) *bufferedLink {
	l := &bufferedLink{Conn: conn, queue: make(chan []byte, 1<<16), closed: make(chan struct{})}
	l.draining.Go(func() {
		for {
			select {
			case data := <-l.queue:
				time.Sleep(time.Duration(len(data)) * time.Second / time.Duration(rate))
				if _, err := l.Conn.Write(data); err != nil {
					return
				}
			case <-l.closed:
				return
			}
		}
	})
	return l
}

func (l *bufferedLink) Write(data []byte) (int, error) {
	l.queue <- append([]byte(nil), data...)
	return len(data), nil
}

func (l *bufferedLink) SetWriteDeadline(time.Time) error { return nil }

func (l *bufferedLink) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Conn.Close()
}
