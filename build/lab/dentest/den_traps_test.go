package dentest_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"collet/build/lab/dentest"
	"collet/netproto/den"
)

// ask sends a datagram and returns the answer, or nothing if none comes.
func ask(t *testing.T, c *net.UDPConn, say string) string {
	t.Helper()
	_, err := c.Write([]byte(say))
	must(t, err)
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	buffer := make([]byte, 100)
	n, _ := c.Read(buffer)
	return string(buffer[:n])
}

// TestDen41_1_RepeatsConnectionAck: the same request is answered with the same ack as long as nothing else came, so a
// device whose first ack was lost is connected after its second request.
func TestDen41_1_RepeatsConnectionAck(t *testing.T) {
	l, err := den.Listen("127.0.0.1:0", released())
	must(t, err)
	defer l.Close()
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(l.Addr()))
	must(t, err)
	defer c.Close()
	for i := range 3 {
		if got := ask(t, c, "\x00\x01\x00\x00\x00"); got != "\x01\x00\x00\x00" {
			t.Errorf("request %d is answered %x", i, got)
		}
	}
	for _, row := range []struct{ say, want string }{{"\x00\x03\x00\x05\x00\x00\x00\x07\x00", "\x01\x00\x00\x00"}, {"\x00\x01\x00\x07\x00", "\x01\x02"}} {
		other, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(l.Addr()))
		must(t, err)
		if got := ask(t, other, row.say); got != row.want {
			t.Errorf("%x is answered %x, want %x", row.say, got, row.want)
		}
		must(t, other.Close())
	}
}

// TestDenTrapLostConnectionAckServer: our server, the device's first ack lost.
func TestDenTrapLostConnectionAckServer(t *testing.T) {
	drop := dentest.Drop(dentest.Command(dentest.CmdConnectionAck)).Times(1)
	began := time.Now()
	p := denServes(t, dentest.ProxyOptions{Rules: []dentest.Rule{drop}}, nil)
	if took := time.Since(began); drop.Met() != 1 || took > 4*time.Second {
		t.Errorf("connected after %v, %d acks lost", took, drop.Met())
	}
	must(t, p.pour(within(t, 5*time.Second), 0, 30))
	p.whole(t, 30)
	p.clean(t)
}

// TestDen42_1_NewPortAfterTwoSeconds: the reference answers once, so our side takes another port.
func TestDen42_1_NewPortAfterTwoSeconds(t *testing.T) {
	t.Parallel()
	drop := dentest.Drop(dentest.Command(dentest.CmdConnectionAck)).Times(1)
	p := denConnects(t, dentest.ProxyOptions{Rules: []dentest.Rule{drop}}, nil)
	for _, g := range p.proxy.Trace() {
		if g.Client == 1 {
			if g.At < time.Second || g.At > 3*time.Second {
				t.Errorf("the second port was used after %v, want about 2 s", g.At)
			}
			return
		}
	}
	t.Error("no second port was used")
}

// TestDen41_9_WindowOfTen: towards a released peer no number is sent before the one ten earlier was acknowledged, and
// numbers stay below 65535. A probe of one number beyond is harmless and allowed for.
func TestDen41_9_WindowOfTen(t *testing.T) {
	p := denServes(t, dentest.ProxyOptions{ToServer: dentest.Impairment{Delay: 5 * time.Millisecond}, ToClient: dentest.Impairment{Delay: 5 * time.Millisecond}}, nil)
	must(t, p.pour(within(t, 20*time.Second), 0, 400))
	p.whole(t, 400)
	if n := p.ref.Socket().Journal().Count(dentest.CountOutside); n > 0 {
		t.Errorf("%d datagrams were outside the window without any loss", n)
	}
	if n := p.den.Stats().Resent; n > 0 {
		t.Errorf("%d datagrams were resent without any loss", n)
	}
	p.clean(t)
}

// TestDenTrapNumbersModulo65535 passes two laps both ways without loss.
func TestDenTrapNumbersModulo65535(t *testing.T) {
	const n = 2*65535 + 500
	p := denServes(t, dentest.ProxyOptions{Quiet: true}, nil)
	ctx := within(t, 2*time.Minute)
	drawn := make(chan error, 1)
	go func() { drawn <- p.drawPortions(ctx, n) }()
	must(t, p.pour(ctx, 0, n))
	p.whole(t, n)
	must(t, <-drawn)
	p.clean(t)
}

