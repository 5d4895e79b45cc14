package den

import (
	"encoding/binary"
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// controlRoom holds one control message of up to eight bytes.
const controlRoom = 64

// offload sends and receives several datagrams with one call: UDP_SEGMENT and UDP_GRO, since Linux 4.18 and 5.0. The
// system splits and joins them, so peers see no difference.
type offload struct {
	sends   bool
	room    int    // bytes of the receive buffer, including the system's overhead
	control []byte // control messages of received datagrams; nil if they come one by one
}

func newOffload(conn *net.UDPConn) offload {
	var o offload
	raw, err := conn.SyscallConn()
	if err != nil {
		return o
	}
	_ = raw.Control(func(fd uintptr) {
		_, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_SEGMENT)
		o.sends = err == nil
		o.room, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF)
		if unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_GRO, 1) == nil {
			o.control = make([]byte, controlRoom)
		}
	})
	return o
}

// segment is the datagram size that a control message declares, or 0.
func (o *offload) segment(control []byte) int {
	for len(control) >= unix.SizeofCmsghdr {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
		end := unix.CmsgSpace(int(h.Len) - unix.SizeofCmsghdr)
		if int(h.Len) < unix.SizeofCmsghdr || int(h.Len) > len(control) {
			return 0
		}
		if h.Level == syscall.IPPROTO_UDP && h.Type == unix.UDP_GRO && int(h.Len) >= unix.CmsgLen(4) {
			return int(binary.NativeEndian.Uint32(control[unix.CmsgLen(0):]))
		}
		control = control[min(end, len(control)):]
	}
	return 0
}

// ask appends the control message that makes the system split a buffer into datagrams of segment bytes.
func (o *offload) ask(b []byte, segment int) []byte {
	b = b[:unix.CmsgSpace(2)]
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = unix.IPPROTO_UDP, unix.UDP_SEGMENT
	h.SetLen(unix.CmsgLen(2))
	binary.NativeEndian.PutUint16(b[unix.CmsgLen(0):], uint16(segment))
	return b
}
