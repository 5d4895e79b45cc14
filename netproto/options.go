package netproto

import (
	"context"
	"net"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/compat"
)

// Defaults of ClientOptions.
const (
	// DefaultPingPeriod is the interval of pings, as of the engine's clients (ClientNetwork.PingPeriod, fonline
	// reference, section 2.8).
	DefaultPingPeriod = 2000 * time.Millisecond
	// DefaultConnectTimeout bounds name lookup and connection. Systems give up after two minutes, users earlier; a lost
	// first packet is sent again after 1, 3 and 7 s, which fits.
	DefaultConnectTimeout = 15 * time.Second
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

// ClientOptions configure a session. The zero value of every field but Addr is a sensible default.
type ClientOptions struct {
	Addr          string     // host:port
	Generation    Generation // 0 is C1; an unsupported one is an error. Don't use C1 with an engine server: see docs/PROTOCOL.md
	Auto          bool       // detect the generation, safely for any server; Generation is the first to try, if known
	Compatibility string     // gameplay compatibility version of the client's module
	Metadata      string     // G2b: metadata version of the client's packs; empty if unknown. Not sent with Auto: older servers would read it as lengths
	Target        string     // see product.TargetFor

	// Identity describes the client's build, in C1; without it a server knows only Compatibility. Manifest is sent to a
	// developer's server if components differ; it must be complete and checked, and is read-only. Either may be nil; a
	// manifest alone is an identity, too.
	Identity *HelloTags
	Manifest *compat.Manifest
	// OnVerdict is called once by Dial, before it returns, with the later results of Judgement and Differences; nil means no callback.
	OnVerdict func(compat.Judgement, compat.Differences)

	// Dial makes the connection, as dial.Dialer.DialContext does; nil is an ordinary TCP dialer. network is always "tcp".
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	Log  zerolog.Logger

	Limits         Limits        // caps on the server's messages; zero fields are DefaultClientLimits
	ConnectTimeout time.Duration // 0 is DefaultConnectTimeout
	PingPeriod     time.Duration // 0 is DefaultPingPeriod
	IdleTimeout    time.Duration // 0 is DefaultIdleTimeout
	AnswerTimeout  time.Duration // 0 is DefaultAnswerTimeout; checked when the next ping is answered
	Window         int           // C1: outstanding requests at most; 0 is DefaultWindow
	Buffer         int           // C1: bytes requested and not delivered at most; 0 is DefaultBuffer
	Objects        bool          // C1: the client may request files of the server's release folder, see Client.Object
	Unlisted       bool          // C1: the same, and servers with objects need not send a list; then List is an error
	RequestSize    *RequestSize  // C1: request sizes proven in earlier sessions with this server; nil is none

	newKey func() uint32 // draws the keys of engine generations; tests use recorded ones
}

// withDefaults fills in the zero fields.
func (o ClientOptions) withDefaults() ClientOptions {
	if o.Generation == 0 {
		o.Generation = C1
	}
	if o.Auto && !o.Generation.Engine() {
		o.Generation = firstProbe
	}
	if o.newKey == nil {
		o.newKey = NewKey
	}
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	o.Limits = o.Limits.orDefault(ClientSide)
	for _, d := range []struct {
		own      *time.Duration
		fallback time.Duration
	}{
		{&o.ConnectTimeout, DefaultConnectTimeout}, {&o.PingPeriod, DefaultPingPeriod},
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
	return o.identified()
}

// connect dials within the time allowed.
func (o ClientOptions) connect(ctx context.Context) (net.Conn, error) {
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
func (o ClientOptions) capabilities() uint32 {
	can := CapPipeline
	switch {
	case o.Unlisted:
		can |= CapObjects | CapUnlisted
	case o.Objects:
		can |= CapObjects
	}
	return can
}
