package server_test

import (
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
)

// inBubble runs a test of a server whose connections are pipes and whose time is fake.
func inBubble(t *testing.T, test func(t *testing.T, h *servertest.Server, pipes *pipes)) {
	t.Helper()
	inBubbleWith(t, servertest.Settings(t), test)
}

func inBubbleWith(t *testing.T, set config.Settings, test func(t *testing.T, h *servertest.Server, pipes *pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		pipes := newPipes()
		test(t, servertest.Open(t, set).ServeOn(t, pipes), pipes)
	})
}

// measureLife reads until the server closes or refuses, answering its questions if asked to, and returns how long that took.
func measureLife(p *servertest.Peer, answering bool) (time.Duration, []netproto.Message) {
	p.T.Helper()
	started := time.Now()
	var seen []netproto.Message
	for {
		m, err := p.Wire.Read()
		if err != nil {
			return time.Since(started), seen
		}
		if ping, ok := m.(*netproto.Ping); ok && !ping.Answer {
			if answering {
				// The server may close at the very moment of the answer; the next Read tells.
				_ = p.Wire.Write(&netproto.Ping{Answer: true})
			}
			continue
		}
		seen = append(seen, m)
		if _, refused := m.(*netproto.Refuse); refused {
			return time.Since(started), seen
		}
	}
}

func TestSilentConnectionIsClosed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *servertest.Server, pipes *pipes) {
		p := servertest.NewPeer(t, pipes.connect(), netproto.G1)
		if lasted, _ := measureLife(p, false); lasted != 10*time.Second {
			t.Errorf("closed after %v", lasted)
		}
		h.Log.Has(t, "warn", "Login timeout from host 'pipe'")
	})
}

func TestDrippedHelloIsClosed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *servertest.Server, pipes *pipes) {
		conn := pipes.connect()
		defer conn.Close()
		started := time.Now()
		for _, b := range unhex(t, goldenHello) {
			time.Sleep(time.Second)
			if _, err := conn.Write([]byte{b}); err != nil {
				break
			}
		}
		if lasted := time.Since(started); lasted != 10*time.Second && lasted != 11*time.Second {
			t.Errorf("closed after %v", lasted)
		}
	})
}

func TestUnansweredPingCloses(t *testing.T) {
	t.Parallel()
	for _, g := range []netproto.Generation{netproto.G1, netproto.C1} {
		inBubble(t, func(t *testing.T, h *servertest.Server, pipes *pipes) {
			p := servertest.NewPeer(t, pipes.connect(), g)
			p.Greet(servertest.Handshake(g))
			lasted, seen := measureLife(p, false)
			if lasted != 10*time.Second {
				t.Errorf("%v: closed after %v", g, lasted)
			}
			if g == netproto.C1 && len(seen) != 1 {
				t.Errorf("last words %v", seen)
			}
			h.Log.Has(t, "warn", "Ping timeout from host 'pipe'")
		})
	}
}

func TestOwnQuestionsAreNoAnswers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *servertest.Server, pipes *pipes) {
		p := servertest.NewPeer(t, pipes.connect(), netproto.G1)
		p.Greet(servertest.Handshake(netproto.G1))
		var asking sync.WaitGroup
		asking.Go(func() {
			for p.Wire.Write(&netproto.Ping{}) == nil {
				time.Sleep(2 * time.Second)
			}
		})
		if lasted, _ := measureLife(p, false); lasted != 10*time.Second {
			t.Errorf("closed after %v", lasted)
		}
		asking.Wait()
	})
}

// TestAnsweringClientLastsUntilItDoesNothing also counts the questions: one at once, one every 10 s.
func TestAnsweringClientLastsUntilItDoesNothing(t *testing.T) {
	t.Parallel()
	for _, g := range []netproto.Generation{netproto.G1, netproto.C1} {
		inBubble(t, func(t *testing.T, h *servertest.Server, pipes *pipes) {
			p := servertest.NewPeer(t, pipes.connect(), g)
			p.Greet(servertest.Handshake(g))
			p.Send(&netproto.Ping{Answer: true})
			lasted, seen := measureLife(p, true)
			if lasted != 30*time.Minute {
				t.Errorf("%v: closed after %v", g, lasted)
			}
			// A G1 client sees one TimeSync for each of its 180 answers. One more question is due at the very end, which may
			// come before or after it.
			if n := len(seen); g == netproto.G1 && n != 180 && n != 181 {
				t.Errorf("%d answers were counted", n)
			}
			h.Log.Has(t, "warn", "Activity timeout from host 'pipe'")
		})
	}
}

