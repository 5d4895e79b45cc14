package servertest

import (
	"bytes"
	"errors"
	"hash/fnv"
	"net"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
)

// Peer is a client that sends exactly what a test says. One goroutine uses it at a time.
type Peer struct {
	T    testing.TB // fails at the first fault
	Raw  net.Conn
	Wire *netproto.Conn
}

// Dial connects to a server that serves on TCP. The connection has a deadline of 20 seconds.
func (s *Server) Dial(t testing.TB, g netproto.Generation) *Peer {
	t.Helper()
	raw, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	raw.SetDeadline(time.Now().Add(2 * time.Minute)) // a hang is a failure, not a stuck test run
	return NewPeer(t, raw, g)
}

// NewPeer is a peer on a connection, which the end of the test closes.
func NewPeer(t testing.TB, raw net.Conn, g netproto.Generation) *Peer {
	t.Helper()
	t.Cleanup(func() { raw.Close() })
	p := &Peer{T: t, Raw: raw, Wire: netproto.NewConn(raw, netproto.ClientSide, netproto.Limits{})}
	if err := p.Wire.SetGeneration(g); err != nil {
		t.Fatal(err)
	}
	return p
}

// RemoveDeadline removes the deadline of [Server.Dial], for long transfers.
func (p *Peer) RemoveDeadline() { p.Raw.SetDeadline(time.Time{}) }

// Send writes messages.
func (p *Peer) Send(ms ...netproto.Message) {
	p.T.Helper()
	if err := p.Wire.Write(ms...); err != nil {
		p.T.Fatalf("send: %v", err)
	}
}

// Next reads one message of type M and fails on anything else.
func Next[M netproto.Message](p *Peer) M {
	p.T.Helper()
	m, err := p.Wire.Read()
	if err != nil {
		p.T.Fatalf("waiting for %T: %v", *new(M), err)
	}
	want, ok := m.(M)
	if !ok {
		p.T.Fatalf("got %v %+v, want %T", m.ID(), m, *new(M))
	}
	return want
}

// Greet shakes hands in any generation and returns the files that the server offers.
func (p *Peer) Greet(m *netproto.Handshake) (*netproto.HandshakeAnswer, []netproto.ListedFile) {
	p.T.Helper()
	p.Send(m)
	answer := Next[*netproto.HandshakeAnswer](p)
	var files []netproto.ListedFile
	if p.Wire.Generation().Engine() {
		files = ListOf(p.T, Next[*netproto.InitData](p).Descriptor)
	} else {
		files = Next[*netproto.FileList](p).Files
	}
	if q := Next[*netproto.Ping](p); q.Answer {
		p.T.Fatal("an answer to a ping that was not asked")
	}
	return answer, files
}

// ReadToEnd reads until the server closes the connection and returns the messages before that.
func (p *Peer) ReadToEnd() []netproto.Message {
	p.T.Helper()
	var last []netproto.Message
	for {
		m, err := p.Wire.Read()
		if err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				p.T.Fatalf("the server did not close: %v", err)
			}
			return last
		}
		last = append(last, m)
	}
}

// ExpectSilence checks for a while that the server neither sends nor closes.
func (p *Peer) ExpectSilence(d time.Duration) {
	p.T.Helper()
	p.Raw.SetReadDeadline(time.Now().Add(d))
	n, err := p.Raw.Read(make([]byte, 1))
	var timeout net.Error
	if n != 0 || !errors.As(err, &timeout) || !timeout.Timeout() {
		p.T.Fatalf("read %d bytes, %v; want silence", n, err)
	}
	p.Raw.SetReadDeadline(time.Now().Add(20 * time.Second))
}

// Ask connects, sends a C1 handshake and returns the verdict.
func (s *Server) Ask(t testing.TB, m *netproto.Handshake) (*Peer, compat.Judgement) {
	t.Helper()
	p := s.Dial(t, netproto.C1)
	p.Send(m)
	return p, Next[*netproto.HandshakeAnswer](p).Judgement(netproto.C1)
}

