package session_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"math"
	"math/rand/v2"
	"net"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/session"
)

// bubble runs a subtest in fake time; it ends only when every goroutine has.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

var accept = compat.Judgement{Verdict: compat.Accept}

// testFiles are larger than a portion, smaller, empty, and of both roles.
func testFiles() []file {
	random := rand.New(rand.NewPCG(3, 4))
	big := make([]byte, 100_123)
	for i := range big {
		big[i] = byte(random.Uint32())
	}
	return []file{
		{"Core.zip", 0, big}, {"Empty.zip", 0, nil}, {"Game.so", 1, big[:700]}, {"Future.bin", 2, big[:5]}, {"sub/Tiny.zip", 0, big[:1]},
	}
}

// TestSession takes a whole update: verdict, list, and files from their start, their middle and their end.
func TestSession(t *testing.T) {
	everyGeneration(t, func(t *testing.T, g netproto.Generation) {
		files := testFiles()
		judgement := compat.Judgement{Verdict: compat.UpdateBinaries, Rule: compat.RuleString, Compatibility: "compat-B"}
		var seen *peer
		opt, wait := play(t, g, func(p *peer) {
			seen = p
			p.greet(judgement)
			p.list(files)
			p.serve(files, 1000)
		})
		c, offers := listed(t, opt)
		if g.Engine() {
			judgement = compat.Judgement{Verdict: compat.UpdateBinaries}
		}
		if c.Judgement() != judgement {
			t.Errorf("judgement %+v, want %+v", c.Judgement(), judgement)
		}
		checkOffers(t, g, offers, files)
		if again, err := c.List(t.Context()); err != nil || !reflect.DeepEqual(again, offers) {
			t.Errorf("listed again: %v, %v", again, err)
		}
		reqs := []session.FetchRange{
			{Index: 10, Size: 100_123}, {Index: 11}, {Index: 12, Offset: 699, Size: 700},
			{Index: 12, Offset: 700, Size: 700}, {Index: 10, Offset: 50_000, Size: 100_123}, {Index: 14, Size: 1},
			{Index: 10, Offset: 0, End: 1, Size: 100_123}, {Index: 10, Offset: 999, End: 3001, Size: 100_123},
			{Index: 10, Offset: 5000, End: 5000, Size: 100_123}, {Index: 10, Offset: 100_000, End: 100_123, Size: 100_123},
		}
		got := fetchAll(t, c, reqs)
		for i, r := range reqs {
			end := r.End
			if end == 0 {
				end = r.Size
			}
			if want := files[r.Index-10].data[r.Offset:end]; !bytes.Equal(got[i], want) {
				t.Errorf("range %d: %d bytes, want %d", i, len(got[i]), len(want))
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		wait()
		if seen.hello.Compatibility != "compat-A" || seen.hello.Target != "Linux-x64" || seen.hello.Version != g.Version() {
			t.Errorf("hello %+v", seen.hello)
		}
	})
}

func checkOffers(t *testing.T, g netproto.Generation, offers []session.Offer, files []file) {
	t.Helper()
	var want []session.Offer
	for i, f := range files {
		if f.role > 1 {
			continue // an unknown role is left out
		}
		o := session.Offer{Path: f.path, Size: int64(len(f.data)), Role: f.role, Index: uint32(10 + i)}
		if g.Engine() {
			o.FNV = f.fnv()
		} else {
			o.SHA256, o.HasSHA256 = sha256.Sum256(f.data), true
		}
		want = append(want, o)
	}
	if !reflect.DeepEqual(offers, want) {
		t.Errorf("offers\n%+v\nwant\n%+v", offers, want)
	}
}

// fetchAll collects every range and checks the order of delivery and that each range is delivered at all.
func fetchAll(t *testing.T, c *session.Client, reqs []session.FetchRange) [][]byte {
	t.Helper()
	got, calls, last := make([][]byte, len(reqs)), make([]int, len(reqs)), 0
	err := c.Fetch(t.Context(), reqs, func(i int, data []byte) error {
		if i < last || i > last+1 {
			t.Errorf("range %d is delivered behind range %d", i, last)
		}
		if len(data) == 0 && data != nil {
			t.Error("no bytes are not nil")
		}
		last = i
		calls[i]++
		got[i] = append(got[i], data...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range reqs {
		if calls[i] == 0 || (r.Offset == r.Size || r.End > 0 && r.Offset == r.End) && calls[i] > 1 {
			t.Errorf("range %d was delivered %d times", i, calls[i])
		}
	}
	return got
}

// TestEngineRequestsAsRecorded compares an engine server's view with the recorded exchange: exactly one request for each
// portion, and one for an empty range.
func TestEngineRequestsAsRecorded(t *testing.T) {
	bubble(t, "G1", func(t *testing.T) {
		files := []file{{"a", 0, make([]byte, 257)}, {"b", 0, make([]byte, 1016)}, {"c", 1, nil}, {"d", 0, make([]byte, 5)}}
		var asked []netproto.GetUpdateFile
		opt, wait := play(t, netproto.G1, func(p *peer) {
			p.greet(accept)
			p.list(files)
			for m := p.next(); m != nil; m = p.next() {
				request := m.(*netproto.GetUpdateFile)
				asked = append(asked, *request)
				data := files[request.Index-10].data[request.Offset:]
				p.say(&netproto.UpdateFileData{Data: data[:min(len(data), 1000)]})
			}
		})
		c, _ := listed(t, opt)
		fetchAll(t, c, []session.FetchRange{{Index: 10, Size: 257}, {Index: 11, Size: 1016}, {Index: 12}, {Index: 13, Offset: 5, Size: 5}})
		c.Close()
		wait()
		want := []netproto.GetUpdateFile{{Index: 10}, {Index: 11}, {Index: 11, Offset: 1000}, {Index: 12}, {Index: 13, Offset: 5}}
		if !reflect.DeepEqual(asked, want) {
			t.Errorf("asked %v, want %v", asked, want)
		}
	})
}

// TestWindow checks the number of outstanding requests, that they span files, and that answers may come in any order.
func TestWindow(t *testing.T) {
	for _, test := range []struct {
		name         string
		capabilities uint32
		maxInFlight  uint16
		window       int // the client's own
		want         int
	}{
		{"the server's limit", netproto.CapPipeline, 3, 32, 3},
		{"ours", netproto.CapPipeline, 1000, 5, 5},
		{"no capability", 0, 8, 32, 1},
		{"an unknown capability more", netproto.CapPipeline | 1<<31, 2, 32, 2},
	} {
		bubble(t, test.name, func(t *testing.T) {
			files := testFiles()
			most, total := 0, 0
			opt, wait := play(t, netproto.C1, func(p *peer) {
				m, err := p.conn.Read()
				if err != nil || m.(*netproto.Handshake).Capabilities != netproto.CapPipeline {
					t.Errorf("hello %+v, %v", m, err)
				}
				answer := netproto.NewAnswer(accept)
				answer.Capabilities, answer.MaxInFlight, answer.MaxPortion = test.capabilities, test.maxInFlight, 1000
				p.say(answer)
				p.list(files)
				most, total = answerBackwards(t, p, files)
			})
			opt.Window = test.window
			c, _ := listed(t, opt)
			reqs := []session.FetchRange{{Index: 10, Size: 100_123}, {Index: 14, Size: 1}, {Index: 12, Size: 700}, {Index: 11}, {Index: 10, Offset: 99_000, Size: 100_123}}
			for i, got := range fetchAll(t, c, reqs) {
				if !bytes.Equal(got, files[reqs[i].Index-10].data[reqs[i].Offset:]) {
					t.Errorf("range %d is damaged", i)
				}
			}
			c.Close()
			wait()
			if most != test.want {
				t.Errorf("%d requests unanswered at most, want %d", most, test.want)
			}
			if want := 101 + 1 + 1 + 0 + 2; total != want {
				t.Errorf("%d requests in all, want %d", total, want)
			}
		})
	}
}

// answerBackwards collects requests until the client waits, and answers the last one first.
func answerBackwards(t *testing.T, p *peer, files []file) (most, total int) {
	requests := make(chan *netproto.GetRange)
	go func() {
		defer close(requests)
		for m := p.next(); m != nil; m = p.next() {
			requests <- m.(*netproto.GetRange)
		}
	}()
	var pending []*netproto.GetRange
	for {
		select {
		case m, open := <-requests:
			if !open {
				return most, total
			}
			pending, total = append(pending, m), total+1
			most = max(most, len(pending))
		case <-time.After(time.Millisecond):
			if last := len(pending) - 1; last >= 0 {
				p.say(rangeOf(files, pending[last]))
				pending = pending[:last]
			}
		}
	}
}

// TestPace covers how requests are sized.
func TestPace(t *testing.T) {
	tests := []struct {
		window, buffer, frame int
		maxInFlight           uint16
		maxPortion            uint32
		wantWindow            int
		wantPortion           int64
	}{
		{32, 8 << 20, 32 << 20, 32, 1_000_000, 32, 256 << 10},
		{32, 8 << 20, 32 << 20, 8, 5_000_000, 8, 1 << 20},
		{32, 8 << 20, 32 << 20, 8, 1_000_000, 8, 1_000_000},
		{32, 8 << 20, 32 << 20, 1, 1 << 30, 1, 1 << 20},
		{1000, 1 << 20, 32 << 20, 1000, 1 << 30, 1000, 16 << 10},
		{32, 8 << 20, 1025, 32, 1 << 30, 32, 1000},
		{32, 8 << 20, 32 << 20, 32, 1, 32, 1},
	}
	for _, test := range tests {
		opt := session.Options{Window: test.window, Buffer: test.buffer, Limits: netproto.Limits{Frame: test.frame}}
		answer := &netproto.HandshakeAnswer{Capabilities: netproto.CapPipeline, MaxInFlight: test.maxInFlight, MaxPortion: test.maxPortion}
		if w, p := session.RequestBounds(opt, answer); w != test.wantWindow || p != test.wantPortion {
			t.Errorf("%+v: %d requests of %d bytes", test, w, p)
		}
	}
}

// TestRefusedVerdicts checks that listing and fetching fail after a verdict that forbids them, and that the server's
// close afterwards is no error of Dial.
func TestRefusedVerdicts(t *testing.T) {
	for v := compat.UpdateViaStore; v <= compat.Maintenance; v++ {
		bubble(t, v.String(), func(t *testing.T) {
			opt, wait := play(t, netproto.C1, func(p *peer) {
				p.answer(compat.Judgement{Verdict: v, Rule: compat.RuleMaintenance, Compatibility: "B", RetryAfter: 60}, 0, 0)
			})
			c := connect(t, opt)
			defer wait()
			defer c.Close()
			want := compat.Judgement{Verdict: v, Rule: compat.RuleMaintenance, Compatibility: "B", RetryAfter: 60}
			if c.Judgement() != want {
				t.Errorf("judgement %+v", c.Judgement())
			}
			if _, err := c.List(t.Context()); err == nil || !strings.Contains(err.Error(), v.String()) {
				t.Errorf("list: %v", err)
			}
			if err := c.Fetch(t.Context(), nil, nil); err == nil {
				t.Error("fetched")
			}
		})
	}
	bubble(t, "G1", func(t *testing.T) {
		opt, wait := play(t, netproto.G1, func(p *peer) {
			p.greet(compat.Judgement{Verdict: compat.UpdaterMismatch})
			p.say(&netproto.Disconnect{})
			p.waitForClient()
		})
		c := connect(t, opt)
		if c.Judgement().Verdict != compat.UpdaterMismatch {
			t.Errorf("judgement %+v", c.Judgement())
		}
		c.Close()
		wait()
	})
}

// TestDialNeedsASpokenGeneration checks that an unsupported generation is not dialled, and that C1 is the default.
func TestDialNeedsASpokenGeneration(t *testing.T) {
	opt := session.Options{Addr: "x:1", Dial: func(context.Context, string, string) (net.Conn, error) {
		t.Error("dialled")
		return nil, errors.New("no")
	}}
	for _, g := range []netproto.Generation{5, 9} {
		opt.Generation = g
		if _, err := session.Dial(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "not spoken") {
			t.Errorf("%v: %v", g, err)
		}
	}
	bubble(t, "default", func(t *testing.T) {
		opt, wait := play(t, 0, func(p *peer) { p.greet(accept); p.list(nil); p.waitForClient() })
		c, offers := listed(t, opt)
		if len(offers) != 0 {
			t.Errorf("offers %v", offers)
		}
		c.Close()
		wait()
	})
}

// TestRangesAskForNoMore counts the requested bytes when only parts of a file are missing: exactly those in C1, and in
// an engine generation no portion after the last needed one.
func TestRangesAskForNoMore(t *testing.T) {
	ask := []session.FetchRange{
		{Index: 10, Offset: 100, End: 2350, Size: 100_123}, {Index: 10, Offset: 99_000, End: 100_123, Size: 100_123}, {Index: 12, Offset: 1, End: 2, Size: 700},
	}
	everyGeneration(t, func(t *testing.T, g netproto.Generation) {
		files := testFiles()
		requests, bytesAsked := 0, 0
		opt, wait := play(t, g, func(p *peer) {
			p.greet(accept)
			p.list(files)
			for m := p.next(); m != nil; m = p.next() {
				requests++
				switch m := m.(type) {
				case *netproto.GetRange:
					bytesAsked += int(m.Length)
					p.say(rangeOf(files, m))
				case *netproto.GetUpdateFile:
					data := files[m.Index-10].data[m.Offset:]
					p.say(&netproto.UpdateFileData{Data: data[:min(len(data), 1000)]})
				}
			}
		})
		c, _ := listed(t, opt)
		for i, got := range fetchAll(t, c, ask) {
			if want := files[ask[i].Index-10].data[ask[i].Offset:ask[i].End]; !bytes.Equal(got, want) {
				t.Errorf("range %d: %d bytes, want %d", i, len(got), len(want))
			}
		}
		c.Close()
		wait()
		if want := 2250 + 1123 + 1; !g.Engine() && bytesAsked != want {
			t.Errorf("asked for %d bytes, want %d", bytesAsked, want)
		}
		if want := 3 + 2 + 1; g.Engine() && requests != want {
			t.Errorf("%d portions asked for, want %d", requests, want)
		}
	})
}

// TestFetchChecksItsRanges: invalid ranges send nothing, and the session continues.
func TestFetchChecksItsRanges(t *testing.T) {
	everyGeneration(t, func(t *testing.T, g netproto.Generation) {
		files := testFiles()
		opt, wait := play(t, g, func(p *peer) { p.greet(accept); p.list(files); p.serve(files, 1000) })
		c, _ := listed(t, opt)
		for _, bad := range []session.FetchRange{{Offset: -1, Size: 5}, {Offset: 6, Size: 5}, {Offset: math.MinInt64, Size: math.MaxInt64}, {Size: -1},
			{Size: 5, End: 6}, {Size: 5, End: -1}, {Offset: 4, Size: 5, End: 3}, {Offset: 1, Size: 5, End: math.MinInt64}} {
			if err := c.Fetch(t.Context(), []session.FetchRange{{Index: 12, Size: 700}, bad}, nil); err == nil {
				t.Errorf("%+v was taken", bad)
			}
		}
		if err := c.Fetch(t.Context(), nil, nil); err != nil {
			t.Errorf("no ranges: %v", err)
		}
		if got := fetchAll(t, c, []session.FetchRange{{Index: 12, Size: 700}}); len(got[0]) != 700 {
			t.Errorf("%d bytes", len(got[0]))
		}
		c.Close()
		wait()
	})
}