func TestRequestsKeepAConnectionAlive(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *servertest.Server, pipes *pipes) {
		p := servertest.NewPeer(t, pipes.connect(), netproto.G1)
		p.Greet(servertest.Handshake(netproto.G1))
		p.Send(&netproto.Ping{Answer: true})
		var asking sync.WaitGroup
		asking.Go(func() {
			for range 4 {
				time.Sleep(20 * time.Minute)
				p.Send(&netproto.GetUpdateFile{Index: 2})
			}
		})
		lasted, seen := measureLife(p, true)
		asking.Wait()
		if lasted != 110*time.Minute {
			t.Errorf("closed after %v", lasted)
		}
		files := 0
		for _, m := range seen {
			if data, ok := m.(*netproto.UpdateFileData); ok && string(data.Data) == "tiny" {
				files++
			}
		}
		if files != 4 {
			t.Errorf("%d files arrived", files)
		}
	})
}

func TestClientThatTakesNothingIsClosed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *servertest.Server, pipes *pipes) {
		p := servertest.NewPeer(t, pipes.connect(), netproto.G1)
		p.Greet(servertest.Handshake(netproto.G1))
		p.Send(&netproto.GetUpdateFile{Index: 1})
		started := time.Now()
		for h.Connections() != 0 {
			time.Sleep(time.Second)
		}
		if lasted := time.Since(started); lasted < 30*time.Second || lasted > 31*time.Second {
			t.Errorf("closed after %v", lasted)
		}
		h.Log.Has(t, "warn", "Write timeout from host 'pipe'")
	})
}

// TestSlowClientIsNotTakenForDead lets a portion take longer than two ping periods, with the question in front of it.
func TestSlowClientIsNotTakenForDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		big := strings.Repeat("slow", 100_000)
		set := config.ForFolder(servertest.WriteFolder(t, map[string]string{"Resources/Big.zip": big}), servertest.Compatibility)
		pipes := newPipes()
		servertest.Open(t, set).ServeOn(t, pipes)
		slow := &slowConn{Conn: pipes.connect()}
		p := servertest.NewPeer(t, slow, netproto.C1)
		_, files := p.Greet(servertest.Handshake(netproto.C1))
		slow.pause = 20 * time.Second // for every 64 KiB: a minute and more for the file
		started := time.Now()
		got := p.Fetch(files[0])
		if string(got) != big || time.Since(started) < 2*time.Minute {
			t.Errorf("%d bytes after %v", len(got), time.Since(started))
		}
		p.Send(&netproto.Ping{Answer: true})
		if string(p.Fetch(files[0])) != big {
			t.Error("second time differs")
		}
	})
}

// slowConn pauses before every read.
type slowConn struct {
	net.Conn
	pause time.Duration
}

func (s *slowConn) Read(b []byte) (int, error) {
	time.Sleep(s.pause)
	return s.Conn.Read(b)
}

func TestToldOffClientIsWaitedForAndThenClosed(t *testing.T) {
	t.Parallel()
	for _, g := range []netproto.Generation{netproto.G1, netproto.C1} {
		inBubble(t, func(t *testing.T, h *servertest.Server, pipes *pipes) {
			p := servertest.NewPeer(t, pipes.connect(), g)
			m := servertest.Handshake(g)
			m.Version += 2 // of no generation
			p.Send(m)
			servertest.Next[*netproto.HandshakeAnswer](p)
			if g.Engine() {
				servertest.Next[*netproto.Disconnect](p)
			}
			started := time.Now()
			p.Send(&netproto.Ping{}, &netproto.Ping{}, &netproto.Unknown{Number: 200, Body: make([]byte, 2000)})
			if last := p.ReadToEnd(); len(last) != 0 || time.Since(started) != 5*time.Second {
				t.Errorf("%v: closed after %v with %v", g, time.Since(started), last)
			}
		})
	}
}

