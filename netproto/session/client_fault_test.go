package session_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/session"
)

// TestServerFaults covers messages that a server must not send, or not at that time.
func TestServerFaults(t *testing.T) {
	files := []file{{"Core.zip", 0, make([]byte, 2500)}}
	ask := []session.FetchRange{{Index: 10, Size: 2500}}
	request := func(p *peer) *netproto.GetRange { m, _ := p.next().(*netproto.GetRange); return m }
	tests := []struct {
		name    string
		g       netproto.Generation
		script  func(p *peer)
		message netproto.MessageID
		text    string
	}{
		{"data before the answer", netproto.C1, func(p *peer) { p.next(); p.say(&netproto.RangeData{}) }, 66, "was not requested"},
		{"list before the answer", netproto.G1, func(p *peer) { p.next(); p.say(&netproto.InitData{}) }, 4, "was not requested"},
		{"an answer that moves nothing", netproto.C1, func(p *peer) { p.answer(accept, 0, 4) }, 3, "move nothing"},
		{"no requests allowed", netproto.C1, func(p *peer) { p.answer(accept, 1000, 0) }, 3, "move nothing"},
		{"two lists", netproto.C1, func(p *peer) { p.greet(accept); p.list(files); p.list(files) }, 64, "was not requested"},
		{"two lists", netproto.G1, func(p *peer) { p.greet(accept); p.list(files); p.list(files) }, 4, "was not requested"},
		{"data unasked", netproto.G1, func(p *peer) { p.greet(accept); p.say(&netproto.UpdateFileData{}); p.list(files) }, 23, "was not requested"},
		{"another request's number", netproto.C1, func(p *peer) {
			p.greet(accept)
			p.list(files)
			p.say(&netproto.RangeData{Request: request(p).Request + 99})
		}, 66, "was not requested"},
		{"the same answer twice", netproto.C1, func(p *peer) {
			p.greet(accept)
			p.list(files)
			m := request(p)
			p.say(rangeOf(files, m), rangeOf(files, m))
		}, 66, "was not requested"},
		{"another offset", netproto.C1, func(p *peer) {
			p.greet(accept)
			p.list(files)
			m := request(p)
			m.Offset++
			p.say(rangeOf(files, m))
		}, 66, "offset: 1 where 0"},
		{"too little", netproto.C1, func(p *peer) {
			p.greet(accept)
			p.list(files)
			m := request(p)
			m.Length--
			p.say(rangeOf(files, m))
		}, 66, "999 bytes where 1000"},
		{"too much", netproto.C1, func(p *peer) {
			p.greet(accept)
			p.list(files)
			m := request(p)
			m.Length++
			p.say(rangeOf(files, m))
		}, 66, "1001 bytes where 1000"},
		{"nothing before the end", netproto.G1, func(p *peer) {
			p.greet(accept)
			p.list(files)
			p.next()
			p.say(&netproto.UpdateFileData{})
		}, 23, "0 bytes where 2500"},
		{"more than is missing", netproto.G1, func(p *peer) {
			p.greet(accept)
			p.list(files)
			p.next()
			p.say(&netproto.UpdateFileData{Data: make([]byte, 2501)})
		}, 23, "2501 bytes where 2500"},
		{"a damaged descriptor", netproto.G1, func(p *peer) {
			p.greet(accept)
			p.say(&netproto.InitData{Descriptor: []byte{1}})
			p.waitForClient()
		}, 4, "beyond the end"},
		{"a size that no file has", netproto.C1, func(p *peer) {
			p.greet(accept)
			p.say(&netproto.FileList{Files: []netproto.ListedFile{{Path: "Core.zip", Size: math.MaxInt64 + 1}}})
			p.waitForClient()
		}, 64, `"Core.zip"`},
		{"a size that no file has", netproto.G1, func(p *peer) {
			p.greet(accept)
			descriptor, _ := netproto.EncodeDescriptor([]netproto.Entry{{Name: "Core.zip", Size: math.MaxUint64}})
			p.say(&netproto.InitData{Descriptor: descriptor})
			p.waitForClient()
		}, 4, `"Core.zip"`},
		{"no frame at all", netproto.C1, func(p *peer) { p.next(); _, _ = io.WriteString(p.net, "HTTP/1.1 400 Bad Request\r\n") }, 0, "signature"},
		{"no frame at all", netproto.G1, func(p *peer) { p.next(); _, _ = io.WriteString(p.net, "HTTP/1.1 400 Bad Request\r\n") }, 0, "signature"},
	}
	for _, test := range tests {
		bubble(t, test.g.String()+" "+test.name, func(t *testing.T) {
			opt, wait := play(t, test.g, func(p *peer) { test.script(p); p.waitForClient() })
			err := updateWith(t, opt, ask)
			wait()
			wantFault(t, err, test.message, test.text)
		})
	}
}

