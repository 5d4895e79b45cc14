package netproto

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"time"

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
	opt         ClientOptions
	stream      *idleConn
	conn        *Conn
	out         *outbox
	ledger      ledger
	answer      *HandshakeAnswer   // set before Dial returns
	judgement   compat.Judgement   // the same
	differences compat.Differences // the same
	transfers   bool               // the same
	offers      []Offer            // what List returned
	requests    requests
	idleBytes   float64   // of unsolicited messages, see idle; for the reader only
	idleAt      time.Time // when idleBytes was computed

	greeting chan arrival
	manifest chan arrival
	list     chan arrival
	data     chan arrival

	once sync.Once
	err  error         // what ended the session; read after done
	done chan struct{} // closed when the session has ended
	work sync.WaitGroup
}

// arrival is a requested message, with the buffer that holds its bytes.
type arrival struct {
	message Message
	frame   []byte
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
func Dial(ctx context.Context, opt ClientOptions) (*Client, error) {
	opt = opt.withDefaults()
	if err := opt.Generation.check(); err != nil {
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
func open(ctx context.Context, opt ClientOptions) (*Client, error) {
	nc, err := opt.connect(ctx)
	if err != nil {
		return nil, err
	}
	c, err := newClient(opt, nc)
	if err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	c.start()
	if err := c.shake(ctx); err != nil {
		_ = c.Close() // always nil
		return nil, err
	}
	return c, nil
}

func newClient(opt ClientOptions, nc net.Conn) (*Client, error) {
	c := &Client{opt: opt, stream: &idleConn{Conn: nc, idle: opt.IdleTimeout}, out: newOutbox(), done: make(chan struct{})}
	c.greeting, c.manifest, c.list = make(chan arrival, 1), make(chan arrival, 1), make(chan arrival, 1)
	c.data = make(chan arrival, opt.Window)
	c.conn = NewConn(c.stream, ClientSide, opt.Limits)
	c.conn.in.spare.keep, c.conn.in.offering = opt.Window, opt.Auto && opt.Generation.Engine()
	return c, c.conn.SetGeneration(opt.Generation)
}

// shake sends the hello and reads the answer. An engine client's first ping follows at once, as recorded, unless the
// hello is an offer: then the answer decides the layout of a ping.
func (c *Client) shake(ctx context.Context) error {
	c.ledger.expect(ask{id: IDHandshakeAnswer}, due{})
	if c.opt.Auto && c.opt.says() {
		c.ledger.expect(ask{id: IDAskHello}, due{})
	}
	hello, err := c.hello(c.opt.Generation)
	if err != nil {
		return err // Dial has checked it: a bug
	}
	c.out.add(hello)
	if c.opt.Generation.Engine() && !c.opt.Auto {
		c.out.question()
	}
	got, err := c.await(ctx, c.greeting)
	if err != nil {
		return err
	}
	g := c.Generation()
	if g.Engine() && c.opt.Auto {
		c.out.question()
	}
	c.answer = got.message.(*HandshakeAnswer)
	c.judgement, c.transfers = c.answer.Judgement(g), c.answer.Transfers(g)
	c.opt.Log.Debug().Str("peer", c.opt.Addr).Str("target", c.opt.Target).Stringer("generation", g).
		Stringer("verdict", c.judgement.Verdict).Uint8("rule", uint8(c.judgement.Rule)).Msg("server answered")
	return c.exchange(ctx)
}

// hello returns this client's hello in g.
func (c *Client) hello(g Generation) (*Handshake, error) {
	hello := &Handshake{Version: g.Version(), Compatibility: c.opt.Compatibility, Target: c.opt.Target}
	if g.Metadata() && !c.opt.Auto {
		hello.Metadata = c.opt.Metadata
	}
	switch {
	case !g.Engine():
		hello.Capabilities = c.opt.capabilities()
		if c.opt.says() {
			return hello, hello.Say(*c.opt.Identity)
		}
	case c.opt.Auto:
		hello.Key = offerKey(c.opt.offered())
	default:
		hello.Key = c.opt.newKey()
	}
	return hello, nil
}

// Judgement is the server's verdict. A server of an engine generation gives UpdaterMismatch, UpdateBinaries,
// UpdateResources (G2b: the client's metadata is outdated) or Accept, without a rule and without its own compatibility
// version.
func (c *Client) Judgement() compat.Judgement { return c.judgement }

// Generation is the protocol version of this session.
func (c *Client) Generation() Generation { return c.conn.Generation() }

// Metadata is the server's metadata version; only a server of G2b sends one.
func (c *Client) Metadata() string { return c.answer.Metadata }

// List returns the offered files in the server's order. After a verdict that forbids transfers it is an error.
func (c *Client) List(ctx context.Context) ([]Offer, error) {
	if err := c.mayTransfer(); err != nil || c.offers != nil {
		return c.offers, err
	}
	if c.unlisted(c.answer) {
		return nil, errUnlisted
	}
	got, err := c.await(ctx, c.list)
	if err != nil {
		return nil, err
	}
	offers, err := c.offersOf(got.message)
	if err != nil {
		c.end(err)
		return nil, err
	}
	c.offers = offers
	return offers, nil
}

// Transfers reports whether files may be listed and fetched: after a verdict for which AllowsTransfer is true, and under
// maintenance if the server allows prefetching.
func (c *Client) Transfers() bool { return c.transfers }

// mayTransfer is the error of calls that the verdict forbids.
func (c *Client) mayTransfer() error {
	if !c.Transfers() {
		return fmt.Errorf("the server's verdict %v allows no transfer", c.judgement.Verdict)
	}
	return nil
}

// offersOf converts a list of either kind. The result is not nil.
func (c *Client) offersOf(m Message) ([]Offer, error) {
	offers := []Offer{}
	add := func(o Offer, size uint64) error {
		if size > math.MaxInt64 {
			return &FormatError{Message: m.ID(), Field: "size", Err: fmt.Errorf("%q: %w", o.Path, wire.TooLarge(size, math.MaxInt64))}
		}
		if o.Size = int64(size); o.Role <= maxRole {
			offers = append(offers, o)
		}
		return nil
	}
	switch m := m.(type) {
	case *InitData:
		entries, err := ParseDescriptor(m.Descriptor, c.opt.Limits)
		if err != nil {
			return nil, err
		}
		offers = make([]Offer, 0, len(entries))
		for _, e := range entries {
			if err := add(Offer{Path: e.Name, FNV: e.Hash, Role: e.Role, Index: e.Index}, e.Size); err != nil {
				return nil, err
			}
		}
	case *FileList:
		offers = make([]Offer, 0, len(m.Files))
		for _, f := range m.Files {
			if err := add(Offer{Path: f.Path, SHA256: f.SHA256, HasSHA256: true, Role: f.Role, Index: f.Index}, f.Size); err != nil {
				return nil, err
			}
		}
	}
	return offers, nil
}

// maxRole is the largest known role (fonline reference, section 2.5).
const maxRole = 1

// Close ends the session and waits for its goroutines. Calls in progress return a *ClosedError. Closing again does nothing.
func (c *Client) Close() error {
	c.end(net.ErrClosed)
	c.work.Wait()
	return nil
}