func TestToldOffClientThatClosesEndsTheWait(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *servertest.Server, pipes *pipes) {
		p := servertest.NewPeer(t, pipes.connect(), netproto.G1)
		m := servertest.Handshake(netproto.G1)
		m.Version += 2
		p.Send(m)
		servertest.Next[*netproto.HandshakeAnswer](p)
		servertest.Next[*netproto.Disconnect](p)
		p.Raw.Close()
		synctest.Wait()
		if n := h.Connections(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
}

func TestStopFinishesAnswersAndSaysFarewell(t *testing.T) {
	t.Parallel()
	for _, g := range []netproto.Generation{netproto.G1, netproto.C1} {
		inBubble(t, func(t *testing.T, h *servertest.Server, pipes *pipes) {
			waiting := servertest.NewPeer(t, pipes.connect(), g) // has not said hello
			p := servertest.NewPeer(t, pipes.connect(), g)
			p.Greet(servertest.Handshake(g))
			if g.Engine() {
				p.Send(&netproto.GetUpdateFile{Index: 0}, &netproto.GetUpdateFile{Index: 2})
			} else {
				p.Send(&netproto.GetRange{Request: 1, Index: 0, Length: 1000}, &netproto.GetRange{Request: 2, Index: 2, Length: 1000})
			}
			synctest.Wait() // the first answer is stuck in the pipe, the second request is read
			h.Stop()
			synctest.Wait()
			_, seen := measureLife(p, true)
			if len(seen) != 3 {
				t.Fatalf("%v: saw %v", g, seen)
			}
			if g.Engine() {
				if _, ok := seen[2].(*netproto.Disconnect); !ok {
					t.Errorf("last word %+v", seen[2])
				}
			} else if refuse, ok := seen[2].(*netproto.Refuse); !ok || refuse.Reason != netproto.RefuseGoingDown {
				t.Errorf("last word %+v", seen[2])
			}
			if last := waiting.ReadToEnd(); len(last) != 0 {
				t.Errorf("before a hello: %v", last)
			}
			p.Raw.Close()
			if err := <-h.Done; err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
	}
}

func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *servertest.Server, pipes *pipes) {
		p := servertest.NewPeer(t, pipes.connect(), netproto.C1)
		p.Greet(servertest.Handshake(netproto.C1))
		p.Send(&netproto.GetRange{Request: 1, Index: 1, Length: 1000}) // and never reads the answer
		synctest.Wait()
		started := time.Now()
		h.Stop()
		if err := <-h.Done; err != nil || time.Since(started) != config.DefaultLimits().DrainTime {
			t.Errorf("Serve returned %v after %v", err, time.Since(started))
		}
	})
}

func TestListenerThatFailsEndsServe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pipes := newPipes()
		h := servertest.Open(t, servertest.Settings(t)).ServeOn(t, pipes)
		p := servertest.NewPeer(t, pipes.connect(), netproto.G1)
		p.Greet(servertest.Handshake(netproto.G1))
		pipes.Close()
		_, seen := measureLife(p, true)
		if len(seen) != 1 {
			t.Errorf("saw %v", seen)
		}
		p.Raw.Close()
		if err := <-h.Done; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
}

// exhausted is a listener that runs out of descriptors a few times.
type exhausted struct {
	*pipes
	times int
}

func (e *exhausted) Accept() (net.Conn, error) {
	if e.times > 0 {
		e.times--
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", errors.New("too many open files"))}
	}
	return e.pipes.Accept()
}

func TestRunningOutOfDescriptorsIsWaitedOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pipes := newPipes()
		h := servertest.Open(t, servertest.Settings(t)).ServeOn(t, &exhausted{pipes, 12})
		started := time.Now()
		p := servertest.NewPeer(t, pipes.connect(), netproto.G1)
		p.Greet(servertest.Handshake(netproto.G1))
		// 5, 10, 20, … 640 ms, then 1 s each.
		if waited := time.Since(started); waited != 1275*time.Millisecond+4*time.Second {
			t.Errorf("waited %v", waited)
		}
		h.Log.Has(t, "warn", "Can't accept connections", "too many open files")
	})
}
