package netproto_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/platform/testlevel"
)

const (
	// threadPortion and threadRequests are what the server of these tests allows, in bytes and requests.
	threadPortion  = 16 << 10
	threadRequests = 4
	// threadStep is the time of an answer on these connections.
	threadStep = 5 * time.Millisecond
)

// threads is a server that allows several connections. Fields are set before the client starts; the server's counters are read after its
// end.
type threads struct {
	t     *testing.T
	files []file
	ask   uint8                               // connections asked for behind the first answer; 0 is none
	dial  func(n int) error                   // an error in place of connection n; the first is 0
	greet func(p *peer, n int) bool           // greets connection n; false hangs up; nil is an ordinary greeting
	rate  func(n int) float64                 // bytes a second of connection n; nil: threadStep for each answer
	limit [2]int                              // bytes and requests that it allows
	each  func(p *peer, n, answered int) bool // before each answer; false hangs up
	hang  func(n, answered int) bool          // hangs up right behind an answer
	slow  time.Duration                       // what every delivery takes

	mu     sync.Mutex
	hellos []netproto.Handshake
	served map[int]int // answers by connection
	asked  int64       // bytes asked for on all connections
	repeat map[string]int
	work   sync.WaitGroup
	dials  int
	log    bytes.Buffer
}

func newThreads(t *testing.T, size int) *threads {
	return &threads{t: t, ask: 4, files: []file{{"Core.zip", 0, numbered(size)}}, limit: [2]int{threadPortion, threadRequests}, served: map[int]int{}, repeat: map[string]int{}}
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

// connections is how many were dialled so far.
func (s *threads) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dials
}

// answers is how many connection n has given so far.
func (s *threads) answers(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served[n]
}

// options reach the server.
func (s *threads) options() netproto.ClientOptions {
	return netproto.ClientOptions{Addr: "update.example:4000", Compatibility: "compat-A", Target: "Linux-x64", Log: zerolog.New(zerolog.SyncWriter(&s.log)),
		Dial: func(context.Context, string, string) (net.Conn, error) {
			s.mu.Lock()
			n := s.dials
			s.dials++
			s.mu.Unlock()
			if s.dial != nil {
				if err := s.dial(n); err != nil {
					return nil, err
				}
			}
			near, far := net.Pipe()
			p := &peer{t: s.t, net: far, conn: netproto.NewConn(far, netproto.ServerSide, netproto.Limits{})}
			s.work.Go(func() {
				defer far.Close()
				s.play(p, n)
			})
			return near, nil
		}}
}

// play is one connection.
func (s *threads) play(p *peer, n int) {
	greet := s.greet
	if greet == nil {
		greet = func(p *peer, _ int) bool { s.welcome(p, netproto.CapPipeline|netproto.CapSpread); return true }
	}
	if !greet(p, n) {
		return
	}
	for answered := 0; ; answered++ {
		m, isRange := p.next().(*netproto.GetRange)
		if !isRange {
			return
		}
		s.mu.Lock()
		s.asked += int64(m.Length)
		s.repeat[fmt.Sprint(m.Index, m.Offset)]++
		s.mu.Unlock()
		time.Sleep(s.takes(n, m))
		if s.each != nil && !s.each(p, n, answered) {
			return
		}
		p.say(rangeOf(s.files, m))
		s.mu.Lock()
		s.served[n]++
		s.mu.Unlock()
		if n == 0 && answered == 0 && s.ask > 0 {
			p.say(&netproto.Spread{Connections: s.ask})
		}
		if s.hang != nil && s.hang(n, answered) {
			return
		}
	}
}

// takes is how long an answer takes on connection n.
func (s *threads) takes(n int, m *netproto.GetRange) time.Duration {
	if s.rate == nil {
		return threadStep
	}
	return time.Duration(float64(m.Length) / s.rate(n) * float64(time.Second))
}

// welcome greets with the capabilities that both have.
func (s *threads) welcome(p *peer, capabilities uint32) {
	m, err := p.conn.Read()
	if err != nil {
		return // the client was closed meanwhile
	}
	hello := m.(*netproto.Handshake)
	s.mu.Lock()
	s.hellos = append(s.hellos, *hello)
	s.mu.Unlock()
	answer := netproto.NewAnswer(accept)
	answer.Capabilities, answer.MaxPortion, answer.MaxInFlight = capabilities&hello.Capabilities, uint32(s.limit[0]), uint16(s.limit[1])
	p.say(answer)
	p.list(s.files)
}

