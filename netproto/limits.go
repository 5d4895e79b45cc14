package netproto

// The caps on what a peer may cause to be allocated.
const (
	// maxHello bounds the first frame, in bytes. A hello is two short strings and tags. 16 KiB leaves ample room for the
	// tags of the verdict, whose cap is 4 KiB.
	maxHello = 16 << 10
	// maxServerFrame bounds what a client may send, in bytes: the engine's own default for its servers
	// (ServerNetwork.MaxMessageSize).
	maxServerFrame = 1 << 20
	// maxClientFrame bounds a frame of a server, in bytes. The engine's clients have no bound; portions of 5 MB are in
	// use, and a list of 200 000 files takes about 18 MiB. 32 MiB is half of a client's memory limit.
	maxClientFrame = 32 << 20
	// maxString bounds one string, in bytes. A path has at most 240, a compatibility version 16 in practice; texts for
	// people are the longest.
	maxString = 16 << 10
	// maxList bounds a list, in entries: the largest set that release.CheckSet accepts.
	maxList = 200_000
)

// Limits are the caps on the input of one connection. A zero field means the side's default.
type Limits struct {
	Hello  int // bytes of the first frame that a server accepts
	Frame  int // bytes of any other frame
	String int // bytes of one string
	List   int // entries of one list
}

// DefaultServerLimits returns the limits for clients' messages.
func DefaultServerLimits() Limits {
	return Limits{Hello: maxHello, Frame: maxServerFrame, String: maxString, List: maxList}
}

// DefaultClientLimits returns the limits for a server's messages.
func DefaultClientLimits() Limits {
	return Limits{Hello: maxHello, Frame: maxClientFrame, String: maxString, List: maxList}
}

// OrDefault is l with the defaults of side in its zero fields.
func (l Limits) OrDefault(side Side) Limits {
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
