package netproto

// The bounds on what a peer may make us hold.
const (
	// maxHello bounds the first frame, in bytes. A hello is two short strings and a tail; 16 KiB leaves the tail room
	// for everything that the merged design of the verdict puts there (its cap is 4 KiB).
	maxHello = 16 << 10
	// maxServerFrame bounds what a client may send, in bytes: the engine's own default for its servers
	// (ServerNetwork.MaxMessageSize, fonline reference, section 2.2).
	maxServerFrame = 1 << 20
	// maxClientFrame bounds what a server may send, in bytes. The engine's clients have no bound; portions of 5 MB are
	// in use (seed 000), a list of 200 000 files takes about 18 MiB. 32 MiB is half of what a client may use in all.
	maxClientFrame = 32 << 20
	// maxString bounds one string, in bytes. A path is at most 240, a compatibility version 16 in practice; texts for
	// people are the longest.
	maxString = 16 << 10
	// maxList bounds a list, in entries: as many files as release.CheckSet takes.
	maxList = 200_000
)

// Limits are the caps on what one connection takes in. A zero field stands for the side's default.
type Limits struct {
	Hello  int // bytes of the first frame that a server takes
	Frame  int // bytes of any other frame
	String int // bytes of one string
	List   int // entries of one list
}

// DefaultServerLimits is what a server allows its clients.
func DefaultServerLimits() Limits {
	return Limits{Hello: maxHello, Frame: maxServerFrame, String: maxString, List: maxList}
}

// DefaultClientLimits is what a client allows its server.
func DefaultClientLimits() Limits {
	return Limits{Hello: maxHello, Frame: maxClientFrame, String: maxString, List: maxList}
}

// orDefault fills in the zero fields.
func (l Limits) orDefault(side Side) Limits {
	d := DefaultClientLimits()
	if side == ServerSide {
		d = DefaultServerLimits()
	}
	for _, f := range []struct{ own, fallback *int }{
		{&l.Hello, &d.Hello}, {&l.Frame, &d.Frame}, {&l.String, &d.String}, {&l.List, &d.List},
	} {
		if *f.own == 0 {
			*f.own = *f.fallback
		}
	}
	return l
}
