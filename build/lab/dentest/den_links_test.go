package dentest_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
	"time"

	"collet/build/lab/dentest"
	"collet/netproto/den"
)

// recordedValues are the values of the recorded state as our transport has them (trace 4).
func recordedValues() []den.Value {
	h := math.Float64frombits(0x3fe6a09e65dc27df) // as recorded, a little below the root of a half
	s := func(t den.ValueType, v ...int64) den.Value { return t.Signed(v...) }
	f := func(t den.ValueType, v ...float64) den.Value { return t.Float(v...) }
	return []den.Value{
		s(0, -2), s(1, 200), s(2, -300), s(3, 60000), s(4, -70000), s(5, 4000000000), s(6, -5000000000),
		den.TypeUint64.Unsigned(0x8000000000000005), f(8, 1.5), f(9, 3.25), f(10, -2.1), den.Text("héllo"),
		den.Data([]byte{0, 1, 2, 255}), s(13, 1, -2), s(14, 2, 3), s(15, 3, -4), s(16, 4, 5), s(17, 5, -6), s(18, 6, 7),
		s(19, 7, -8), s(20, 8, 9), s(21, 1, -2, 3), s(22, 2, 3, 4), s(23, 3, -4, 5), s(24, 4, 5, 6), s(25, 5, -6, 7),
		s(26, 6, 7, 8), s(27, 7, -8, 9), s(28, 8, 9, 10), f(29, 0.5, -1.25), f(30, 0.5, -1.25), f(31, 0.5, -1.25),
		f(32, 0.5, -1.25, 1024), f(33, 0.5, -1.25, 1024), f(34, 0.5, -1.25, 1024), f(35, 0, 0, h, h), f(36, 0, 0, h, h), f(37, 0, 0, h, h),
	}
}

// raised is a value with its first component raised by one, or a byte appended, as in the recording.
func raised(v den.Value) den.Value {
	switch t := v.Type(); {
	case t == den.TypeString:
		return den.Text(v.Text() + "+")
	case t == den.TypeData:
		return den.Data(append(v.Data(), 0xaa))
	case t >= den.TypeFloat16 && t <= den.TypeFloat64 || t >= den.TypeVector2F16:
		return t.Float(v.Float(0)+1, v.Float(1), v.Float(2), v.Float(3))
	case t == den.TypeUint64:
		return t.Unsigned(v.Unsigned(0) + 1)
	default:
		return t.Signed(v.Signed(0)+1, v.Signed(1), v.Signed(2), v.Signed(3))
	}
}

// eventually asks until a condition holds.
func eventually(t testing.TB, what string, limit time.Duration, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}

// under runs a condition on the reference side's endpoint.
func (p *pairing) under(f func() bool) func() bool {
	return func() (ok bool) {
		p.ref.Do(func(time.Time, *dentest.Core) { ok = f() })
		return ok
	}
}

// TestDenLinksAllTypes links the recorded state to a reference peer: the bytes are those of the recording, and so are
// those of the update.
func TestDenLinksAllTypes(t *testing.T) {
	recorded, next := recordedState(t)
	there := zeros(recorded)
	p := denServes(t, dentest.ProxyOptions{}, map[string]*dentest.State{"all": there})
	s := den.NewState(recordedValues()...)
	link, err := p.den.Link([]byte("all"), s, false)
	must(t, err)
	select {
	case <-link.Done():
	case <-time.After(2 * time.Second):
	}
	if !link.Up() {
		t.Fatalf("link isn't up: %v", link.Err())
	}
	for i, v := range recordedValues() {
		must(t, s.Set(i, raised(v)))
	}
	eventually(t, "updates", 2*time.Second, p.under(func() bool {
		for i := range next {
			if !bytes.Equal(there.Values[i].Data, next[i]) {
				return false
			}
		}
		return true
	}))
	want := vectors(t)["linkState"]
	for _, g := range p.proxy.Trace() {
		if g.Direction == dentest.ToClient && g.Data[0] == dentest.CmdReliableLinkState && !bytes.Equal(g.Data[3:], want[3:]) {
			t.Errorf("link state %x, want %x", g.Data, want)
		}
	}
	p.clean(t)
}