// take fetches everything once, checks what came and closes.
func (s *threads) take(opt netproto.ClientOptions) (err error) {
	s.t.Helper()
	c, _ := listed(s.t, opt)
	err = s.fetch(c)
	c.Close()
	s.work.Wait()
	return err
}

// fetch takes all files and checks the order of what is delivered, also where it ends early.
func (s *threads) fetch(c *netproto.Client) error {
	s.t.Helper()
	var ranges []netproto.FetchRange
	for i, f := range s.files {
		ranges = append(ranges, netproto.FetchRange{Index: uint32(10 + i), Size: int64(len(f.data))})
	}
	got, wrong := make([]int, len(s.files)), make([]bool, len(s.files))
	err := c.Fetch(s.t.Context(), ranges, func(i int, data []byte) error {
		wrong[i] = wrong[i] || !bytes.HasPrefix(s.files[i].data[min(got[i], len(s.files[i].data)):], data)
		got[i] += len(data)
		time.Sleep(s.slow)
		return nil
	})
	for i, f := range s.files {
		if wrong[i] || err == nil && got[i] != len(f.data) {
			s.t.Errorf("file %d is damaged: %d bytes", i, got[i])
		}
	}
	return err
}

// twice is how many pieces were asked for more than once.
func (s *threads) twice() (n int) {
	for _, times := range s.repeat {
		n += times - 1
	}
	return n
}

// TestSpread fetches files over as many connections as the server requests: all take part, nothing is requested twice,
// and the further ones have the same identity and don't offer to be multiplied.
func TestSpread(t *testing.T) {
	bubble(t, "four", func(t *testing.T) {
		s := newThreads(t, 3<<20)
		s.files = append(s.files, file{"Empty.zip", 0, nil}, file{"Game.so", 1, text(100_001, 6)}, file{"sub/Tiny.zip", 0, text(1, 7)})
		began := time.Now()
		if err := s.take(s.options()); err != nil {
			t.Fatal(err)
		}
		alone := time.Duration(3<<20/threadPortion) * threadStep
		if took := time.Since(began); took > alone/3 {
			t.Errorf("took %v, and one connection %v", took, alone)
		}
		if len(s.hellos) != 4 || s.twice() != 0 {
			t.Fatalf("%d connections, %d requests too many", len(s.hellos), s.twice())
		}
		for n, hello := range s.hellos {
			want := netproto.Handshake{Version: netproto.VersionC1, Capabilities: netproto.CapPipeline, Compatibility: "compat-A", Target: "Linux-x64", Tags: netproto.Tags{}}
			if n == 0 {
				want.Capabilities |= netproto.CapSpread
			}
			if fmt.Sprint(hello) != fmt.Sprint(want) || s.served[n] < 40 {
				t.Errorf("connection %d says %+v and is asked %d times", n, hello, s.served[n])
			}
		}
		if log := s.log.String(); !strings.Contains(log, `"connections":4,"message":"the line loses packets: fetching over several connections"`) {
			t.Errorf("log:\n%s", log)
		}
	})
	bubble(t, "found out", func(t *testing.T) {
		s := newThreads(t, 3<<20)
		opt := s.options()
		opt.Auto = true
		if err := s.take(opt); err != nil {
			t.Fatal(err)
		}
		if len(s.hellos) != 4 || s.hellos[0].Offer != netproto.G2a || s.hellos[1].Offer != 0 {
			t.Errorf("hellos %+v", s.hellos)
		}
	})
}

