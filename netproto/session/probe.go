package session

import (
	"context"
	"errors"
	"io"
	"syscall"

	"collet/netproto"
	"collet/netproto/compat"
)

// A client that does not know its server's generation tries one after the other, each on a new connection. Every hello
// is an offer of C1 (netproto.OfferKey), so the first one finds our servers. Reactions of the engine's servers to a hello of
// another generation (docs/PROTOCOL.md):
//
//	hello        G1 server            G2a server           G2b server
//	G2a          updater outdated     its own              closes at once: a string goes beyond the end
//	G1           its own              updater outdated     closes at once
//	G2b          answers, may crash   updater outdated     its own
//
// So the layout that G1 and G2a share comes first, and that of G2b only if a server closed without an answer. A real C1
// hello is never tried: engine servers read its beginning as a string length of 1.1 GB, and old ones allocate it.
const firstProbe = netproto.G2a

// probe detects the generation. It makes at most one attempt in each engine generation: two for a new server, and three
// for a server that has changed its generation.
func probe(ctx context.Context, opt Options) (*Client, error) {
	tried := map[netproto.Generation]bool{}
	for {
		g := opt.Generation
		tried[g] = true
		c, err := open(ctx, opt)
		next := probeAfter(g, c, err)
		if next == 0 || tried[next] || ctx.Err() != nil {
			return c, err
		}
		opt.Log.Debug().Str("peer", opt.Addr).Stringer("generation", g).Stringer("next", next).AnErr("error", err).Msg("not the server's generation")
		if c != nil {
			_ = c.Close() // always nil
		}
		opt.Generation = next
	}
}

// probeAfter returns the next generation to try after an attempt in g with this result; 0 is none.
func probeAfter(g netproto.Generation, c *Client, err error) netproto.Generation {
	switch {
	case err == nil && (!c.Generation().Engine() || c.judgement.Verdict != compat.UpdaterMismatch):
		return 0
	case err == nil && g == netproto.G1:
		return netproto.G2a
	case err == nil && g == netproto.G2a:
		return netproto.G1
	case err == nil:
		return 0 // a later version of G2b's layout
	case g == netproto.G2b && (unanswered(err) || misread(err)):
		return netproto.G2a
	case unanswered(err):
		return netproto.G2b
	default:
		return 0
	}
}

// unanswered reports whether the server closed the connection instead of answering. It is false for silence and network
// failures, which another hello would not fix.
func unanswered(err error) bool {
	var closed *ClosedError
	if !errors.As(err, &closed) || closed.Answered {
		return false
	}
	return errors.Is(closed, io.EOF) || errors.Is(closed, io.ErrClosedPipe) || errors.Is(closed, syscall.ECONNRESET) || errors.Is(closed, syscall.EPIPE)
}

// misread reports whether the answer has another layout.
func misread(err error) bool {
	var format *netproto.FormatError
	return errors.As(err, &format) && format.Message == netproto.IDHandshakeAnswer
}