// updateWith takes an update and returns what ends it.
func updateWith(t *testing.T, opt session.Options, reqs []session.FetchRange) error {
	t.Helper()
	c, err := session.Dial(t.Context(), opt)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.List(t.Context()); err != nil {
		return err
	}
	return c.Fetch(t.Context(), reqs, func(int, []byte) error { return nil })
}

// TestServerHangsUp distinguishes a close before the answer from one after it.
func TestServerHangsUp(t *testing.T) {
	files := testFiles()
	everyGeneration(t, func(t *testing.T, g netproto.Generation) {
		for name, test := range map[string]struct {
			script   func(p *peer)
			answered bool
		}{
			"at once":          {func(*peer) {}, false},
			"behind the hello": {func(p *peer) { p.conn.Read() }, false},
			"behind the answer": {func(p *peer) {
				p.greet(accept)
			}, true},
			"behind the list":      {func(p *peer) { p.greet(accept); p.list(files) }, true},
			"behind a request":     {func(p *peer) { p.greet(accept); p.list(files); p.next() }, true},
			"in the middle of all": {func(p *peer) { p.greet(accept); p.list(files); p.next(); p.net.Write([]byte{0x22}) }, true},
		} {
			opt, wait := play(t, g, test.script)
			err := updateWith(t, opt, []session.FetchRange{{Index: 10, Size: 100_123}})
			wait()
			end := closed(t, err, test.answered)
			if !errors.Is(end, io.EOF) && !errors.Is(end, io.ErrUnexpectedEOF) && !errors.Is(end, io.ErrClosedPipe) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestGoodbye covers the two orderly ends. Messages before them still count.
func TestGoodbye(t *testing.T) {
	files := testFiles()
	ask := []session.FetchRange{{Index: 12, Size: 700}, {Index: 10, Size: 100_123}}
	bubble(t, "Disconnect", func(t *testing.T) {
		opt, wait := play(t, netproto.G1, func(p *peer) {
			p.greet(accept)
			p.list(files)
			p.next()
			p.say(&netproto.UpdateFileData{Data: files[2].data}, &netproto.Disconnect{})
			p.waitForClient()
		})
		c, _ := listed(t, opt)
		got := 0
		err := c.Fetch(t.Context(), ask, func(_ int, data []byte) error { got += len(data); return nil })
		if end := closed(t, err, true); got != 700 || !strings.Contains(end.Error(), "goodbye") {
			t.Errorf("%d bytes, then %v", got, err)
		}
		c.Close()
		wait()
	})
	bubble(t, "Refuse", func(t *testing.T) {
		opt, wait := play(t, netproto.C1, func(p *peer) {
			p.greet(accept)
			p.list(files)
			m := p.next().(*netproto.GetRange)
			p.say(rangeOf(files, m), &netproto.Refuse{Reason: netproto.RefuseChanged, Request: m.Request + 1, Text: "Core.zip"})
			p.waitForClient()
		})
		c, _ := listed(t, opt)
		got := 0
		err := c.Fetch(t.Context(), ask, func(_ int, data []byte) error { got += len(data); return nil })
		var refused *session.RefusedError
		if !errors.As(err, &refused) || got != 700 {
			t.Fatalf("%d bytes, then %v", got, err)
		}
		if refused.Reason != netproto.RefuseChanged || refused.Request == 0 || refused.Text != "Core.zip" {
			t.Errorf("refused %+v", refused)
		}
		c.Close()
		wait()
	})
	bubble(t, "Refuse instead of an answer", func(t *testing.T) {
		opt, wait := play(t, netproto.C1, func(p *peer) {
			p.conn.Read()
			p.say(&netproto.Refuse{Reason: netproto.RefuseGoingDown})
		})
		_, err := session.Dial(t.Context(), opt)
		var refused *session.RefusedError
		if !errors.As(err, &refused) || refused.Reason != netproto.RefuseGoingDown {
			t.Errorf("error %v", err)
		}
		wait()
	})
}

// halfClosed fails every write once it is told to, and keeps reading.
type halfClosed struct {
	net.Conn
	writes int
}

func (h *halfClosed) Write(p []byte) (int, error) {
	if h.writes--; h.writes < 0 {
		return 0, syscall.EPIPE
	}
	return h.Conn.Write(p)
}

// TestWritingFailsFirst: the reason that a server sent before its close has precedence over the following broken pipe.
// Without a reason, the broken pipe is the error, after a short wait.
func TestWritingFailsFirst(t *testing.T) {
	files := testFiles()
	for name, reason := range map[string]bool{"with a reason": true, "without": false} {
		bubble(t, name, func(t *testing.T) {
			opt, wait := play(t, netproto.C1, func(p *peer) {
				p.greet(accept)
				p.list(files)
				if reason {
					time.Sleep(time.Second)
					p.say(&netproto.Refuse{Reason: netproto.RefuseGoingDown})
				}
				p.waitForClient()
			})
			whole := opt.Dial
			opt.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				nc, err := whole(ctx, network, addr)
				return &halfClosed{Conn: nc, writes: 1}, err
			}
			start := time.Now()
			err := updateWith(t, opt, []session.FetchRange{{Index: 10, Size: 100_123}})
			var refused *session.RefusedError
			if errors.As(err, &refused) != reason {
				t.Errorf("error %v", err)
			}
			if !reason && !errors.Is(closed(t, err, true), syscall.EPIPE) {
				t.Errorf("error %v", err)
			}
			if time.Since(start) > 4*time.Second {
				t.Errorf("after %v", time.Since(start))
			}
			wait()
		})
	}
}

// TestDeliverFails returns the caller's own error, and ends the session.
func TestDeliverFails(t *testing.T) {
	everyGeneration(t, func(t *testing.T, g netproto.Generation) {
		files := testFiles()
		opt, wait := play(t, g, func(p *peer) { p.greet(accept); p.list(files); p.serve(files, 1000) })
		c, _ := listed(t, opt)
		full := errors.New("disk full")
		calls := 0
		ask := []session.FetchRange{{Index: 10, Size: 100_123}}
		err := c.Fetch(t.Context(), ask, func(int, []byte) error { calls++; return full })
		if err != full || calls != 1 {
			t.Errorf("%v after %d deliveries", err, calls)
		}
		if err := c.Fetch(t.Context(), ask, nil); !errors.Is(closed(t, err, true), full) {
			t.Errorf("then %v", err)
		}
		c.Close()
		wait()
	})
}

// TestNoiseIsPassedOver mixes unknown messages into a session, and checks that a text from the server reaches the log.
func TestNoiseIsPassedOver(t *testing.T) {
	everyGeneration(t, func(t *testing.T, g netproto.Generation) {
		files := testFiles()
		noise := []netproto.Message{&netproto.Unknown{Number: 200, Body: []byte("later")}, &netproto.Unknown{Number: 201}, &netproto.Ping{Answer: true}}
		if g.Engine() {
			noise = append(noise, &netproto.HashList{Strings: []string{"a"}}, &netproto.TimeSync{}, &netproto.InfoMessage{Code: 7, Text: "hello there"})
		}
		opt, wait := play(t, g, func(p *peer) {
			p.greet(accept)
			p.say(noise...)
			p.list(files)
			for m := p.next(); m != nil; m = p.next() {
				p.say(noise...)
				if portion, isPortion := m.(*netproto.GetUpdateFile); isPortion {
					p.say(&netproto.UpdateFileData{Data: files[portion.Index-10].data[portion.Offset:]})
					continue
				}
				p.say(rangeOf(files, m.(*netproto.GetRange)))
			}
		})
		var text bytes.Buffer
		opt.Log = zerolog.New(zerolog.SyncWriter(&text)) // both goroutines of a session and its caller log
		c, _ := listed(t, opt)
		if got := fetchAll(t, c, []session.FetchRange{{Index: 10, Size: 100_123}}); len(got[0]) != 100_123 {
			t.Errorf("%d bytes", len(got[0]))
		}
		c.Close()
		wait()
		if g.Engine() && !strings.Contains(text.String(), "hello there") {
			t.Errorf("log %s", text.String())
		}
		if !strings.Contains(text.String(), `"message":"message 200"`) && !strings.Contains(text.String(), "message 200") {
			t.Errorf("log %s", text.String())
		}
	})
}
