package netproto

import (
	"context"
	"net"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/compat"
)

// What a client does unless told otherwise.
const (
	// DefaultPingPeriod is how often a client asks whether the server is there, as the engine's clients do
	// (ClientNetwork.PingPeriod, fonline reference, section 2.8).
	DefaultPingPeriod = 2000 * time.Millisecond
	// DefaultConnectTimeout bounds name lookup and connection. Systems give up after two minutes, people after less; a
	// lost first packet is sent again after 1, 3 and 7 s, which this leaves room for.
	DefaultConnectTimeout = 15 * time.Second
	// DefaultIdleTimeout is how long no byte may arrive before the connection counts as broken. A live server answers a
	// ping every two seconds, and asks by itself every ten.
	DefaultIdleTimeout = 30 * time.Second
	// DefaultAnswerTimeout is how long a server that answers pings may leave a question about the update unanswered. A
	// disk that has to wake up, or a server that hashes, takes seconds.
	DefaultAnswerTimeout = 60 * time.Second
	// DefaultWindow is how many requests of C1 a client has unanswered at most.
	DefaultWindow = 32
	// DefaultBuffer is how many bytes of C1 are on their way or waiting to be delivered at most, on lines that need as
	// many. 24 MiB fill a link of 2 Gbit/s with a round trip of 100 ms, and three eighths of what a client may use.
	DefaultBuffer = 24 << 20
)

const (
	// largestPortion is the most that a client asks for in one request of C1, in bytes. Larger ones gain nothing on any
	// link that was measured, and make progress jump.
	largestPortion = 1 << 20
	// smallestPortion keeps many requests from costing more than the data they bring, in bytes.
	smallestPortion = 16 << 10
	// writeGrace is how long a client whose sending failed goes on reading, to learn from the server why.
	writeGrace = 2 * time.Second
)

// ClientOptions say whom to connect to, and how. The zero value of every field but Addr is a sensible default.
type ClientOptions struct {
	Addr          string     // host:port
	Generation    Generation // 0 is C1; not spoken is an error. Don't try C1 on an engine server: see docs/PROTOCOL.md
	Auto          bool       // find the generation out, safely for any server; Generation is the one to try first, if known
	Compatibility string     // gameplay compatibility version of the client's module
	Metadata      string     // G2b: metadata version of the client's packs; empty if it does not know. Not said with Auto: older servers would take it for lengths
	Target        string     // see product.TargetFor

	// Identity is what the client says of its build, in C1: without it a server knows only Compatibility. Manifest is what it shows
	// a developer's server where components differ; it is complete and checked, and not written to. Either may be nil; a
	// manifest alone is an identity too.
	Identity *HelloTags
	Manifest *compat.Manifest
	// OnVerdict is called once by Dial, before it returns, with what Judgement and Differences are from then on; nil calls nothing.
	OnVerdict func(compat.Judgement, compat.Differences)

	// Dial makes the connection, as dial.Dialer.DialContext does; nil is an ordinary TCP dialer. network is always "tcp".
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	Log  zerolog.Logger

	Limits         Limits        // what is taken from the server; zero fields are DefaultClientLimits
	ConnectTimeout time.Duration // 0 is DefaultConnectTimeout
	PingPeriod     time.Duration // 0 is DefaultPingPeriod
	IdleTimeout    time.Duration // 0 is DefaultIdleTimeout
	AnswerTimeout  time.Duration // 0 is DefaultAnswerTimeout; noticed when the next ping is answered
	Window         int           // C1: requests unanswered at most; 0 is DefaultWindow
	Buffer         int           // C1: bytes asked for and not delivered at most; 0 is DefaultBuffer
	Lines          int           // C1: connections at most, where the server asks for several; 0 is MaxLines, 1 is never more than one
	Objects        bool          // C1: the client may ask for files of the server's release folder, see Client.Object
	Unlisted       bool          // C1: the same, and it needs no list of a server that has them; then List is an error
	Stride         *Stride       // C1: what earlier sessions with this server taught about the line; nil is nothing

	newKey func() uint32 // draws the keys of engine generations; tests have recorded ones
	data   chan arrival  // where answers to ranges go; nil: the connection has a channel of its own
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
	if o.Lines <= 0 || o.Lines > MaxLines {
		o.Lines = MaxLines
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

// capabilities is what a hello of C1 says that we have.
func (o ClientOptions) capabilities() uint32 {
	can := CapPipeline
	switch {
	case o.Unlisted:
		can |= CapObjects | CapUnlisted
	case o.Objects:
		can |= CapObjects
	}
	if o.Lines > 1 {
		can |= CapSpread
	}
	return can
}
