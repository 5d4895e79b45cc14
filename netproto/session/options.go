package session

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/dial"
)

// Defaults of Options.
const (
	// DefaultPingPeriod is the interval of pings, as of the engine's clients (ClientNetwork.PingPeriod;
	// docs/PROTOCOL.md, "G1").
	DefaultPingPeriod = 2000 * time.Millisecond
	// DefaultIdleTimeout is the silence after which the connection counts as broken. A live server answers a ping every
	// two seconds, and sends its own every ten.
	DefaultIdleTimeout = 30 * time.Second
	// DefaultAnswerTimeout is how long a server that answers pings may leave another request unanswered. A disk that has
	// to spin up, or a server that hashes, takes seconds.
	DefaultAnswerTimeout = 60 * time.Second
	// DefaultWindow is the largest number of outstanding requests of C1.
	DefaultWindow = 32
	// DefaultBuffer is the largest number of bytes of C1 in flight or buffered. 24 MiB fill a link of 2 Gbit/s with a
	// round trip of 100 ms, and are three eighths of a client's memory limit.
	DefaultBuffer = 24 << 20
)

// writeGrace is how long a client continues to read after a failed write, to receive the server's reason.
const writeGrace = 2 * time.Second

// Options configure a session. The zero value of every field but Addr is a sensible default.
type Options struct {
	Addr          string              // host:port
	Generation    netproto.Generation // 0 is C1; an unsupported one is an error. Don't use C1 with an engine server: see docs/PROTOCOL.md
	Auto          bool                // detect the generation, safely for any server; Generation is the first to try, if known
	Compatibility string              // gameplay compatibility version of the client's module
	Metadata      string              // G2b: metadata version of the client's packs; empty if unknown. Not sent with Auto: older servers would read it as lengths
	Target        string              // see product.TargetFor

	// Identity describes the client's build, in C1; without it a server knows only Compatibility. Manifest is sent to a
	// developer's server if components differ; it must be complete and checked, and is read-only. Either may be nil; a
	// manifest alone is an identity, too.
	Identity *netproto.HelloTags
	Manifest *compat.Manifest
	// OnVerdict is called once by Dial, before it returns, with the later results of Judgement and Differences; nil means no callback.
	OnVerdict func(compat.Judgement, compat.Differences)
	// OnAnswer is called once by Dial when a server has given its verdict in C1: manifests may follow it, which takes some seconds. Nil means
	// no callback.
	OnAnswer func()

	// Dial makes the connection, as dial.Dialer.DialContext does; nil is an ordinary TCP dialer. network is always "tcp".
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	Log  zerolog.Logger

	Limits         netproto.Limits // caps on the server's messages; zero fields are DefaultClientLimits
	ConnectTimeout time.Duration   // 0 is dial.ConnectTimeout
	PingPeriod     time.Duration   // 0 is DefaultPingPeriod
	IdleTimeout    time.Duration   // 0 is DefaultIdleTimeout
	AnswerTimeout  time.Duration   // 0 is DefaultAnswerTimeout; checked when the next ping is answered
	Window         int             // C1: outstanding requests at most; 0 is DefaultWindow
	Buffer         int             // C1: bytes requested and not delivered at most; 0 is DefaultBuffer
	Objects        bool            // C1: the client may request files of the server's release folder, see Client.Object
	Unlisted       bool            // C1: the same, and servers with objects need not send a list; then List is an error
	RequestSize    *RequestSize    // C1: request sizes proven in earlier sessions with this server; may be nil

	NewKey func() uint32 // draws the keys of engine generations, for recorded ones; nil is netproto.NewKey
}

// withDefaults fills in the zero fields.
func (o Options) withDefaults() Options {
	if o.Generation == 0 {
		o.Generation = netproto.C1
	}
	if o.Auto && !o.Generation.Engine() {
		o.Generation = firstProbe
	}
	if o.NewKey == nil {
		o.NewKey = netproto.NewKey
	}
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	o.Limits = o.Limits.OrDefault(netproto.ClientSide)
	for _, d := range []struct {
		own      *time.Duration
		fallback time.Duration
	}{
		{&o.ConnectTimeout, dial.ConnectTimeout}, {&o.PingPeriod, DefaultPingPeriod},
		{&o.IdleTimeout, DefaultIdleTimeout}, {&o.AnswerTimeout, DefaultAnswerTimeout},
	} {
		if *d.own <= 0 {
			*d.own = d.fallback
		}
	}
	if o.Window <= 0 {
		o.Window = DefaultWindow
	}
	if o.Buffer <= 0 {
		o.Buffer = DefaultBuffer
	}
	return o.completeIdentity()
}

// connect dials within the time allowed.
func (o Options) connect(ctx context.Context) (net.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, o.ConnectTimeout)
	defer cancel()
	nc, err := o.Dial(limited, "tcp", o.Addr)
	if err == nil {
		return nc, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, &UnreachableError{Addr: o.Addr, Err: err}
}

// capabilities returns the capabilities for a hello of C1.
func (o Options) capabilities() uint32 {
	can := netproto.CapPipeline
	switch {
	case o.Unlisted:
		can |= netproto.CapObjects | netproto.CapUnlisted
	case o.Objects:
		can |= netproto.CapObjects
	}
	return can
}

// completeIdentity completes the client's identity. It does not modify data shared with the caller.
func (o Options) completeIdentity() Options {
	if o.Identity == nil && o.Manifest == nil {
		return o
	}
	said := netproto.HelloTags{}
	switch {
	case o.Identity != nil:
		said = *o.Identity
	default:
		said.Build = o.Manifest.Build
	}
	said.Flags &^= compat.FlagManifest
	if o.Manifest != nil {
		said.Flags |= compat.FlagManifest
		said.Count = uint16(min(len(o.Manifest.Entries), compat.MaxEntries))
	}
	o.Identity = &said
	return o
}

// checkIdentity returns an error for an identity that can't be encoded or is inconsistent: a manifest that is incomplete or of another build.
func (o Options) checkIdentity() error {
	if o.Identity == nil {
		return nil
	}
	if err := o.Identity.Check(); err != nil || o.Manifest == nil {
		return err
	}
	if _, err := netproto.NewComponentManifest(o.Manifest, compat.ManifestFull); err != nil {
		return err
	}
	if ours := o.Manifest.Build.Components; ours != o.Identity.Build.Components {
		return fmt.Errorf("the manifest has the components %016x, and the build says %016x", ours, o.Identity.Build.Components)
	}
	return nil
}

// isTagged reports whether the hello has tags.
func (o Options) isTagged() bool { return o.Identity != nil && !o.Identity.Empty() }

// hello is the client's hello in g.
func (o Options) hello(g netproto.Generation) (*netproto.Handshake, error) {
	hello := &netproto.Handshake{Version: g.Version(), Compatibility: o.Compatibility, Target: o.Target}
	if g.Metadata() && !o.Auto {
		hello.Metadata = o.Metadata
	}
	switch {
	case !g.Engine():
		hello.Capabilities = o.capabilities()
		if o.isTagged() {
			return hello, hello.Say(*o.Identity)
		}
	case o.Auto:
		capabilities := o.capabilities()
		if o.isTagged() {
			capabilities |= netproto.CapTags
		}
		hello.Key = netproto.OfferKey(capabilities)
	default:
		hello.Key = o.NewKey()
	}
	return hello, nil
}
