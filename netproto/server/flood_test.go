package server_test

import (
	"testing"
	"testing/synctest"

	"collet/netproto"
	"collet/netproto/server/servertest"
)

// stuck greets a C1 client and asks for a portion that it doesn't take, so that the session is held up in its first
// answer and only its reader goes on.
func stuck(t *testing.T, pipes *pipes) *servertest.Peer {
	t.Helper()
	p := servertest.NewPeer(t, pipes.connect(), netproto.C1)
	p.Greet(servertest.Handshake(netproto.C1))
	p.Send(&netproto.GetRange{Request: 1, Index: 1, Length: 1000})
	synctest.Wait()
	return p
}

func TestTooManyRequestsAreRefused(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *servertest.Server, pipes *pipes) {
		p := stuck(t, pipes)
		for i := range uint32(33) { // 32 may wait; the first one is being answered already
			p.Send(&netproto.GetRange{Request: 2 + i, Index: 1, Length: 1000})
		}
		synctest.Wait() // the reader has seen them all
		for i := range uint32(33) {
			if got := servertest.Next[*netproto.RangeData](p); got.Request != 1+i {
				t.Errorf("answer to %d, want %d", got.Request, 1+i)
			}
		}
		expectRefusal(p, netproto.C1, netproto.RefuseTooMany, 34)
		h.Log.Has(t, "warn", "more requests unanswered than allowed")
	})
}

func TestClientWithoutPipeliningMayNotPipeline(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *servertest.Server, pipes *pipes) {
		p := servertest.NewPeer(t, pipes.connect(), netproto.C1)
		m := servertest.Handshake(netproto.C1)
		m.Capabilities = 0
		p.Greet(m)
		for i := range uint32(20) { // one after the other is what it was told
			p.Send(&netproto.GetRange{Request: i, Index: 1, Length: 1000})
			servertest.Next[*netproto.RangeData](p)
		}
		for i := range uint32(3) { // one is being answered, one may wait
			p.Send(&netproto.GetRange{Request: 100 + i, Index: 1, Length: 1000})
			synctest.Wait()
		}
		servertest.Next[*netproto.RangeData](p)
		servertest.Next[*netproto.RangeData](p)
		expectRefusal(p, netproto.C1, netproto.RefuseTooMany, 102)
	})
}

func TestSecondPingQuestionIsAFaultInOurGeneration(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *servertest.Server, pipes *pipes) {
		p := stuck(t, pipes)
		p.Send(&netproto.Ping{})
		p.Send(&netproto.Ping{})
		synctest.Wait() // the reader has seen both
		servertest.Next[*netproto.RangeData](p)
		if !servertest.Next[*netproto.Ping](p).Answer {
			t.Error("a question for a question")
		}
		expectRefusal(p, netproto.C1, netproto.RefuseMalformed, 0)
		h.Log.Has(t, "warn", "a second ping question before the first was answered")
	})
}