// TestSpreadCaps checks the largest number of connections, whatever the server requests.
func TestSpreadCaps(t *testing.T) {
	testlevel.Slow(t)
	for _, test := range []struct {
		asked uint8
		lines int
		size  int
		want  int
	}{
		{0, 0, 3 << 20, 1}, {1, 0, 3 << 20, 1}, {2, 0, 3 << 20, 2}, {8, 0, 3 << 20, 8}, {9, 0, 3 << 20, 8}, {255, 0, 3 << 20, 8},
		{255, 1000, 3 << 20, 8}, {4, 3, 3 << 20, 3}, {4, 2, 3 << 20, 2},
		{4, 0, 1 << 20, 1}, // not worth it
		{4, 0, 1<<20 + 20*threadPortion, 4},
	} {
		bubble(t, fmt.Sprint(test), func(t *testing.T) {
			s := newThreads(t, test.size)
			s.ask = test.asked
			if test.asked == 0 { // which is something else than to say nothing
				s.each = func(p *peer, n, answered int) bool {
					if answered == 1 {
						p.say(&netproto.Spread{})
					}
					return true
				}
			}
			opt := s.options()
			opt.Lines = test.lines
			if err := s.take(opt); err != nil {
				t.Fatal(err)
			}
			if s.dials != test.want {
				t.Errorf("%d connections, want %d", s.dials, test.want)
			}
		})
	}
}

// TestSpreadUnasked rejects a server that requests connections when it may not.
func TestSpreadUnasked(t *testing.T) {
	again := func(p *peer, n, answered int) bool {
		if answered == 3 {
			p.say(&netproto.Spread{Connections: 2})
		}
		return true
	}
	for _, test := range []struct {
		name         string
		lines        int
		capabilities uint32
		each         func(p *peer, n, answered int) bool
	}{
		{"twice", 0, netproto.CapPipeline | netproto.CapSpread, func(p *peer, n, answered int) bool { return n > 0 || again(p, n, answered) }},
		{"without the capability", 0, netproto.CapPipeline, nil},
		{"to a client without it", 1, netproto.CapPipeline | netproto.CapSpread, nil},
	} {
		bubble(t, test.name, func(t *testing.T) {
			s := newThreads(t, 3<<20)
			s.greet = func(p *peer, n int) bool { s.welcome(p, test.capabilities); return true }
			s.each = test.each
			opt := s.options()
			opt.Lines = test.lines
			wantFault(t, s.take(opt), netproto.IDSpread, "nobody asked")
		})
	}
	bubble(t, "a further connection", func(t *testing.T) {
		s := newThreads(t, 3<<20)
		s.each = func(p *peer, n, answered int) bool { return n == 0 || again(p, n, answered) }
		if err := s.take(s.options()); err != nil || s.dials != 4 {
			t.Errorf("%v, %d connections", err, s.dials)
		}
	})
	bubble(t, "engine", func(t *testing.T) {
		files := testFiles()
		opt, wait := play(t, netproto.G1, func(p *peer) {
			p.greet(accept)
			p.list(files)
			p.say(&netproto.Unknown{Number: netproto.IDSpread, Body: []byte{8}})
			p.serve(files, 1000)
		})
		c, _ := listed(t, opt)
		fetchAll(t, c, []netproto.FetchRange{{Index: 10, Size: 100_123}})
		c.Close()
		wait()
	})
}

// TestSpreadBreaks breaks each further connection, and all of them, after every small number of answers: before the
// list, between two answers and within one. The others deliver their outstanding data.
func TestSpreadBreaks(t *testing.T) {
	testlevel.Slow(t)
	for _, broken := range [][]int{{1}, {2}, {3}, {1, 3}, {1, 2, 3}} {
		for after := 0; after < 14; after += testlevel.Stride(4, 13) {
			for _, within := range []bool{false, true} {
				bubble(t, fmt.Sprint(broken, after, within), func(t *testing.T) {
					s := newThreads(t, 2<<20)
					s.each = func(p *peer, n, answered int) bool {
						if !slices.Contains(broken, n) || answered < after {
							return true
						}
						if within {
							_, _ = p.net.Write([]byte{0x22, 0x94, 0x1E, 0x01, 0x40, 0, 0, 0, byte(netproto.IDRangeData), 1})
						}
						return false
					}
					if err := s.take(s.options()); err != nil {
						t.Fatal(err)
					}
					if s.twice() == 0 {
						t.Error("nothing was asked for again")
					}
					for _, n := range broken {
						if s.served[n] != after {
							t.Errorf("connection %d answered %d times, want %d", n, s.served[n], after)
						}
					}
				})
			}
		}
	}
}

