package den

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"
)

// ErrTimeout matches a *TimeoutError with errors.Is.
var ErrTimeout = errors.New("timed out")

// ErrTooLong says that a message is longer than the connection can carry, or an unreliable one longer than a datagram.
var ErrTooLong = errors.New("message is too long; send it in pieces")

// PeerError says that the peer broke the protocol. It ends the connection.
type PeerError struct {
	Addr    netip.AddrPort
	Command string // the command or record as docs/PROTOCOL.md names it
	Err     error  // what is wrong with it
}

func (e *PeerError) Error() string {
	return fmt.Sprintf("%v sent a broken %s: %v; connect again", e.Addr, e.Command, e.Err)
}

// Unwrap gives what is wrong.
func (e *PeerError) Unwrap() error { return e.Err }

// TimeoutError says that the peer did not answer. It matches ErrTimeout.
type TimeoutError struct {
	Addr  netip.AddrPort
	After time.Duration // duration of the silence
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%v did not answer for %v; check that it runs and that UDP gets through", e.Addr, e.After)
}

// Is matches ErrTimeout.
func (e *TimeoutError) Is(target error) bool { return target == ErrTimeout }

// Timeout returns true, as in net.Error.
func (e *TimeoutError) Timeout() bool { return true }

// ClosedError says that a connection was closed in order. It matches io.EOF if the peer closed it, else net.ErrClosed.
type ClosedError struct {
	Addr   netip.AddrPort
	Remote bool // the peer closed it
}

func (e *ClosedError) Error() string {
	if e.Remote {
		return fmt.Sprintf("%v closed the connection; connect again", e.Addr)
	}
	return fmt.Sprintf("the connection to %v is closed; open another", e.Addr)
}

// Is matches io.EOF or net.ErrClosed.
func (e *ClosedError) Is(target error) bool {
	if e.Remote {
		return target == io.EOF
	}
	return target == net.ErrClosed
}

// RefusedError says that a server rejected the connection.
type RefusedError struct {
	Addr   netip.AddrPort
	Result uint8 // of connectionAck: 1 rejected, 2 no common protocol
}

func (e *RefusedError) Error() string {
	if e.Result == ackNoProtocol {
		return fmt.Sprintf("%v speaks none of the offered protocols; update one of the two", e.Addr)
	}
	return fmt.Sprintf("%v refused the connection (%d); ask its operator", e.Addr, e.Result)
}
