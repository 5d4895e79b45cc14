package session_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"testing"

	"collet/netproto"
	"collet/netproto/session"
	"collet/platform/testlevel"
)

// breaking is a connection that breaks after some bytes from the server.
type breaking struct {
	net.Conn
	left int
}

func (b *breaking) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errors.Join(io.EOF, b.Close())
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// whole is a line that does not break.
const whole = 1 << 40

// line is one file on a server behind a line that may break.
type line struct {
	t      *testing.T
	proven *session.RequestSize
	data   []byte
	got    bytes.Buffer // what was delivered, over all sessions
}

func newLine(t *testing.T, size int) *line {
	return &line{t: t, proven: new(session.RequestSize), data: numbered(size)}
}

// session asks for what is missing over a connection that breaks after some bytes, and returns what was asked for and
// how the session ended.
func (l *line) session(breakAt int, deliver func([]byte) error) (asked []uint32, err error) {
	l.t.Helper()
	files := []file{{"Core.zip", 0, l.data}}
	opt, wait := play(l.t, netproto.C1, func(p *peer) {
		p.answer(accept, 1<<20, 32)
		p.list(files)
		for m := p.next(); m != nil; m = p.next() {
			request := m.(*netproto.GetRange)
			asked = append(asked, request.Length)
			p.say(rangeOf(files, request))
		}
	})
	inner := opt.Dial
	opt.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := inner(ctx, network, addr)
		return &breaking{conn, breakAt}, err
	}
	opt.RequestSize, opt.Buffer = l.proven, 8<<20 // a window that does not grow
	client, _ := listed(l.t, opt)
	missing := session.FetchRange{Index: 10, Offset: int64(l.got.Len()), Size: int64(len(l.data))}
	err = client.Fetch(l.t.Context(), []session.FetchRange{missing}, func(_ int, data []byte) error {
		if deliver != nil {
			return deliver(data)
		}
		_, err := l.got.Write(data)
		return err
	})
	client.Close()
	wait()
	return asked, err
}

// broke runs a session that must break, and returns the first size that it asked for and how many bytes it brought.
func (l *line) broke(breakAt int) (first uint32, gained int) {
	l.t.Helper()
	before := l.got.Len()
	asked, err := l.session(breakAt, nil)
	var closed *session.ClosedError
	if !errors.As(err, &closed) {
		l.t.Fatalf("got %v", err)
	}
	return asked[0], l.got.Len() - before
}

const (
	usual    = 256 << 10
	smallest = 16 << 10
	badLine  = 20_000 // bytes between two breaks
)

// TestBreakingLineMakesProgress fetches over a line that breaks within every request of usual size.
func TestBreakingLineMakesProgress(t *testing.T) {
	bubble(t, "with a memory", func(t *testing.T) {
		l := newLine(t, 600_000)
		for i, want := range []uint32{usual, usual / 4, smallest} {
			first, gained := l.broke(badLine)
			if first != want || (gained > 0) != (want == smallest) {
				t.Errorf("session %d asks for %d and gains %d bytes", i, first, gained)
			}
		}
		for sessions := 0; l.got.Len() < len(l.data)-smallest; sessions++ {
			if first, gained := l.broke(badLine); first != smallest || gained < smallest {
				t.Fatalf("session %d asks for %d and gains %d bytes", sessions, first, gained)
			}
		}
		if _, err := l.session(badLine, nil); err != nil || !bytes.Equal(l.got.Bytes(), l.data) {
			t.Errorf("%d bytes, %v", l.got.Len(), err)
		}
	})
	bubble(t, "without one", func(t *testing.T) {
		l := newLine(t, 600_000)
		l.proven = nil
		for range 4 {
			if first, gained := l.broke(badLine); first != usual || gained != 0 {
				t.Errorf("asks for %d and gains %d bytes", first, gained)
			}
		}
	})
}

// TestRequestSizeGrowsAgain lets the line recover.
func TestRequestSizeGrowsAgain(t *testing.T) {
	testlevel.Slow(t)
	bubble(t, "", func(t *testing.T) {
		l := newLine(t, 20_000_000)
		l.broke(badLine)
		l.broke(badLine)
		asked, err := l.session(whole, nil)
		if err != nil || !bytes.Equal(l.got.Bytes(), l.data) {
			t.Fatalf("%d bytes, %v", l.got.Len(), err)
		}
		var steps []uint32
		for i, n := range asked[:len(asked)-1] { // the last one is what is left
			if i == 0 || n != steps[len(steps)-1] {
				steps = append(steps, n)
			}
		}
		if want := []uint32{smallest, 2 * smallest, 4 * smallest, 8 * smallest, usual}; !slices.Equal(steps, want) {
			t.Errorf("asks for %d bytes, want %d", steps, want)
		}
	})
}

// TestRequestSizeKeepsWhatIsProven breaks a session after something was gained: the next one asks for as much as arrived.
func TestRequestSizeKeepsWhatIsProven(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		l := newLine(t, 20_000_000)
		l.broke(badLine)
		if first, gained := l.broke(100_000); first != usual/4 || gained != usual/4 {
			t.Errorf("asks for %d and gains %d bytes", first, gained)
		}
		if first, gained := l.broke(badLine); first != usual/4 || gained != 0 {
			t.Errorf("asks for %d and gains %d bytes", first, gained)
		}
		if first, _ := l.broke(badLine); first != smallest {
			t.Errorf("asks for %d", first)
		}
	})
}

// TestRequestSizeBlamesOnlyTheLine ends sessions for other reasons, and on a good line.
func TestRequestSizeBlamesOnlyTheLine(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		l := newLine(t, 20_000_000)
		full := errors.New("the disk is full")
		for range 3 {
			asked, err := l.session(whole, func([]byte) error { return full })
			if !errors.Is(err, full) || asked[0] != usual {
				t.Errorf("asks for %d, ends with %v", asked[0], err)
			}
		}
		if first, gained := l.broke(1_000_000); first != usual || gained != 3*usual {
			t.Errorf("asks for %d and gains %d bytes", first, gained)
		}
		if first, _ := l.broke(1_000_000); first != usual {
			t.Errorf("asks for %d after a session that gained", first)
		}
	})
}
