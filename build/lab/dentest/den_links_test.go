package dentest_test

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"collet/build/lab/dentest"
	"collet/netproto/den"
)

// eventually waits until a condition holds. It is asked at first and after each event.
func eventually(t testing.TB, what string, limit time.Duration, events <-chan struct{}, condition func() bool) {
	t.Helper()
	for late := time.After(limit); !condition(); {
		select {
		case <-events:
		case <-late:
			if !condition() {
				t.Fatalf("%s: not within %v", what, limit)
			}
		}
	}
}

// changes holds a token after each change of a state by the peer.
func changes(s *den.State) <-chan struct{} {
	events := make(chan struct{}, 1)
	s.OnChange(func(int) {
		select {
		case events <- struct{}{}:
		default:
		}
	})
	return events
}

// up waits for a link.
func up(t testing.TB, l *den.Link) {
	t.Helper()
	select {
	case <-l.Done():
	case <-time.After(10 * time.Second):
	}
	if !l.Up() {
		t.Fatalf("the link is not up: %v", l.Err())
	}
}

// under runs a condition on the reference side's endpoint.
func (p *pairing) under(f func() bool) func() bool {
	return func() (ok bool) {
		p.ref.Do(func(time.Time, *dentest.Transport) { ok = f() })
		return ok
	}
}

// run is a run state on both sides, linked by the reference, with the given rules between.
func run(t *testing.T, rules ...dentest.Rule) (p *pairing, theirs *dentest.State, ours *den.State) {
	t.Helper()
	theirs, ours = &dentest.State{Values: []byte{0}}, den.NewState(den.Uint8(1))
	p = denConnects(t, dentest.ProxyOptions{Rules: rules}, nil)
	p.den.HandleLinks(func([]byte) *den.State { return ours })
	p.ref.Do(func(now time.Time, core *dentest.Transport) { core.Link(now, 0, []byte{1}, theirs) })
	return p, theirs, ours
}

// TestDenTrapLostLinkUp: linkUp is repeated, so a lost one doesn't disable the run state.
func TestDenTrapLostLinkUp(t *testing.T) {
	t.Parallel()
	for lost := 1; lost <= 2; lost++ {
		p, theirs, ours := run(t, dentest.Drop(dentest.Command(dentest.CmdLinkUp)).Times(lost))
		eventually(t, "linkUp", 10*time.Second, p.heard.Events(), p.under(theirs.Up))
		must(t, ours.Set(0, den.Uint8(1)))
		eventually(t, "update", 10*time.Second, p.heard.Events(), p.under(func() bool { return theirs.Values[0] == 1 }))
		p.clean(t)
	}
}

// sends is how often our side sends an update.
const sends = 4

// TestDenTrapLostUpdate: updates are repeated a few times.
func TestDenTrapLostUpdate(t *testing.T) {
	t.Parallel()
	p, theirs, ours := run(t, dentest.Drop(dentest.Command(dentest.CmdLinkUpdate)).Times(2))
	eventually(t, "linkUp", 10*time.Second, p.heard.Events(), p.under(theirs.Up))
	must(t, ours.Set(0, den.Uint8(1)))
	eventually(t, "update", 10*time.Second, p.heard.Events(), p.under(func() bool { return theirs.Values[0] == 1 }))
	before := p.heard.Updates()
	must(t, ours.Set(0, den.Uint8(0)))
	eventually(t, "update back", 10*time.Second, p.heard.Events(), p.under(func() bool { return theirs.Values[0] == 0 }))
	eventually(t, "all repeats", 10*time.Second, p.heard.Events(), func() bool { return p.heard.Updates() >= before+sends })
	p.under(func() bool {
		if theirs.Values[0] != 0 {
			t.Error("an old repeat overwrote the newer value")
		}
		return true
	})()
	p.clean(t)
}

// TestDenTrapRepeatsBehindNewerUpdate: a repeat that was held up on the way must not bring an old value back for good.
func TestDenTrapRepeatsBehindNewerUpdate(t *testing.T) {
	t.Parallel()
	hold := dentest.Hold(400*time.Millisecond, dentest.Command(dentest.CmdLinkUpdate)).Times(1)
	p, theirs, ours := run(t, hold)
	eventually(t, "linkUp", 10*time.Second, p.heard.Events(), p.under(theirs.Up))
	must(t, ours.Set(0, den.Uint8(1)))
	eventually(t, "the held update", 10*time.Second, p.proxy.Events(), func() bool { return hold.Met() == 1 })
	must(t, ours.Set(0, den.Uint8(0)))
	eventually(t, "all repeats and the held update", 10*time.Second, p.heard.Events(), func() bool { return p.heard.Updates() >= 1+sends })
	if !p.under(func() bool { return theirs.Values[0] == 0 })() {
		t.Error("the run state stayed at the older value")
	}
}

