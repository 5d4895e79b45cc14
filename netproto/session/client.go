package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/wire"
)

// Client is one session with an update server: hello, verdict, list, files.
//
//	Dial ── Judgement ─┬─ List ── Fetch ── Fetch … ─┬─ Close
//	                   └─ Object … (several at once) ─┘
//
// List and Fetch are for one goroutine at a time; Judgement and Close may be called at any time. A session has two
// goroutines, a reader and a writer, so that pings are answered while the caller processes data; Close waits for both.
// Received but undelivered data is bounded by the requested ranges.
//
// An error other than a misuse ends the session; later calls return the error that ended it.
type Client struct {
	opt         Options
	link        *link
	answer      *netproto.HandshakeAnswer // set before Dial returns
	judgement   compat.Judgement          // the same
	differences compat.Differences        // the same
	transfers   bool                      // the same
	offers      []Offer                   // what List returned
}

// Offer is one file of the server's list. Path is untrusted until release.CheckPath passed it.
type Offer struct {
	Path      string
	Size      int64    // bytes
	SHA256    [32]byte // if HasSHA256, which is always set in C1
	FNV       uint64   // FNV-1a-64 otherwise
	HasSHA256 bool
	Role      uint8  // release.Role: 0 resource, 1 binary; other roles are left out of the list
	Index     uint32 // for FetchRange, on this connection
}

// Dial connects and performs the handshake. It returns once the server has given its verdict, whatever that is. Errors
// are *UnreachableError, *ClosedError, *RefusedError, *FormatError, ctx's own, or a mistake in opt: an unsupported
// generation, an identity that can't be encoded, an incomplete manifest (a *compat.ManifestError).
func Dial(ctx context.Context, opt Options) (*Client, error) {
	opt = opt.withDefaults()
	if err := opt.Generation.Check(); err != nil {
		return nil, err
	}
	if err := opt.checkIdentity(); err != nil {
		return nil, err
	}
	attempt := open
	if opt.Auto {
		attempt = probe
	}
	c, err := attempt(ctx, opt)
	if err == nil && opt.OnVerdict != nil {
		opt.OnVerdict(c.judgement, c.differences)
	}
	return c, err
}

// open makes one attempt in the generation that opt names.
func open(ctx context.Context, opt Options) (*Client, error) {
	nc, err := opt.connect(ctx)
	if err != nil {
		return nil, err
	}
	l, err := newLink(opt, nc)
	if err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	c := &Client{opt: opt, link: l}
	l.start()
	if err := c.handshake(ctx); err != nil {
		_ = c.Close() // always nil
		return nil, err
	}
	return c, nil
}

// handshake sends the hello and reads the answer. An engine client's first ping follows at once, as recorded, unless the
// hello is an offer: then the answer decides the layout of a ping.
func (c *Client) handshake(ctx context.Context) error {
	l := c.link
	l.ledger.expect(replyKey{id: netproto.IDHandshakeAnswer}, reply{})
	if c.opt.Auto && c.opt.isTagged() {
		l.ledger.expect(replyKey{id: netproto.IDAskHello}, reply{})
	}
	hello, err := c.opt.hello(c.opt.Generation)
	if err != nil {
		return err // Dial has checked it: a bug
	}
	l.out.add(hello)
	if c.opt.Generation.Engine() && !c.opt.Auto {
		l.out.addPing()
	}
	got, err := l.await(ctx, l.answers)
	if err != nil {
		return err
	}
	g := c.Generation()
	if g.Engine() && c.opt.Auto {
		l.out.addPing()
	}
	c.answer = got.message.(*netproto.HandshakeAnswer)
	c.judgement, c.transfers = c.answer.Judgement(g), c.answer.Transfers(g)
	if c.transfers && !g.Engine() {
		l.requests = newRequests(l, c.answer)
	}
	c.opt.Log.Debug().Str("peer", c.opt.Addr).Str("target", c.opt.Target).Stringer("generation", g).
		Stringer("verdict", c.judgement.Verdict).Uint8("rule", uint8(c.judgement.Rule)).Msg("server answered")
	if c.opt.OnAnswer != nil && !g.Engine() { // of other generations may be tried
		c.opt.OnAnswer()
	}
	return c.exchange(ctx)
}