// TestDenTakesLinksOfAllTypes is the other way round.
func TestDenTakesLinksOfAllTypes(t *testing.T) {
	recorded, next := recordedState(t)
	p := denConnects(t, dentest.ProxyOptions{}, nil)
	var empty []den.Value
	for _, v := range recordedValues() {
		switch v.Type() {
		case den.TypeString:
			empty = append(empty, den.Text(""))
		case den.TypeData:
			empty = append(empty, den.Data(nil))
		default:
			empty = append(empty, v.Type().Signed(0))
		}
	}
	s := den.NewState(empty...)
	p.den.HandleLinks(func(message []byte) *den.State {
		if string(message) == "all" {
			return s
		}
		return nil
	})
	p.ref.Do(func(now time.Time, core *dentest.Core) { core.Link(now, []byte("all"), recorded, true) })
	eventually(t, "linkUp", 2*time.Second, p.under(recorded.Up))
	for i, v := range recordedValues() {
		if got := s.Get(i); got != v {
			t.Errorf("value %d is %v, want %v", i, got, v)
		}
	}
	p.ref.Do(func(time.Time, *dentest.Core) {
		for i, data := range next {
			recorded.Set(i, data)
		}
	})
	eventually(t, "updates", 2*time.Second, func() bool {
		for i, v := range recordedValues() {
			if s.Get(i) != raised(v) {
				return false
			}
		}
		return true
	})
	p.clean(t)
}

// run is a run state on both sides, linked by the reference, with the given rules between.
func run(t *testing.T, rules ...dentest.Rule) (p *pairing, theirs *dentest.State, ours *den.State) {
	t.Helper()
	theirs, ours = &dentest.State{Values: []dentest.Value{dentest.Byte(0)}}, den.NewState(den.Uint8(1))
	p = denConnects(t, dentest.ProxyOptions{Rules: rules}, nil)
	p.den.HandleLinks(func([]byte) *den.State { return ours })
	p.ref.Do(func(now time.Time, core *dentest.Core) { core.Link(now, []byte{1}, theirs, false) })
	return p, theirs, ours
}

// TestDenTrapLostLinkUp: linkUp is repeated, so a lost one doesn't disable the run state (2.7, 4.2 #6).
func TestDenTrapLostLinkUp(t *testing.T) {
	for lost := 1; lost <= 2; lost++ {
		p, theirs, ours := run(t, dentest.Drop(dentest.Command(dentest.CmdLinkUp)).Times(lost))
		eventually(t, "linkUp", 3*time.Second, p.under(theirs.Up))
		must(t, ours.Set(0, den.Uint8(1)))
		eventually(t, "update", 3*time.Second, p.under(func() bool { return theirs.Values[0].Data[0] == 1 }))
		p.clean(t)
	}
}

// TestDenTrapLostUpdate: updates are repeated a few times (2.7).
func TestDenTrapLostUpdate(t *testing.T) {
	p, theirs, ours := run(t, dentest.Drop(dentest.Command(dentest.CmdLinkUpdate)).Times(2))
	eventually(t, "linkUp", 3*time.Second, p.under(theirs.Up))
	must(t, ours.Set(0, den.Uint8(1)))
	eventually(t, "update", 3*time.Second, p.under(func() bool { return theirs.Values[0].Data[0] == 1 }))
	must(t, ours.Set(0, den.Uint8(0)))
	eventually(t, "update back", 3*time.Second, p.under(func() bool { return theirs.Values[0].Data[0] == 0 }))
	time.Sleep(1500 * time.Millisecond)
	p.under(func() bool {
		if theirs.Values[0].Data[0] != 0 {
			t.Error("an old repeat overwrote the newer value")
		}
		return true
	})()
	p.clean(t)
}

// TestDenTrapRepeatsBehindNewerUpdate: a repeat that was held up on the way must not bring an old value back for good.
func TestDenTrapRepeatsBehindNewerUpdate(t *testing.T) {
	hold := dentest.Hold(400*time.Millisecond, dentest.Command(dentest.CmdLinkUpdate)).Times(1)
	p, theirs, ours := run(t, hold)
	eventually(t, "linkUp", 3*time.Second, p.under(theirs.Up))
	must(t, ours.Set(0, den.Uint8(1)))
	time.Sleep(20 * time.Millisecond)
	must(t, ours.Set(0, den.Uint8(0)))
	time.Sleep(1500 * time.Millisecond)
	if !p.under(func() bool { return theirs.Values[0].Data[0] == 0 })() {
		t.Error("the run state stayed at the older value")
	}
}

