package session_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/session"
)

// peer is a scripted server. It uses our own Conn, whose bytes the vectors verify.
type peer struct {
	t     *testing.T
	conn  *netproto.Conn
	net   net.Conn
	hello *netproto.Handshake

	pings []time.Time // the client's questions
	pongs int         // the client's answers
	mute  bool        // leave questions unanswered
}

// play returns options whose Dial reaches a peer that runs script, once, and compresses in two generations of four. The
// peer hangs up when script returns; wait returns when it has.
func play(t *testing.T, g netproto.Generation, script func(p *peer)) (opt session.Options, wait func()) {
	t.Helper()
	var work sync.WaitGroup
	opt = session.Options{Addr: "update.example:4000", Generation: g, Compatibility: "compat-A", Target: "Linux-x64"}
	opt.Dial = func(_ context.Context, network, addr string) (net.Conn, error) {
		if network != "tcp" || addr != "update.example:4000" {
			t.Errorf("dials %s %s", network, addr)
		}
		near, far := net.Pipe()
		p := &peer{t: t, net: far, conn: netproto.NewConn(far, netproto.ServerSide, netproto.Limits{}, netproto.WithZlib(g == netproto.G1 || g == netproto.G2b))}
		work.Go(func() {
			defer far.Close()
			script(p)
		})
		return near, nil
	}
	return opt, work.Wait
}

// next returns the next message that is no ping, and nil when the client is gone. Pings are noted and answered.
func (p *peer) next() netproto.Message {
	for {
		m, err := p.conn.Read()
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) && !errors.Is(err, io.ErrUnexpectedEOF) {
				p.t.Errorf("peer: %v", err)
			}
			return nil
		}
		ping, isPing := m.(*netproto.Ping)
		switch {
		case !isPing:
			return m
		case ping.Answer:
			p.pongs++
		default:
			p.pings = append(p.pings, time.Now())
			if p.mute {
				continue
			}
			p.say(&netproto.Ping{Answer: true})
		}
		if p.conn.Generation().Engine() && !p.mute {
			p.say(&netproto.TimeSync{Time: 1})
		}
	}
}

// say writes; a client that has gone does not mind.
func (p *peer) say(ms ...netproto.Message) {
	if err := p.conn.Write(ms...); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		p.t.Errorf("peer: %v", err)
	}
}

// waitForClient reads until the client is gone.
func (p *peer) waitForClient() {
	for p.next() != nil {
	}
}

// greet reads the hello and answers with j.
func (p *peer) greet(j compat.Judgement) {
	p.answer(j, 1000, 4)
}

func (p *peer) answer(j compat.Judgement, maxPortion uint32, maxInFlight uint16) {
	m, err := p.conn.Read()
	if err != nil {
		p.t.Errorf("peer: hello: %v", err)
		return
	}
	p.hello = m.(*netproto.Handshake)
	answer := netproto.NewAnswer(j)
	if p.conn.Generation().Engine() {
		answer.Key = netproto.NewKey()
	} else {
		answer.Capabilities, answer.MaxPortion, answer.MaxInFlight = netproto.CapPipeline, maxPortion, maxInFlight
	}
	p.say(answer)
}

// file is something to serve.
type file struct {
	path string
	role uint8
	data []byte
}

func (f file) fnv() uint64 {
	h := fnv.New64a()
	h.Write(f.data)
	return h.Sum64()
}

// list sends what is on offer; a file's index is its place plus ten.
func (p *peer) list(files []file) {
	if p.conn.Generation().Engine() {
		var entries []netproto.Entry
		for i, f := range files {
			entries = append(entries, netproto.Entry{Name: f.path, Size: uint64(len(f.data)), Hash: f.fnv(), Role: f.role, Index: uint32(10 + i)})
		}
		descriptor, err := netproto.EncodeDescriptor(entries)
		if err != nil {
			p.t.Error(err)
		}
		p.say(&netproto.InitData{Descriptor: descriptor, Properties: [][]byte{{0}}, Time: 1})
		return
	}
	list := new(netproto.FileList)
	for i, f := range files {
		list.Files = append(list.Files, netproto.ListedFile{Path: f.path, Size: uint64(len(f.data)), SHA256: sha256.Sum256(f.data), Role: f.role, Index: uint32(10 + i)})
	}
	p.say(list)
}

// serve answers every request with at most portion bytes, until the client is gone.
func (p *peer) serve(files []file, portion int) {
	for m := p.next(); m != nil; m = p.next() {
		switch m := m.(type) {
		case *netproto.GetUpdateFile:
			data := files[m.Index-10].data[m.Offset:]
			p.say(&netproto.UpdateFileData{Data: data[:min(len(data), portion)]})
		case *netproto.GetRange:
			p.say(rangeOf(files, m))
		default:
			p.t.Errorf("peer: unexpected %v", m.ID())
		}
	}
}

func rangeOf(files []file, m *netproto.GetRange) *netproto.RangeData {
	data := files[m.Index-10].data[m.Offset:]
	return &netproto.RangeData{Request: m.Request, Offset: m.Offset, Data: data[:min(len(data), int(m.Length))]}
}

// connect connects or fails the test.
func connect(t *testing.T, opt session.Options) *session.Client {
	t.Helper()
	c, err := session.Dial(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// listed connects and lists, or fails the test.
func listed(t *testing.T, opt session.Options) (*session.Client, []session.Offer) {
	t.Helper()
	c := connect(t, opt)
	offers, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c, offers
}

// everyGeneration runs a test for each in a bubble of fake time.
func everyGeneration(t *testing.T, test func(t *testing.T, g netproto.Generation)) {
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b, netproto.C1} {
		bubble(t, g.String(), func(t *testing.T) { test(t, g) })
	}
}

// longest is the largest file of these tests. It is made once, because the race detector looks at every byte.
var longest = sync.OnceValue(func() []byte {
	data := make([]byte, 0, 24<<20)
	for i := uint64(0); len(data) < cap(data); i++ {
		data = binary.LittleEndian.AppendUint64(data, i*0x9E3779B97F4A7C15)
	}
	return data
})

// numbered is size bytes with different values at different offsets. They are read-only.
func numbered(size int) []byte { return longest()[:size:size] }
