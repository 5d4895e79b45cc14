package netproto

import (
	"errors"
	"fmt"
	"math"

	"collet/netproto/wire"
)

// rangeHead is the size of a RangeData before its data: the frame's header, request, offset and length, in bytes.
const rangeHead = HeaderSize + 4 + 8 + 4

// errNotOwn is the caller's fault: engine data is enciphered, so it has to pass through the Conn.
var errNotOwn = errors.New("data that does not pass through the connection is for C1 only")

// WriteRange sends a RangeData of C1 whose size bytes of data the caller writes directly to the stream, for example with
// sendfile. send is called once with the first bytes of the frame, and writes them and then the data. Other writes wait
// meanwhile. m.Data is ignored. An error of send ends the sending half, because the frame may be incomplete.
func (c *Conn) WriteRange(m *RangeData, size int, send func(head []byte) error) error {
	o := &c.out
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	if c.Generation() != C1 || c.side != ServerSide {
		return errNotOwn
	}
	if size < 0 || uint64(size) > math.MaxUint32-rangeHead {
		return fmt.Errorf("%v: %d bytes are more than a frame holds", m.ID(), size)
	}
	head := writer(wire.Writer(make([]byte, 0, rangeHead)), C1, m.ID())
	if err := head.portionHead(m, uint32(rangeHead+size), size); err != nil {
		return err
	}
	o.err = send(head.Written())
	return o.err
}