// Judgement is the server's verdict. A server of an engine generation gives UpdaterMismatch, UpdateBinaries,
// UpdateResources (G2b: the client's metadata is outdated) or Accept, without a rule and without its own compatibility
// version.
func (c *Client) Judgement() compat.Judgement { return c.judgement }

// Generation is the protocol version of this session.
func (c *Client) Generation() netproto.Generation { return c.link.conn.Generation() }

// Updater says which side is outdated after a verdict of UpdaterMismatch, as far as the answer tells. If a C1 server has
// an older minor version, the client waits for the server's update. Any other server needs a newer client. For an
// engine's server, which gives no version, and after other verdicts it is compat.UpdaterSame.
func (c *Client) Updater() compat.Updater {
	return updaterAfter(c.Generation(), c.judgement.Verdict, c.answer.Version)
}

// updaterAfter is Updater of an answer.
func updaterAfter(g netproto.Generation, v compat.Verdict, version uint32) compat.Updater {
	switch {
	case v != compat.UpdaterMismatch || g.Engine():
		return compat.UpdaterSame
	case version < netproto.VersionC1:
		return compat.UpdaterNewer
	default:
		return compat.UpdaterOlder
	}
}

// Metadata is the server's metadata version; only a server of G2b sends one.
func (c *Client) Metadata() string { return c.answer.Metadata }

// List returns the offered files in the server's order. After a verdict that forbids transfers it is an error.
func (c *Client) List(ctx context.Context) ([]Offer, error) {
	if err := c.mayTransfer(); err != nil || c.offers != nil {
		return c.offers, err
	}
	if c.link.omitsList(c.answer) {
		return nil, errUnlisted
	}
	got, err := c.link.await(ctx, c.link.lists)
	if err != nil {
		return nil, err
	}
	offers, err := offersOf(got.message, c.opt.Limits)
	if err != nil {
		c.link.end(err)
		return nil, err
	}
	c.offers = offers
	return offers, nil
}

// Transfers reports whether files may be listed and fetched: after a verdict for which AllowsTransfer is true, and under
// maintenance if the server allows prefetching.
func (c *Client) Transfers() bool { return c.transfers }

// mayTransfer returns an error if the verdict forbids transfers.
func (c *Client) mayTransfer() error {
	if !c.Transfers() {
		return fmt.Errorf("the server's verdict %v allows no transfer", c.judgement.Verdict)
	}
	return nil
}

// offersOf converts a list of either kind. The result is not nil.
func offersOf(m netproto.Message, lim netproto.Limits) ([]Offer, error) {
	offers := []Offer{}
	add := func(o Offer, size uint64) error {
		if size > math.MaxInt64 {
			return &netproto.FormatError{Message: m.ID(), Field: "size", Err: fmt.Errorf("%q: %w", o.Path, wire.TooLarge(size, math.MaxInt64))}
		}
		if o.Size = int64(size); o.Role <= maxRole {
			offers = append(offers, o)
		}
		return nil
	}
	switch m := m.(type) {
	case *netproto.InitData:
		entries, err := netproto.ParseDescriptor(m.Descriptor, lim)
		if err != nil {
			return nil, err
		}
		offers = make([]Offer, 0, len(entries))
		for _, e := range entries {
			if err := add(Offer{Path: e.Name, FNV: e.Hash, Role: e.Role, Index: e.Index}, e.Size); err != nil {
				return nil, err
			}
		}
	case *netproto.FileList:
		offers = make([]Offer, 0, len(m.Files))
		for _, f := range m.Files {
			if err := add(Offer{Path: f.Path, SHA256: f.SHA256, HasSHA256: true, Role: f.Role, Index: f.Index}, f.Size); err != nil {
				return nil, err
			}
		}
	}
	return offers, nil
}

// maxRole is the largest known role (docs/PROTOCOL.md).
const maxRole = 1

// Close ends the session and waits for its goroutines. Calls in progress return a *ClosedError. Closing again does nothing.
func (c *Client) Close() error {
	c.link.end(net.ErrClosed)
	c.link.work.Wait()
	return nil
}
