package server_test

import (
	"testing"
	"testing/synctest"

	"collet/netproto"
)

// stuck greets a C1 client and asks for a portion that it doesn't take, so that the session is held up in its first
// answer and only its reader goes on.
func stuck(t *testing.T, pipes *pipes) *peer {
	t.Helper()
	p := newPeer(t, pipes.connect(), netproto.C1)
	p.greet(hello(netproto.C1))
	p.send(&netproto.GetRange{Request: 1, Index: 1, Length: 1000})
	synctest.Wait()
	return p
}

func TestTooManyRequestsAreRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, h *house, pipes *pipes) {
		p := stuck(t, pipes)
		for i := range uint32(33) { // 32 may wait; the first one is being answered already
			p.send(&netproto.GetRange{Request: 2 + i, Index: 1, Length: 1000})
		}
		synctest.Wait() // the reader has seen them all
		for i := range uint32(33) {
			if got := next[*netproto.RangeData](p); got.Request != 1+i {
				t.Errorf("answer to %d, want %d", got.Request, 1+i)
			}
		}
		p.refused(netproto.C1, netproto.RefuseTooMany, 34)
		h.log.has(t, "warn", "more requests unanswered than allowed")
	})
}

func TestClientWithoutPipeliningMayNotPipeline(t *testing.T) {
	inBubble(t, func(t *testing.T, h *house, pipes *pipes) {
		p := newPeer(t, pipes.connect(), netproto.C1)
		m := hello(netproto.C1)
		m.Capabilities = 0
		p.greet(m)
		for i := range uint32(20) { // one after the other is what it was told
			p.send(&netproto.GetRange{Request: i, Index: 1, Length: 1000})
			next[*netproto.RangeData](p)
		}
		for i := range uint32(3) { // one is being answered, one may wait
			p.send(&netproto.GetRange{Request: 100 + i, Index: 1, Length: 1000})
			synctest.Wait()
		}
		next[*netproto.RangeData](p)
		next[*netproto.RangeData](p)
		p.refused(netproto.C1, netproto.RefuseTooMany, 102)
	})
}

func TestSecondPingQuestionIsAFaultInOurGeneration(t *testing.T) {
	inBubble(t, func(t *testing.T, h *house, pipes *pipes) {
		p := stuck(t, pipes)
		p.send(&netproto.Ping{})
		p.send(&netproto.Ping{})
		synctest.Wait() // the reader has seen both
		next[*netproto.RangeData](p)
		if !next[*netproto.Ping](p).Answer {
			t.Error("a question for a question")
		}
		p.refused(netproto.C1, netproto.RefuseMalformed, 0)
		h.log.has(t, "warn", "a second ping question before the first was answered")
	})
}
