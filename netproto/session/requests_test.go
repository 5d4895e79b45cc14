package session_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/session"
)

// TestRequestsStayWithinTheBuffer withholds an answer: the client requests no more than its buffer, and goes on behind it.
func TestRequestsStayWithinTheBuffer(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		const buffer, portion = 1 << 20, 16 << 10
		files := []file{{"Core.zip", 0, numbered(8 << 20)}}
		most := int64(0)
		opt, wait := play(t, netproto.C1, func(p *peer) {
			p.answer(accept, portion, 256)
			p.list(files)
			var mu sync.Mutex
			var waiting []*netproto.GetRange
			var answering sync.WaitGroup
			defer answering.Wait()
			for m := p.next(); m != nil; m = p.next() {
				mu.Lock()
				waiting = append(waiting, m.(*netproto.GetRange))
				if len(waiting) == 1 {
					answering.Go(func() {
						time.Sleep(session.DefaultAnswerTimeout / 2)
						mu.Lock()
						batch, sum := waiting, int64(0)
						waiting = nil
						mu.Unlock()
						for _, w := range batch {
							sum += int64(w.Length)
						}
						most = max(most, sum)
						for _, w := range batch {
							p.say(rangeOf(files, w))
						}
					})
				}
				mu.Unlock()
			}
		})
		opt.Buffer, opt.Window = buffer, 256
		c, _ := listed(t, opt)
		if got := fetchAll(t, c, []session.FetchRange{{Index: 10, Size: 8 << 20}}); !bytes.Equal(got[0], files[0].data) {
			t.Errorf("%d bytes", len(got[0]))
		}
		c.Close()
		wait()
		if most != buffer {
			t.Errorf("%d bytes were requested at a time, with a buffer of %d", most, buffer)
		}
	})
}

// TestManyEmptyRanges fetches more empty ranges than are queued, between two files.
func TestManyEmptyRanges(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		files := []file{{"first", 0, numbered(100_000)}}
		for i := range 5000 {
			files = append(files, file{fmt.Sprint("empty", i), 0, nil})
		}
		files = append(files, file{"last", 0, numbered(200_000)})
		opt, wait := play(t, netproto.C1, func(p *peer) {
			p.answer(accept, 16<<10, 32)
			p.list(files)
			for m := p.next(); m != nil; m = p.next() {
				p.say(rangeOf(files, m.(*netproto.GetRange)))
			}
		})
		c, offers := listed(t, opt)
		var ranges []session.FetchRange
		for _, o := range offers {
			ranges = append(ranges, session.FetchRange{Index: o.Index, Size: o.Size})
		}
		next, sum := 0, 0
		err := c.Fetch(t.Context(), ranges, func(i int, data []byte) error {
			if i > next+1 || i < next {
				t.Fatalf("range %d behind %d", i, next)
			}
			next, sum = i, sum+len(data)
			return nil
		})
		if err != nil || next != len(files)-1 || sum != 300_000 {
			t.Errorf("%d bytes up to range %d, %v", sum, next, err)
		}
		c.Close()
		wait()
	})
}

// TestSpreadIsSkipped meets earlier servers: one connection serves all, whatever number they request, and however often.
func TestSpreadIsSkipped(t *testing.T) {
	for _, g := range []netproto.Generation{netproto.G1, netproto.C1} {
		bubble(t, g.String(), func(t *testing.T) {
			files := testFiles()
			opt, wait := play(t, g, func(p *peer) {
				request := func(n uint8) { p.say(&netproto.Unknown{Number: netproto.IDSpread, Body: []byte{n}}) }
				if g.Engine() {
					p.greet(accept)
				} else {
					p.answer(accept, 1000, 4)
					if p.hello.Capabilities&netproto.CapSpread != 0 {
						t.Error("the client offers several connections")
					}
					request(4)
				}
				p.list(files)
				request(0)
				request(8)
				p.serve(files, 1000)
			})
			dials, dial := 0, opt.Dial
			opt.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				dials++
				return dial(ctx, network, addr)
			}
			c, _ := listed(t, opt)
			if got := fetchAll(t, c, []session.FetchRange{{Index: 10, Size: int64(len(files[0].data))}}); !bytes.Equal(got[0], files[0].data) {
				t.Errorf("%d bytes", len(got[0]))
			}
			c.Close()
			wait()
			if dials != 1 {
				t.Errorf("%d connections", dials)
			}
		})
	}
}