// TestDenTrapLostLinkUpOfTheReference: our offer is taken, the only linkUp is lost; the link is made again under a new id
// or an update counts as linkUp (2.7).
func TestDenTrapLostLinkUpOfTheReference(t *testing.T) {
	there := &dentest.State{Values: []dentest.Value{dentest.Byte(0)}}
	drop := dentest.Drop(dentest.Command(dentest.CmdLinkUp)).Times(1)
	p := denServes(t, dentest.ProxyOptions{Rules: []dentest.Rule{drop}}, map[string]*dentest.State{"\x01": there})
	s := den.NewState(den.Uint8(0))
	link, err := p.den.Link([]byte{1}, s, false)
	must(t, err)
	eventually(t, "link", 5*time.Second, link.Up)
	p.ref.Do(func(time.Time, *dentest.Core) { there.Set(0, []byte{1}) })
	eventually(t, "update", 2*time.Second, func() bool { return s.Get(0).Unsigned(0) == 1 })
	if drop.Met() != 1 {
		t.Error("no linkUp was lost")
	}
	p.clean(t)
}

// TestDenUpdateOnPendingLinkCounts: an update on a link whose linkUp was lost shows that it is up (2.7).
func TestDenUpdateOnPendingLinkCounts(t *testing.T) {
	there := &dentest.State{Values: []dentest.Value{dentest.Byte(0)}}
	p := denServes(t, dentest.ProxyOptions{Rules: []dentest.Rule{dentest.Drop(dentest.Command(dentest.CmdLinkUp))}}, map[string]*dentest.State{"\x01": there})
	s := den.NewState(den.Uint8(0))
	link, err := p.den.Link([]byte{1}, s, false)
	must(t, err)
	eventually(t, "link state", 2*time.Second, p.under(there.Up))
	p.ref.Do(func(time.Time, *dentest.Core) { there.Set(0, []byte{1}) })
	eventually(t, "link", 2*time.Second, link.Up)
	eventually(t, "value", time.Second, func() bool { return s.Get(0).Unsigned(0) == 1 })
	p.clean(t)
}

// TestDenRefusedLink: linkDown refuses, others go on.
func TestDenRefusedLink(t *testing.T) {
	there := &dentest.State{Values: []dentest.Value{dentest.Byte(0)}}
	p := denServes(t, dentest.ProxyOptions{}, map[string]*dentest.State{"\x01": there})
	refused, err := p.den.Link([]byte("nope"), den.NewState(den.Uint8(0)), false)
	must(t, err)
	<-refused.Done()
	if refused.Up() || refused.Err() == nil {
		t.Errorf("refused link: up %v, %v", refused.Up(), refused.Err())
	}
	link, err := p.den.Link([]byte{1}, den.NewState(den.Uint8(0)), false)
	must(t, err)
	eventually(t, "link", 2*time.Second, link.Up)
	p.clean(t)
}

// TestDenNeverSplitsLinkStates: long link messages go out as one datagram; code 11 doesn't work with the references (2.5).
func TestDenNeverSplitsLinkStates(t *testing.T) {
	message := string(bytes.Repeat([]byte{'m'}, 30_000))
	there := &dentest.State{Values: []dentest.Value{dentest.Byte(0)}}
	p := denServes(t, dentest.ProxyOptions{}, map[string]*dentest.State{message: there})
	link, err := p.den.Link([]byte(message), den.NewState(den.Uint8(3)), false)
	must(t, err)
	eventually(t, "link", 2*time.Second, link.Up)
	for _, g := range p.proxy.Trace() {
		if g.Data[0] == dentest.CmdReliableLinkLong {
			t.Errorf("code 11 was sent: %x", g.Data[:8])
		}
	}
	p.clean(t)
}

// TestDenTakesOddUpdates: a link count larger than the entries present, which the reference can produce (2.7), and code 11
// in one part with flags 6.
func TestDenTakesOddUpdates(t *testing.T) {
	p, theirs, ours := run(t)
	eventually(t, "linkUp", 2*time.Second, p.under(theirs.Up))
	must(t, p.den.SendUnreliable([]byte("hello")))
	from := func(b []byte) { p.ref.Do(func(_ time.Time, core *dentest.Core) { core.Raw(b) }) }
	from(append(binary.LittleEndian.AppendUint16([]byte{dentest.CmdLinkUpdate, 2}, 0), 1, 0, 0, 7))
	eventually(t, "update", 2*time.Second, func() bool { return ours.Get(0).Unsigned(0) == 7 })
	from([]byte{dentest.CmdReliableLinkLong, 1, 0, 12, 0, 6, 1, 0, 1, 1, 0, 1, 9})
	eventually(t, "code 11", 2*time.Second, func() bool { return ours.Get(0).Unsigned(0) == 9 })
	select {
	case <-p.den.Done():
		t.Errorf("connection ended: %v", p.den.Err())
	default:
	}
}