// Expect is [Server.Ask] for one verdict and rule.
func (s *Server) Expect(t testing.TB, m *netproto.Handshake, verdict compat.Verdict, rule compat.Rule) *Peer {
	t.Helper()
	p, j := s.Ask(t, m)
	if j.Verdict != verdict || j.Rule != rule {
		t.Errorf("%s for %s: got %v by rule %d, want %v by rule %d", m.Compatibility, m.Target, j.Verdict, j.Rule, verdict, rule)
	}
	return p
}

// IsListed reports whether a list has a file, and of the size of content unless that is empty.
func IsListed(files []netproto.ListedFile, name, content string) bool {
	for _, f := range files {
		if f.Path == name {
			return content == "" || f.Size == uint64(len(content))
		}
	}
	return false
}

// DialForObjects greets as a client of a compatibility version that asks for objects.
func (s *Server) DialForObjects(t testing.TB, compat string) (*Peer, []netproto.ListedFile) {
	t.Helper()
	p := s.Dial(t, netproto.C1)
	m := HandshakeOf(netproto.C1, compat, "Linux-x64")
	m.Capabilities |= netproto.CapObjects
	_, files := p.Greet(m)
	return p, files
}

// FetchObject fetches a whole file of the release folder; it reports whether the server has it.
func FetchObject(p *Peer, name string) (string, bool) {
	p.T.Helper()
	var content bytes.Buffer
	for {
		p.Send(&netproto.GetObject{Request: 5, Name: name, Offset: uint64(content.Len()), Length: 1 << 20})
		m, err := p.Wire.Read()
		if err != nil {
			p.T.Fatal(err)
		}
		switch m := m.(type) {
		case *netproto.NoObject:
			return "", false
		case *netproto.RangeData:
			if m.Request != 5 || m.Offset != uint64(content.Len()) {
				p.T.Fatalf("%+v", m)
			}
			if len(m.Data) == 0 {
				return content.String(), true
			}
			content.Write(m.Data)
		default:
			p.T.Fatalf("%+v", m)
		}
	}
}

// ListOf is the list that a C1 client would have got in place of a descriptor, without the SHA-256 sums.
func ListOf(t testing.TB, descriptor []byte) []netproto.ListedFile {
	t.Helper()
	entries, err := netproto.ParseDescriptor(descriptor, netproto.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var files []netproto.ListedFile
	for _, e := range entries {
		files = append(files, netproto.ListedFile{Path: e.Name, Size: e.Size, Role: e.Role, Index: e.Index})
		if sum := fnv.New64a(); e.Hash == sum.Sum64() && e.Size != 0 {
			t.Errorf("%s has the hash of an empty file", e.Name)
		}
	}
	return files
}

// Fetch fetches a whole file portion by portion by the requests of its generation.
func (p *Peer) Fetch(f netproto.ListedFile) []byte {
	p.T.Helper()
	var content []byte
	for {
		portion := p.FetchPortion(f.Index, uint64(len(content)))
		content = append(content, portion...)
		if uint64(len(content)) >= f.Size {
			return content
		}
		if len(portion) == 0 {
			p.T.Fatalf("%s: nothing at %d of %d", f.Path, len(content), f.Size)
		}
	}
}

// FetchPortion asks for one portion from an offset.
func (p *Peer) FetchPortion(index uint32, offset uint64) []byte {
	p.T.Helper()
	if p.Wire.Generation().Engine() {
		p.Send(&netproto.GetUpdateFile{Index: index, Offset: offset})
		return Next[*netproto.UpdateFileData](p).Data
	}
	p.Send(&netproto.GetRange{Request: index + 1000, Index: index, Offset: offset, Length: 1 << 30})
	data := Next[*netproto.RangeData](p)
	if data.Request != index+1000 || data.Offset != offset {
		p.T.Fatalf("answer to request %d at %d, want %d at %d", data.Request, data.Offset, index+1000, offset)
	}
	return data.Data
}