// TestDenTrapStoredDuplicate: an ack of number 100 is lost. Whatever our sender does, message 65635 arrives genuine, and
// nothing arrives twice.
func TestDenTrapStoredDuplicate(t *testing.T) {
	for _, number := range []int{0, 100, 65534} {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			const n = 65535 + 700
			p := denServes(t, dentest.ProxyOptions{Rules: []dentest.Rule{dentest.Drop(dentest.AckOf(number), dentest.Toward(dentest.ToServer)).Times(1)}}, nil)
			must(t, p.pour(within(t, time.Minute), 0, n))
			p.whole(t, n)
			p.clean(t)
		})
	}
}

// TestDenTrapLostAckAtTheEnd: the ack of the last number of a burst is lost, so nothing later can imply it; the resend
// plants a copy, and the number must carry something harmless one lap later.
func TestDenTrapLostAckAtTheEnd(t *testing.T) {
	const n = 65535 + 700
	p := denServes(t, dentest.ProxyOptions{Rules: []dentest.Rule{dentest.Drop(dentest.AckOf(100), dentest.Toward(dentest.ToServer)).Times(1)}}, nil)
	ctx := within(t, time.Minute)
	must(t, p.pour(ctx, 0, 101))
	must(t, p.pour(ctx, 101, n))
	p.whole(t, n)
	p.clean(t)
}

// TestDenTrapLostAcksNearTheWrap: acks of the last numbers before the wrap, and of the first behind it, are lost; the
// reference no longer acknowledges resends there, so only later acks can tell.
func TestDenTrapLostAcksNearTheWrap(t *testing.T) {
	for _, numbers := range [][]int{{65530}, {65534}, {65526, 65528, 65530, 65532, 65534}, {0, 3}, {65533, 65534, 0, 1}} {
		t.Run(fmt.Sprint(numbers), func(t *testing.T) {
			var rules []dentest.Rule
			for _, n := range numbers {
				skip := 0
				if n < 100 {
					skip = 1 // the first lap's
				}
				rules = append(rules, dentest.Drop(dentest.AckOf(n), dentest.Toward(dentest.ToServer)).After(skip).Times(1))
			}
			const n = 65535 + 700
			p := denServes(t, dentest.ProxyOptions{Rules: rules}, nil)
			must(t, p.pour(within(t, time.Minute), 0, n))
			p.whole(t, n)
			for i, r := range rules {
				if r.Met() != 1 {
					t.Errorf("the ack of %d was lost %d times", numbers[i], r.Met())
				}
			}
			p.clean(t)
		})
	}
}

// TestDenTrapBurstEndsAtTheWrap: a burst ends just before the wrap and its last acks are lost; nothing follows.
func TestDenTrapBurstEndsAtTheWrap(t *testing.T) {
	for _, last := range []int{65525, 65530, 65534} {
		t.Run(fmt.Sprint(last), func(t *testing.T) {
			p := denServes(t, dentest.ProxyOptions{Rules: []dentest.Rule{dentest.Drop(dentest.AckOf(last), dentest.Toward(dentest.ToServer)).Times(1)}}, nil)
			must(t, p.pour(within(t, 30*time.Second), 0, last+1))
			must(t, p.pour(within(t, 30*time.Second), last+1, last+300))
			p.whole(t, last+300)
			p.clean(t)
		})
	}
}

