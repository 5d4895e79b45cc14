package den

import (
	"net/netip"
	"time"

	"github.com/rs/zerolog"
)

// Defaults and caps of Options.
const (
	// DefaultQueueBytes is how many bytes Send queues before it blocks: enough to fill a gigabit a second over 130 ms.
	DefaultQueueBytes = 16 << 20
	// DefaultReceiveBytes is how many received bytes may be unread. A released server has two blocks of 1,024,000 bytes
	// in flight; at 32 times that the application does not read at all.
	DefaultReceiveBytes = 64 << 20
	// DefaultMaxMessage is the size of the longest accepted message. The layout of a tree of 250 000 files is shorter.
	DefaultMaxMessage = 32 << 20
	// DefaultMaxConns is the largest number of a Listener's connections.
	DefaultMaxConns = 256
	// DefaultMaxUnverified is how many of them may be unverified: the peer sent only a connection request, so its address may be forged.
	DefaultMaxUnverified = 32

	// DefaultConnectTimeout is how long Dial tries, as with released programs.
	DefaultConnectTimeout = 5 * time.Second
	// DefaultSilentPort is how long Dial waits for an answer before it uses another port (docs/PROTOCOL.md, "Protocol 0").
	DefaultSilentPort = 2 * time.Second
	// DefaultGiveUp is how long a reliable datagram may stay unacknowledged (docs/PROTOCOL.md, "Protocol 0").
	DefaultGiveUp = 3 * time.Second
	// DefaultKeepAlive is the time without a message from the peer after which Options.Harmless is sent, as with released programs.
	DefaultKeepAlive = 10 * time.Second
	// DefaultUnverifiedExpiry is how long a connection may stay unverified: longer than the first keep-alive interval of an idle client.
	DefaultUnverifiedExpiry = 30 * time.Second
	// DefaultLinger is how long Close waits for unacknowledged messages.
	DefaultLinger = time.Second

	// DefaultPartMin is the part size of the released programs.
	DefaultPartMin = 1357
	// DefaultPartMax is the size of the largest part that is tried in protocol 0: ten of them must fit a receive buffer
	// of 208 kB, which is the default on Linux.
	DefaultPartMax = 16000
)

// Options configure a Listener or a Dial. A zero field means its default. They are copied, and the data behind their
// pointers must not change afterwards.
type Options struct {
	Protocols []uint16       // offered or accepted, preferred first; default ProtocolCollet, ProtocolRelease
	Log       zerolog.Logger // default: no log

	// Harmless is a message that the peer's application ignores, for the Remote Launcher keepAlive. It is sent after
	// KeepAlive without a message from the peer. In protocol 0 it is also sent on burnt numbers, and padded with zeros
	// to probe the path. Without it there is no keep-alive, and parts without a message serve instead.
	Harmless  []byte
	KeepAlive time.Duration // default DefaultKeepAlive; negative: never

	PartMin, PartMax int // bytes of one part in protocol 0; PartMax = PartMin disables probing

	QueueBytes   int // unacknowledged sent messages
	ReceiveBytes int // unread received messages
	MaxMessage   int // bytes of one received message

	ConnectTimeout time.Duration // Dial as a whole
	SilentPort     time.Duration // Dial, before it uses another port
	GiveUp         time.Duration // silence after which a connection ends
	Linger         time.Duration // Close

	// Admit decides about each new address before any answer; nil admits all. It runs on the socket's goroutine and must not block.
	Admit            func(netip.AddrPort) bool
	MaxConns         int
	MaxUnverified    int
	UnverifiedExpiry time.Duration
}

// filled returns a copy with defaults for zero fields.
func (o Options) filled() *Options {
	if o.Protocols == nil {
		o.Protocols = []uint16{ProtocolCollet, ProtocolRelease}
	}
	orDuration(&o.KeepAlive, DefaultKeepAlive)
	orDuration(&o.ConnectTimeout, DefaultConnectTimeout)
	orDuration(&o.SilentPort, DefaultSilentPort)
	orDuration(&o.GiveUp, DefaultGiveUp)
	orDuration(&o.Linger, DefaultLinger)
	orDuration(&o.UnverifiedExpiry, DefaultUnverifiedExpiry)
	orInt(&o.PartMin, DefaultPartMin)
	orInt(&o.PartMax, max(DefaultPartMax, o.PartMin))
	orInt(&o.QueueBytes, DefaultQueueBytes)
	orInt(&o.ReceiveBytes, DefaultReceiveBytes)
	orInt(&o.MaxMessage, DefaultMaxMessage)
	orInt(&o.MaxConns, DefaultMaxConns)
	orInt(&o.MaxUnverified, DefaultMaxUnverified)
	o.PartMin = min(max(o.PartMin, leastPart), mostPart)
	o.PartMax = min(max(o.PartMax, o.PartMin), mostPart)
	return &o
}

// Bounds of PartMin and PartMax: a part and its header must fit a datagram that released programs accept, and a lap of
// numbers should not be too short.
const (
	leastPart = 64
	mostPart  = maxSend - 4
)

func orInt(v *int, other int) {
	if *v <= 0 {
		*v = other
	}
}

func orDuration(v *time.Duration, other time.Duration) {
	if *v == 0 {
		*v = other
	}
}
