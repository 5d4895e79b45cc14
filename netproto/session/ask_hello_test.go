package session_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/session"
)

// offerOf is an offer of C1 in the layout of g, by a client that has tags.
func offerOf(g netproto.Generation) *netproto.Handshake {
	return &netproto.Handshake{Version: g.Version(), Compatibility: "V", Target: "Linux-x64", Key: netproto.OfferKey(netproto.CapPipeline) | netproto.CapTags}
}

// TestProbingWithTags lets clients with tags probe servers. Our server receives all tags on the same connection; the engine's see no
// change.
func TestProbingWithTags(t *testing.T) {
	all := []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b, netproto.C1}
	tests := []struct {
		name     string
		only     []netproto.Generation
		remember netproto.Generation
		want     netproto.Generation
		hellos   string
		faults   int
	}{
		{"ours", all, 0, netproto.C1, "C1 1", 0},
		{"ours, remembered as G1", all, netproto.G1, netproto.C1, "C1 1", 0},
		{"ours, remembered as G2b", all, netproto.G2b, netproto.C1, "C1 1", 0},
		{"G1", all[:1], 0, netproto.G1, "G1 2, G1 1", 0},
		{"G2a", all[1:2], 0, netproto.G2a, "G2a 2", 0},
		{"G2b", all[2:3], 0, netproto.G2b, "G2b 2", 1},
	}
	for _, test := range tests {
		bubble(t, test.name, func(t *testing.T) {
			p := &probed{t: t, only: test.only}
			said, told := fullHello(), 0
			c, _ := listed(t, session.Options{
				Addr: "x:1", Auto: true, Generation: test.remember, Compatibility: "compat-A", Target: "Linux-x64", Dial: p.dial,
				Identity: &said, Manifest: clientManifest(), OnVerdict: func(compat.Judgement, compat.Differences) { told++ },
			})
			if c.Generation() != test.want || told != 1 {
				t.Errorf("speaks %v, told %d times", c.Generation(), told)
			}
			time.Sleep(5 * session.DefaultPingPeriod)
			if got := fetchAll(t, c, []session.FetchRange{{Index: 10, Size: 2500}}); len(got[0]) != 2500 {
				t.Errorf("%d bytes", len(got[0]))
			}
			c.Close()
			p.work.Wait()
			if got := strings.Join(p.hellos, ", "); got != test.hellos || p.faults != test.faults {
				t.Errorf("the server saw %s and %d others", got, p.faults)
			}
		})
	}
}

// TestOfferedTagsArrive judges an offering client by all its tags, and exchanges manifests with it.
func TestOfferedTagsArrive(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := &meeting{t: t, snapshot: development(), own: serverManifest()}
		opt, wait := play(t, 0, s.play)
		dialled, inner := 0, opt.Dial
		opt.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			dialled++
			return inner(ctx, network, addr)
		}
		said := fullHello()
		opt.Auto, opt.Identity, opt.Manifest = true, &said, clientManifest()
		c := connect(t, opt)
		c.Close()
		wait()
		if s.hello.Said() != fullHello() || s.hello.Capabilities&netproto.CapTags != 0 || dialled != 1 {
			t.Errorf("said %+v with capabilities %#x on %d connections", s.hello.Said(), s.hello.Capabilities, dialled)
		}
		if c.Judgement().Verdict != compat.ComponentsMismatch || len(c.Differences().Items) != 1 || s.reply == nil {
			t.Errorf("judgement %+v, differences %+v", c.Judgement(), c.Differences())
		}
	})
}

// TestAskHelloUnasked ends sessions with servers that send AskHello when they must not.
func TestAskHelloUnasked(t *testing.T) {
	said := fullHello()
	ask := func(n int) func(p *peer) {
		return func(p *peer) {
			if _, err := p.conn.Read(); err != nil {
				t.Error(err)
			}
			for range n {
				p.say(&netproto.AskHello{})
			}
			p.waitForClient()
		}
	}
	tests := []struct {
		name string
		opt  session.Options
		n    int
	}{
		{"a hello of C1", session.Options{Identity: &said}, 1},
		{"an offer that has no more to say", session.Options{Auto: true}, 1},
	}
	for _, test := range tests {
		bubble(t, test.name, func(t *testing.T) {
			opt, wait := play(t, test.opt.Generation, ask(test.n))
			opt.Auto, opt.Identity = test.opt.Auto, test.opt.Identity
			_, err := session.Dial(t.Context(), opt)
			wantFault(t, err, netproto.IDAskHello, "was not requested")
			wait()
		})
	}
	bubble(t, "twice", func(t *testing.T) {
		opt, wait := play(t, 0, ask(1)) // our Conn asks by itself before
		opt.Auto, opt.Identity = true, &said
		_, err := session.Dial(t.Context(), opt)
		wantFault(t, err, netproto.IDAskHello, "was not requested")
		wait()
	})
	bubble(t, "behind the answer", func(t *testing.T) {
		opt, wait := play(t, 0, func(p *peer) {
			p.greet(accept)
			p.say(&netproto.AskHello{})
			p.waitForClient()
		})
		opt.Auto, opt.Identity = true, &said
		c := connect(t, opt)
		_, err := c.List(t.Context())
		wantFault(t, err, netproto.IDAskHello, "was not requested")
		c.Close()
		wait()
	})
}