// TestDen42_3_OldDuplicates: copies of old numbers are acknowledged, never stored and never delivered again.
func TestDen42_3_OldDuplicates(t *testing.T) {
	var rules []dentest.Rule
	for _, n := range []int{5, 100, 65520, 65530, 65534} {
		rules = append(rules, dentest.Repeat(20*time.Millisecond, dentest.Numbered(n), dentest.Toward(dentest.ToClient)).Times(1))
	}
	const n = 65535 + 700
	p := denConnects(t, dentest.ProxyOptions{Rules: rules}, nil)
	ctx := within(t, time.Minute)
	drawn := make(chan error, 1)
	go func() { drawn <- p.draw(ctx, 0, n) }()
	for i := 0; i < n; i += 10 { // in bursts, so that copies come while the receiver is near
		p.send(i, min(i+10, n))
		for pending := 100; pending > 50; {
			p.ref.Do(func(_ time.Time, core *dentest.Transport) { pending = core.Pending() })
		}
	}
	must(t, <-drawn)
	acks := map[int]int{}
	for _, g := range p.proxy.Trace() {
		if k, ok := dentest.Number(g.Data); ok && g.Data[0] == dentest.CmdReliableAck && g.Direction == dentest.ToServer {
			acks[k]++
		}
	}
	for _, k := range []int{5, 100} { // sent in both laps, and repeated in the first
		if acks[k] != 3 {
			t.Errorf("number %d was acknowledged %d times, want 3", k, acks[k])
		}
	}
	p.clean(t)
}

// TestDen42_2_AcksAtOnce: acks leave within 250 ms, also while the program does not read.
func TestDen42_2_AcksAtOnce(t *testing.T) {
	p := denConnects(t, dentest.ProxyOptions{}, nil)
	for range 40 {
		p.ref.Send(make([]byte, 60_000))
	}
	for pending := 1; pending > 0; {
		p.ref.Do(func(_ time.Time, core *dentest.Transport) { pending = core.Pending() })
		select {
		case <-p.ref.Ended():
			t.Fatalf("the reference gave up: %v", p.ref.Err())
		case <-time.After(time.Millisecond):
		}
	}
	sent := map[int]time.Duration{}
	for _, g := range p.proxy.Trace() {
		k, ok := dentest.Number(g.Data)
		switch {
		case ok && g.Direction == dentest.ToClient && g.Data[0] != dentest.CmdReliableAck:
			if _, again := sent[k]; !again {
				sent[k] = g.At
			}
		case ok && g.Data[0] == dentest.CmdReliableAck && g.At-sent[k] > 250*time.Millisecond:
			t.Errorf("number %d was acknowledged after %v", k, g.At-sent[k])
		}
	}
	if n := p.ref.Socket().Journal().Count(dentest.CountResend); n > 0 {
		t.Errorf("the reference resent %d times", n)
	}
}

// TestDenCloses both ways, in order.
func TestDenCloses(t *testing.T) {
	p := denServes(t, dentest.ProxyOptions{}, nil)
	must(t, p.den.Send(t.Context(), []byte("last")))
	must(t, p.den.Close())
	<-p.ref.Ended()
	if got := p.heard.Messages(); p.ref.Err() != nil || len(got) != 1 {
		t.Errorf("reference ended with %v, %q", p.ref.Err(), got)
	}
	p = denConnects(t, dentest.ProxyOptions{}, nil)
	p.ref.Send([]byte("0"))
	must(t, p.draw(within(t, 20*time.Second), 0, 1))
	p.ref.Do(func(_ time.Time, core *dentest.Transport) { core.Close() })
	if _, err := p.den.Receive(within(t, 20*time.Second)); !errors.Is(err, io.EOF) {
		t.Errorf("our side ended with %v, want io.EOF", err)
	}
}

// TestDenGivesUp ends with a timeout when the network is gone, and says goodbye as the reference does.
func TestDenGivesUp(t *testing.T) {
	t.Parallel()
	p := denServes(t, dentest.ProxyOptions{}, nil)
	must(t, p.pour(within(t, 20*time.Second), 0, 3))
	p.proxy.Dark(true)
	must(t, p.den.Send(t.Context(), []byte("3")))
	select {
	case <-p.den.Done():
	case <-time.After(5 * time.Second):
		t.Fatal("still there after five seconds")
	}
	if !errors.Is(p.den.Err(), den.ErrTimeout) {
		t.Errorf("ended with %v, want a timeout", p.den.Err())
	}
	eventually(t, "our close", 10*time.Second, p.proxy.Events(), func() bool {
		return slices.ContainsFunc(p.proxy.Trace(), func(g dentest.Datagram) bool {
			return g.Direction == dentest.ToClient && slices.Equal(g.Data, []byte{dentest.CmdConnectionClose})
		})
	})
}
