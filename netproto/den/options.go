package den

import (
	"net/netip"
	"time"

	"github.com/rs/zerolog"
)

// Defaults and caps of Options.
const (
	// DefaultQueueBytes is how much Send takes before it blocks. Enough to fill a gigabit over 130 ms.
	DefaultQueueBytes = 16 << 20
	// DefaultReceiveBytes is how much may lie unread. A released server has two blocks of 1,024,000 bytes under way
	// (reference 3.5); 32 of those are a device that does not read at all.
	DefaultReceiveBytes = 64 << 20
	// DefaultMaxMessage is the longest message that is taken from a peer. The layout of a tree of 250 000 files is
	// shorter.
	DefaultMaxMessage = 32 << 20
	// DefaultMaxConns is how many connections a Listener holds.
	DefaultMaxConns = 256
	// DefaultMaxUnverified is how many of them may have said nothing yet but that they want to connect, so that their
	// address may be forged.
	DefaultMaxUnverified = 32

	// DefaultConnectTimeout is how long Dial tries (reference 2.2).
	DefaultConnectTimeout = 5 * time.Second
	// DefaultSilentPort is after how long without an answer Dial takes another port (reference 2.2, 4.2 #1).
	DefaultSilentPort = 2 * time.Second
	// DefaultGiveUp is how long a reliable datagram may stay unacknowledged (reference 2.6).
	DefaultGiveUp = 3 * time.Second
	// DefaultKeepAlive is after how long without a message from the peer Options.Harmless is sent (reference 3.8).
	DefaultKeepAlive = 10 * time.Second
	// DefaultUnverifiedExpiry is how long a connection may stay unverified: longer than until the first keep-alive of a
	// client that says nothing.
	DefaultUnverifiedExpiry = 30 * time.Second
	// DefaultLinger is how long Close waits for what is still under way.
	DefaultLinger = time.Second

	// DefaultPartMin is the part size that released programs use themselves (reference 2.5).
	DefaultPartMin = 1357
	// DefaultPartMax is the largest part that is tried towards protocol 0: ten of them must fit a receive buffer of
	// 208 kB (reference 5.1).
	DefaultPartMax = 16000
)

// Options are the choices of a Listener or a Dial. The zero value works; a zero field means its default. They are
// copied, and what they point to must not change afterwards.
type Options struct {
	Protocols []uint16       // offered or accepted, preferred first; default ProtocolCollet, ProtocolRelease
	Log       zerolog.Logger // default: nothing is logged

	// Harmless is a message that the peer's application ignores, for the Remote Launcher keepAlive. It is sent after
	// KeepAlive without a message from the peer, and, in protocol 0, on numbers that may not carry anything that
	// matters, padded with zeros where it probes the path. Without it there is no keep-alive, and parts that no
	// receiver wants serve instead.
	Harmless  []byte
	KeepAlive time.Duration // default DefaultKeepAlive; negative: never

	PartMin, PartMax int // bytes of one part in protocol 0; PartMax = PartMin never probes

	QueueBytes   int // sent messages that are not acknowledged
	ReceiveBytes int // received messages that are not read
	MaxMessage   int // bytes of one received message

	ConnectTimeout time.Duration // Dial as a whole
	SilentPort     time.Duration // Dial, until another port is taken
	GiveUp         time.Duration // silence after which a connection is over
	Linger         time.Duration // Close

	// Admit is asked about each new address before anything is answered; nil admits all. It runs on the socket's
	// goroutine and must not block.
	Admit            func(netip.AddrPort) bool
	MaxConns         int
	MaxUnverified    int
	UnverifiedExpiry time.Duration
}

// filled has a default in place of each zero.
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

// Bounds of PartMin and PartMax: a part and its header must fit a datagram that released programs take, and a lap of
// numbers should not be over at once.
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