// TestOldServerAnswersOffer: a C1 server without AskHello answers the offer, which is accepted.
func TestOldServerAnswersOffer(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		near, far := net.Pipe()
		said := fullHello()
		opt := session.Options{Addr: "x:1", Auto: true, Identity: &said, Compatibility: "V", Target: "Linux-x64",
			Dial: func(context.Context, string, string) (net.Conn, error) { return near, nil }}
		answer := netproto.NewAnswer(accept)
		answer.Capabilities, answer.MaxPortion, answer.MaxInFlight = netproto.CapPipeline, 1000, 4
		const quiet = 5 * session.DefaultAnswerTimeout
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer far.Close()
			offer := make([]byte, len(frame(t, netproto.G2a, offerOf(netproto.G2a))))
			if _, err := far.Read(offer); err != nil {
				t.Error(err)
			}
			said := append(frame(t, netproto.C1, answer), frame(t, netproto.C1, &netproto.FileList{})...)
			if _, err := far.Write(said); err != nil {
				t.Error(err)
			}
			go io.Copy(io.Discard, far)
			for range quiet / session.DefaultPingPeriod { // nothing is owed any more
				time.Sleep(session.DefaultPingPeriod)
				if _, err := far.Write(frame(t, netproto.C1, &netproto.Ping{Answer: true})); err != nil {
					t.Error(err)
					return
				}
			}
			if _, err := far.Write(frame(t, netproto.C1, &netproto.AskHello{})); err != nil {
				t.Error(err)
			}
		}()
		c, _ := listed(t, opt)
		if c.Judgement().Verdict != compat.Accept || c.Generation() != netproto.C1 {
			t.Errorf("judgement %+v in %v", c.Judgement(), c.Generation())
		}
		<-done
		time.Sleep(time.Second)
		err := c.Fetch(t.Context(), []session.FetchRange{{Index: 1, Size: 1}}, nil)
		wantFault(t, err, netproto.IDAskHello, "was not requested")
		c.Close()
	})
}

// TestRefusedOffer: a server without free slots refuses instead of AskHello, and also after it.
func TestRefusedOffer(t *testing.T) {
	said := fullHello()
	for name, script := range map[string]func(p *peer){
		"in place of asking": func(p *peer) {
			refusal := frame(t, netproto.C1, &netproto.Refuse{Reason: netproto.RefuseBusy, Text: "full"})
			go p.waitForClient()
			if _, err := p.net.Write(refusal); err != nil {
				t.Error(err)
			}
		},
		"behind it": func(p *peer) {
			if _, err := p.conn.Read(); err != nil {
				t.Error(err)
			}
			p.say(&netproto.Refuse{Reason: netproto.RefuseBusy, Text: "full"})
		},
	} {
		bubble(t, name, func(t *testing.T) {
			opt, wait := play(t, 0, script)
			opt.Auto, opt.Identity = true, &said
			if name == "in place of asking" {
				opt.Identity = nil // so that our Conn, which reads what the client says, does not ask by itself
			}
			_, err := session.Dial(t.Context(), opt)
			var refused *session.RefusedError
			if !errors.As(err, &refused) || refused.Reason != netproto.RefuseBusy {
				t.Errorf("error %v", err)
			}
			wait()
		})
	}
}

// early is a connection on which the peer sends before it reads.
type early struct {
	net.Conn
	said *bytes.Reader
}

func (e early) Read(p []byte) (int, error) {
	if e.said.Len() > 0 {
		return e.said.Read(p)
	}
	return e.Conn.Read(p)
}

// TestRefusedBeforeTheOffer: a refusal is received whether it comes before or after our hello.
func TestRefusedBeforeTheOffer(t *testing.T) {
	refusal := frame(t, netproto.C1, &netproto.Refuse{Reason: netproto.RefuseBusy, Text: "full"})
	for range 300 {
		var peers sync.WaitGroup
		opt := session.Options{Addr: "update.example:4000", Compatibility: "compat-A", Target: "Linux-x64", Auto: true}
		opt.Dial = func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			peers.Go(func() {
				defer far.Close()
				_, _ = io.Copy(io.Discard, far) // until the client is gone
			})
			return early{near, bytes.NewReader(refusal)}, nil
		}
		_, err := session.Dial(t.Context(), opt)
		var refused *session.RefusedError
		if !errors.As(err, &refused) || refused.Reason != netproto.RefuseBusy {
			t.Fatalf("error %v", err)
		}
		peers.Wait()
	}
}