// TestDenTrapLostLinkUpOfTheReference: our offer is taken, the only linkUp is lost; the link is made again under a new id
// or an update counts as linkUp.
func TestDenTrapLostLinkUpOfTheReference(t *testing.T) {
	t.Parallel()
	there := &dentest.State{Values: []byte{0}}
	drop := dentest.Drop(dentest.Command(dentest.CmdLinkUp)).Times(1)
	p := denServes(t, dentest.ProxyOptions{Rules: []dentest.Rule{drop}}, map[string]*dentest.State{"\x01": there})
	s := den.NewState(den.Uint8(0))
	link, err := p.den.Link([]byte{1}, s, false)
	must(t, err)
	up(t, link)
	p.ref.Do(func(time.Time, *dentest.Transport) { there.Set(0, 1) })
	eventually(t, "update", 10*time.Second, changes(s), func() bool { return s.Get(0).Unsigned(0) == 1 })
	if drop.Met() != 1 {
		t.Error("no linkUp was lost")
	}
	p.clean(t)
}

// TestDenUpdateOnPendingLinkCounts: an update on a link whose linkUp was lost shows that it is up.
func TestDenUpdateOnPendingLinkCounts(t *testing.T) {
	there := &dentest.State{Values: []byte{0}}
	p := denServes(t, dentest.ProxyOptions{Rules: []dentest.Rule{dentest.Drop(dentest.Command(dentest.CmdLinkUp))}}, map[string]*dentest.State{"\x01": there})
	s := den.NewState(den.Uint8(0))
	link, err := p.den.Link([]byte{1}, s, false)
	must(t, err)
	eventually(t, "link state", 10*time.Second, p.heard.Events(), p.under(there.Up))
	p.ref.Do(func(time.Time, *dentest.Transport) { there.Set(0, 1) })
	up(t, link)
	eventually(t, "value", 10*time.Second, changes(s), func() bool { return s.Get(0).Unsigned(0) == 1 })
	p.clean(t)
}

// TestDenRefusedLink: linkDown refuses, others go on.
func TestDenRefusedLink(t *testing.T) {
	there := &dentest.State{Values: []byte{0}}
	p := denServes(t, dentest.ProxyOptions{}, map[string]*dentest.State{"\x01": there})
	refused, err := p.den.Link([]byte("nope"), den.NewState(den.Uint8(0)), false)
	must(t, err)
	<-refused.Done()
	if refused.Up() || refused.Err() == nil {
		t.Errorf("refused link: up %v, %v", refused.Up(), refused.Err())
	}
	link, err := p.den.Link([]byte{1}, den.NewState(den.Uint8(0)), false)
	must(t, err)
	up(t, link)
	p.clean(t)
}

// TestDenNeverSplitsLinkStates: long link messages go out as one datagram; code 11 doesn't work with released programs.
func TestDenNeverSplitsLinkStates(t *testing.T) {
	message := string(bytes.Repeat([]byte{'m'}, 30_000))
	there := &dentest.State{Values: []byte{0}}
	p := denServes(t, dentest.ProxyOptions{}, map[string]*dentest.State{message: there})
	link, err := p.den.Link([]byte(message), den.NewState(den.Uint8(3)), false)
	must(t, err)
	up(t, link)
	for _, g := range p.proxy.Trace() {
		if g.Data[0] == dentest.CmdReliableLinkLong {
			t.Errorf("code 11 was sent: %x", g.Data[:8])
		}
	}
	p.clean(t)
}

// TestDenTakesOddUpdates: a link count larger than the entries present, which the reference can produce, and code 11
// in one part with flags 6.
func TestDenTakesOddUpdates(t *testing.T) {
	p, theirs, ours := run(t)
	eventually(t, "linkUp", 10*time.Second, p.heard.Events(), p.under(theirs.Up))
	must(t, p.den.SendUnreliable([]byte("hello")))
	from := func(b []byte) { p.ref.Do(func(_ time.Time, core *dentest.Transport) { core.Raw(b) }) }
	from(append(binary.LittleEndian.AppendUint16([]byte{dentest.CmdLinkUpdate, 2}, 0), 1, 0, 0, 7))
	events := changes(ours)
	eventually(t, "update", 10*time.Second, events, func() bool { return ours.Get(0).Unsigned(0) == 7 })
	from([]byte{dentest.CmdReliableLinkLong, 1, 0, 12, 0, 6, 1, 0, 1, 1, 0, 1, 9})
	eventually(t, "code 11", 10*time.Second, events, func() bool { return ours.Get(0).Unsigned(0) == 9 })
	select {
	case <-p.den.Done():
		t.Errorf("connection ended: %v", p.den.Err())
	default:
	}
}
