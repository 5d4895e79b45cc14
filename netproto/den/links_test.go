package den

import (
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"
)

// linked makes a link whose acceptor has theirs.
func linked(t *testing.T, server, client *Conn, ours, theirs *State) *Link {
	t.Helper()
	client.HandleLinks(func(message []byte) *State {
		if string(message) == "run" {
			return theirs
		}
		return nil
	})
	l, err := server.Link([]byte("run"), ours, false)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLinkCarriesEveryType(t *testing.T) {
	protocols(t, func(t *testing.T, o Options) {
		bubble(t, quick, o, func(t *testing.T, n *fakeNet, client, server *Conn) {
			ours, theirs := NewState(allValues()...), NewState(allValues()...)
			if err := theirs.Set(1, Uint8(9)); err != nil {
				t.Fatal(err)
			}
			var heard [64]atomic.Int32
			ours.OnChange(func(i int) { heard[i].Add(1) })
			l := linked(t, server, client, ours, theirs)
			<-l.Done()
			if !l.Up() || l.Err() != nil || theirs.Get(1) != Uint8(200) {
				t.Fatalf("up %v, %v, the value is %v", l.Up(), l.Err(), theirs.Get(1).Unsigned(0))
			}
			for _, v := range allChanged() {
				if err := theirs.Set(int(v.Index), v.Value); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(5 * time.Second)
			for _, v := range allChanged() {
				if got, n := ours.Get(int(v.Index)), heard[v.Index].Load(); got != v.Value || n != 1 {
					t.Errorf("%v: %+v was heard %d times, want %+v once", v.Value.kind, got, n, v.Value)
				}
			}
		})
	})
}

func TestRefusedLinks(t *testing.T) {
	protocols(t, func(t *testing.T, o Options) {
		bubble(t, quick, o, func(t *testing.T, n *fakeNet, client, server *Conn) {
			theirs := NewState(Uint8(0))
			linked(t, server, client, NewState(Uint8(0)), theirs)
			for name, l := range map[string]struct {
				message string
				state   *State
			}{
				"unknown":     {"walk", NewState(Uint8(0))},
				"other type":  {"run", NewState(Text(""))},
				"other count": {"run", NewState(Uint8(0), Uint8(0))},
			} {
				link, err := server.Link([]byte(l.message), l.state, true)
				if err != nil {
					t.Fatal(err)
				}
				<-link.Done()
				if link.Up() || !errors.Is(link.Err(), ErrLinkRefused) {
					t.Errorf("%s: up %v, %v", name, link.Up(), link.Err())
				}
			}
			if err := client.Send(t.Context(), []byte("goes on")); err != nil {
				t.Fatal(err)
			}
			if _, err := server.Receive(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
}

// TestRefusedLinksAreFreed: any number of links may be refused, without a trace in their states.
func TestRefusedLinksAreFreed(t *testing.T) {
	protocols(t, func(t *testing.T, o Options) {
		bubble(t, quick, o, func(t *testing.T, n *fakeNet, client, server *Conn) {
			state := NewState(Uint8(0))
			for range maxLinks + 5 {
				link, err := server.Link([]byte("unknown"), state, true)
				if err != nil {
					t.Fatal(err)
				}
				if <-link.Done(); !errors.Is(link.Err(), ErrLinkRefused) {
					t.Fatal(link.Err())
				}
			}
			server.mu.Lock()
			all, ids, next := len(server.links.all), len(server.links.byID), server.links.next
			server.links.next = 0 // as after a lap
			server.mu.Unlock()
			if all != 0 || ids != 0 || len(state.links) != 0 || next != maxLinks+5 {
				t.Errorf("%d links, %d ids, %d of the state are kept; the next id is %d", all, ids, len(state.links), next)
			}
			l := linked(t, server, client, NewState(Uint8(0)), NewState(Uint8(0)))
			if <-l.Done(); !l.Up() || l.id != 0 {
				t.Errorf("up %v, %v, id %d", l.Up(), l.Err(), l.id)
			}
		})
	})
}

// TestLostNewsOfLinks loses the first of each linkUp and each update, which is fatal for released programs.
func TestLostNewsOfLinks(t *testing.T) {
	for _, command := range []byte{cmdLinkUp, cmdLinkUpdate} {
		bubble(t, quick, Options{Protocols: []uint16{ProtocolRelease}}, func(t *testing.T, n *fakeNet, client, server *Conn) {
			lost := 0
			n.dropping(func(d []byte) bool {
				if d[0] == command {
					lost++
				}
				return d[0] == command && lost <= 2
			})
			ours, theirs := NewState(Uint8(0)), NewState(Uint8(0))
			l := linked(t, server, client, ours, theirs)
			<-l.Done()
			if err := theirs.Set(0, Uint8(1)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if !l.Up() || ours.Get(0) != Uint8(1) {
				t.Errorf("up %v, value %v", l.Up(), ours.Get(0).Unsigned(0))
			}
		})
	}
}

// TestLinkThatStaysPendingIsAskedForAgain has a peer whose linkUp never arrives under the first id.
func TestLinkThatStaysPendingIsAskedForAgain(t *testing.T) {
	bubble(t, quick, Options{Protocols: []uint16{ProtocolRelease}}, func(t *testing.T, n *fakeNet, client, server *Conn) {
		n.dropping(func(d []byte) bool { return d[0] == cmdLinkUp && d[1] == 0 })
		ours, theirs := NewState(Uint8(0)), NewState(Uint8(0))
		start := time.Now()
		l := linked(t, server, client, ours, theirs)
		<-l.Done()
		if d := time.Since(start); !l.Up() || d < linkRetry || d > linkRetry+100*time.Millisecond {
			t.Errorf("up %v after %v", l.Up(), d)
		}
		if err := ours.Set(0, Uint8(7)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if theirs.Get(0) != Uint8(7) {
			t.Error("a change does not arrive")
		}
	})
}

// TestUpdateOfAPendingLinkRaisesIt loses every linkUp.
func TestUpdateOfAPendingLinkRaisesIt(t *testing.T) {
	bubble(t, quick, Options{Protocols: []uint16{ProtocolRelease}}, func(t *testing.T, n *fakeNet, client, server *Conn) {
		n.dropping(func(d []byte) bool { return d[0] == cmdLinkUp })
		ours, theirs := NewState(Uint8(0)), NewState(Uint8(0))
		l := linked(t, server, client, ours, theirs)
		time.Sleep(time.Second)
		if l.Up() {
			t.Fatal("up without an answer")
		}
		theirs.Resend(0) // equal, as after a reconnect
		<-l.Done()
		if !l.Up() {
			t.Error("not up")
		}
	})
}

func TestEqualValuesSendNothing(t *testing.T) {
	bubble(t, quick, Options{Protocols: []uint16{ProtocolRelease}}, func(t *testing.T, n *fakeNet, client, server *Conn) {
		ours, theirs := NewState(Uint8(3), TypeFloat64.Float(1)), NewState(Uint8(0), TypeFloat64.Float(0))
		l := linked(t, server, client, ours, theirs)
		<-l.Done()
		time.Sleep(10 * time.Second)
		var updates atomic.Int32
		n.watch(func(_, _ netip.AddrPort, d []byte) {
			if d[0] == cmdLinkUpdate {
				updates.Add(1)
			}
		})
		for _, err := range []error{ours.Set(0, Uint8(3)), ours.Set(1, TypeFloat64.Float(1+1e-16)), theirs.Set(0, Uint8(3))} {
			if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Second)
		if n := updates.Load(); n != 0 {
			t.Errorf("%d updates", n)
		}
		ours.Resend(0)
		time.Sleep(10 * time.Second)
		if n := updates.Load(); n != 1+linkRepeats {
			t.Errorf("%d updates of a value that is sent again", n)
		}
	})
}

func TestStateRefusesWhatDoesNotFit(t *testing.T) {
	s := NewState(Uint8(0))
	if s.Set(0, Text("x")) == nil || s.Set(1, Uint8(0)) == nil || s.Set(-1, Uint8(0)) == nil {
		t.Error("a value that does not fit was taken")
	}
	if s.Len() != 1 || s.Get(0) != Uint8(0) {
		t.Error("the state changed")
	}
}

// TestOneStateOnTwoLinks passes a change on to the other link, and not back.
func TestOneStateOnTwoLinks(t *testing.T) {
	protocols(t, func(t *testing.T, o Options) {
		bubble(t, quick, o, func(t *testing.T, n *fakeNet, client, server *Conn) {
			one, two, shared := NewState(Uint8(0)), NewState(Uint8(0)), NewState(Uint8(0))
			client.HandleLinks(func(message []byte) *State {
				return map[string]*State{"one": one, "two": two}[string(message)]
			})
			for _, name := range []string{"one", "two"} {
				l, err := server.Link([]byte(name), shared, false)
				if err != nil {
					t.Fatal(err)
				}
				<-l.Done()
			}
			if err := one.Set(0, Uint8(5)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			if shared.Get(0) != Uint8(5) || two.Get(0) != Uint8(5) {
				t.Errorf("shared has %d, the other %d", shared.Get(0).Unsigned(0), two.Get(0).Unsigned(0))
			}
		})
	})
}

func TestUpdatesArePacked(t *testing.T) {
	big := make([]indexedValue, 600)
	for i := range big {
		big[i] = indexedValue{uint16(i), Data(make([]byte, 200))}
	}
	var updates []linkValues
	for i := range 300 {
		updates = append(updates, linkValues{Link: uint16(i), Values: []indexedValue{{0, Uint8(1)}}})
	}
	updates = append(updates, linkValues{Link: 300, Values: big})
	links, values := 0, 0
	for _, p := range pack(updates) {
		d, err := encode(nil, &p)
		if err != nil || len(d) > maxSend || len(p.Links) > 255 {
			t.Fatalf("%d links in %d bytes, %v", len(p.Links), len(d), err)
		}
		for _, l := range p.Links {
			links++
			values += len(l.Values)
		}
	}
	if links < 301 || values != 900 {
		t.Errorf("%d links, %d values", links, values)
	}
}