// TestSpreadBreaksBehindAnswers breaks connections directly after an answer, while the fetch is busy elsewhere: the received data counts.
func TestSpreadBreaksBehindAnswers(t *testing.T) {
	testlevel.Slow(t)
	for after := range 12 {
		bubble(t, fmt.Sprint(after), func(t *testing.T) {
			s := newThreads(t, 2<<20)
			s.slow = 3 * threadStep
			s.hang = func(n, answered int) bool { return n > 0 && answered == after }
			if err := s.take(s.options()); err != nil || s.dials != 4 {
				t.Fatalf("%v, %d connections", err, s.dials)
			}
			for n := 1; n < 4; n++ {
				if s.served[n] != after+1 {
					t.Errorf("connection %d answered %d times, want %d", n, s.served[n], after+1)
				}
			}
			if most := 3 * threadRequests; s.twice() > most {
				t.Errorf("%d pieces were asked for again, at most %d were lost", s.twice(), most)
			}
		})
	}
}

// TestSpreadFirstBreaks breaks the first connection after every small number of answers: the fetch ends as with a single
// connection, and the others are closed.
func TestSpreadFirstBreaks(t *testing.T) {
	testlevel.Slow(t)
	for after := 1; after < 20; after++ {
		bubble(t, fmt.Sprint(after), func(t *testing.T) {
			s := newThreads(t, 2<<20)
			s.each = func(_ *peer, n, answered int) bool { return n > 0 || answered < after }
			var closed *netproto.ClosedError
			if err := s.take(s.options()); !errors.As(err, &closed) || errors.Is(err, net.ErrClosed) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestSpreadDamage covers faults of a further connection that are more than a break.
func TestSpreadDamage(t *testing.T) {
	for name, spoil := range map[string]func(p *peer){
		"an answer that nobody asked for": func(p *peer) { p.say(&netproto.RangeData{Request: 1 << 30}) },
		"another one's answer":            func(p *peer) { p.say(&netproto.RangeData{Request: 1, Data: make([]byte, threadPortion)}) },
		"a refusal":                       func(p *peer) { p.say(&netproto.Refuse{Reason: netproto.RefuseTooMany}) },
		"no frame":                        func(p *peer) { _, _ = io.WriteString(p.net, "HTTP/1.1 400 Bad Request\r\n") },
	} {
		bubble(t, name, func(t *testing.T) {
			s := newThreads(t, 2<<20)
			s.each = func(p *peer, n, answered int) bool {
				if n != 2 || answered != 5 {
					return true
				}
				spoil(p)
				p.waitForClient()
				return false
			}
			if err := s.take(s.options()); err != nil || s.served[2] != 5 || s.served[3] == 0 {
				t.Errorf("%v; answers %v", err, s.served)
			}
		})
	}
}

// TestSpreadRefused covers further connections that fail. There is no retry, and earlier ones stay open.
func TestSpreadRefused(t *testing.T) {
	other := func(change func(*netproto.HandshakeAnswer, *netproto.FileList)) func(s *threads, p *peer) {
		return func(s *threads, p *peer) {
			p.next()
			answer := netproto.NewAnswer(accept)
			answer.Capabilities, answer.MaxPortion, answer.MaxInFlight = netproto.CapPipeline, threadPortion, threadRequests
			f := s.files[0]
			list := &netproto.FileList{Files: []netproto.ListedFile{{Path: f.path, Size: uint64(len(f.data)), SHA256: sha256.Sum256(f.data), Index: 10}}}
			change(answer, list)
			p.say(answer, list)
			p.waitForClient()
		}
	}
	for _, test := range []struct {
		name   string
		second func(s *threads, p *peer)
		text   string // in the log
	}{
		{"full", func(s *threads, p *peer) {
			p.next()
			p.say(&netproto.Refuse{Reason: netproto.RefuseBusy})
			p.waitForClient()
		}, "server is full"},
		{"closed", func(*threads, *peer) {}, "before the server's answer"},
		{"another file", other(func(_ *netproto.HandshakeAnswer, l *netproto.FileList) { l.Files[0].SHA256[3]++ }), "something else"},
		{"another index", other(func(_ *netproto.HandshakeAnswer, l *netproto.FileList) { l.Files[0].Index++ }), "something else"},
		{"another size", other(func(_ *netproto.HandshakeAnswer, l *netproto.FileList) { l.Files[0].Size++ }), "something else"},
		{"a file more", other(func(_ *netproto.HandshakeAnswer, l *netproto.FileList) {
			l.Files = append(l.Files, netproto.ListedFile{Path: "b"})
		}), "something else"},
		{"another portion", other(func(a *netproto.HandshakeAnswer, _ *netproto.FileList) { a.MaxPortion-- }), "something else"},
		{"another verdict", other(func(a *netproto.HandshakeAnswer, _ *netproto.FileList) { a.Verdict = compat.UpdateBinaries }), "something else"},
		{"maintenance", other(func(a *netproto.HandshakeAnswer, _ *netproto.FileList) { a.Verdict = compat.Maintenance }), "allows no transfer"},
		{"none", nil, "no route"},
	} {
		for _, failing := range []int{1, 3} {
			bubble(t, fmt.Sprint(test.name, failing), func(t *testing.T) {
				s := newThreads(t, 2<<20)
				s.greet = func(p *peer, n int) bool {
					if n == failing {
						test.second(s, p)
						return false
					}
					s.welcome(p, netproto.CapPipeline|netproto.CapSpread)
					return true
				}
				if test.second == nil {
					s.dial = func(n int) error {
						if n == failing {
							return errors.New("no route")
						}
						return nil
					}
				}
				if err := s.take(s.options()); err != nil {
					t.Fatal(err)
				}
				if s.dials != failing+1 || s.served[failing] != 0 || failing > 1 && s.served[failing-1] == 0 {
					t.Errorf("%d connections, answers %v", s.dials, s.served)
				}
				if log := s.log.String(); !strings.Contains(log, test.text) || strings.Contains(log, "several connections") != (failing > 1) {
					t.Errorf("log:\n%s", log)
				}
			})
		}
	}
}

// TestSpreadMemory holds back the head of the queue: the others run ahead as far as the buffer, and go on behind it.
func TestSpreadMemory(t *testing.T) {
	testlevel.Slow(t)
	bubble(t, "bytes", func(t *testing.T) {
		const buffer = 1 << 20
		s := newThreads(t, 8<<20)
		ahead := int64(0)
		s.each = func(_ *peer, n, answered int) bool {
			if n == 0 && answered == 20 {
				s.mu.Lock()
				before := s.asked
				s.mu.Unlock()
				time.Sleep(time.Minute / 2)
				s.mu.Lock()
				ahead = s.asked - before
				s.mu.Unlock()
			}
			return true
		}
		opt := s.options()
		opt.Buffer, opt.IdleTimeout = buffer, time.Hour
		if err := s.take(opt); err != nil {
			t.Fatal(err)
		}
		if ahead < buffer/2 || ahead > buffer+threadPortion {
			t.Errorf("%d bytes were asked for while one waited, with a buffer of %d", ahead, buffer)
		}
	})
	bubble(t, "pieces without bytes", func(t *testing.T) {
		s := newThreads(t, 3<<20)
		for i := range 5000 {
			s.files = append(s.files, file{fmt.Sprint("empty", i), 0, nil})
		}
		s.files = append(s.files, file{"last", 0, numbered(9 << 20)})
		if err := s.take(s.options()); err != nil || s.dials != 4 {
			t.Errorf("%v, %d connections", err, s.dials)
		}
	})
}

// TestSpreadUsesEverySpeed fetches a file over connections of different speeds, with as many requests as our servers
// allow: together they are nearly as fast as their sum, because slow ones hold little that fast ones wait for.
func TestSpreadUsesEverySpeed(t *testing.T) {
	testlevel.Slow(t)
	const slow, fast = 250e3, 1e6
	for _, speeds := range [][]float64{{fast, fast, fast, fast}, {slow, fast, fast, fast}, {fast, slow, fast, fast}, {fast, fast, fast, slow}, {slow, slow, fast, slow}} {
		bubble(t, fmt.Sprint(speeds), func(t *testing.T) {
			const size = 24 << 20
			s := newThreads(t, size)
			s.limit = [2]int{1_000_000, 32}
			s.rate = func(n int) float64 { return speeds[n] }
			began, sum := time.Now(), 0.0
			if err := s.take(s.options()); err != nil || s.dials != 4 {
				t.Fatalf("%v, %d connections", err, s.dials)
			}
			for _, speed := range speeds {
				sum += speed
			}
			took := time.Since(began).Seconds()
			alone := 2 << 20 / speeds[0] // what the first one was asked for before the others came
			if best := size / sum; took > 1.15*best+alone/2 {
				t.Errorf("took %.1f s, all at once need %.1f s", took, best)
			}
		})
	}
}

// TestSpreadStays keeps connections from one fetch to the next, and notices those that end between two.
func TestSpreadStays(t *testing.T) {
	bubble(t, "two fetches", func(t *testing.T) {
		s := newThreads(t, 2<<20)
		leave := make(chan struct{})
		s.greet = func(p *peer, n int) bool {
			s.welcome(p, netproto.CapPipeline|netproto.CapSpread)
			if n == 3 {
				s.work.Go(func() { <-leave; p.net.Close() })
			}
			return true
		}
		c, _ := listed(t, s.options())
		for i := range 3 {
			before := s.answers(2)
			if err := s.fetch(c); err != nil {
				t.Fatal(i, err)
			}
			if s.connections() != 4 || s.answers(2) < before+20 {
				t.Errorf("fetch %d: %d connections, %d answers of the third", i, s.connections(), s.answers(2))
			}
			if i == 1 {
				close(leave)
				synctest.Wait()
			}
		}
		c.Close()
		s.work.Wait()
	})
	bubble(t, "asked for where nothing is left", func(t *testing.T) {
		s := newThreads(t, 3<<20)
		c, _ := listed(t, s.options())
		part := []netproto.FetchRange{{Index: 10, End: 500_000, Size: 3 << 20}}
		if err := c.Fetch(t.Context(), part, func(int, []byte) error { return nil }); err != nil || s.connections() != 1 {
			t.Fatalf("%v, %d connections", err, s.connections())
		}
		if err := s.fetch(c); err != nil || s.connections() != 4 {
			t.Fatalf("%v, %d connections", err, s.connections())
		}
		c.Close()
		s.work.Wait()
	})
	bubble(t, "not listed", func(t *testing.T) {
		s := newThreads(t, 2<<20)
		c := dial(t, s.options())
		if err := s.fetch(c); err != nil || s.connections() != 1 {
			t.Errorf("%v, %d connections", err, s.connections())
		}
		c.Close()
		s.work.Wait()
	})
}

// TestSpreadEnds closes, cancels and fails at each stage of several connections. The bubble ends only when every goroutine has.
func TestSpreadEnds(t *testing.T) {
	testlevel.Slow(t)
	for moment := range 30 {
		at := time.Duration(moment) * threadStep / 3
		bubble(t, fmt.Sprint("close at ", at), func(t *testing.T) {
			s := newThreads(t, 2<<20)
			c, _ := listed(t, s.options())
			s.work.Go(func() { time.Sleep(at); c.Close() })
			var closed *netproto.ClosedError
			if err := s.fetch(c); !errors.As(err, &closed) || !errors.Is(err, net.ErrClosed) {
				t.Errorf("got %v", err)
			}
			c.Close()
			s.work.Wait()
		})
		bubble(t, fmt.Sprint("cancel at ", at), func(t *testing.T) {
			s := newThreads(t, 2<<20)
			c, _ := listed(t, s.options())
			ctx, cancel := context.WithTimeout(t.Context(), at)
			defer cancel()
			err := c.Fetch(ctx, []netproto.FetchRange{{Index: 10, Size: 2 << 20}}, func(int, []byte) error { return nil })
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			c.Close()
			s.work.Wait()
		})
	}
	bubble(t, "close while dialling", func(t *testing.T) {
		s := newThreads(t, 2<<20)
		opt := s.options()
		inner := opt.Dial
		opt.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if s.connections() > 1 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return inner(ctx, network, addr)
		}
		c, _ := listed(t, opt)
		if err := s.fetch(c); err != nil || s.answers(1) == 0 {
			t.Errorf("%v, %d answers", err, s.answers(1))
		}
		c.Close()
		s.work.Wait()
	})
	bubble(t, "a deliver that fails", func(t *testing.T) {
		s := newThreads(t, 2<<20)
		c, _ := listed(t, s.options())
		full, left := errors.New("disk full"), 100
		err := c.Fetch(t.Context(), []netproto.FetchRange{{Index: 10, Size: 2 << 20}}, func(int, []byte) error {
			if left--; left == 0 {
				return full
			}
			return nil
		})
		if err != full {
			t.Errorf("got %v", err)
		}
		c.Close()
		s.work.Wait()
	})
}
