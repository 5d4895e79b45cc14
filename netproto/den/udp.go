package den

import (
	"net"
	"net/netip"
)

// socketBuffer is the requested buffer size of each socket in each direction: ten parts of 16 kB from a released sender,
// and ProtocolCollet's data in flight on a fast path. The system may grant less.
const socketBuffer = 4 << 20

// udpConn is a packetConn of the system.
type udpConn struct {
	*net.UDPConn
	connected bool
	fast      offload
}

// listenUDP opens a socket at addr.
func listenUDP(addr netip.AddrPort) (packetConn, error) {
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(addr))
	if err != nil {
		return nil, err
	}
	return tuned(conn, false), nil
}

// dialUDP opens a socket that receives from addr only, at a free port.
func dialUDP(addr netip.AddrPort) (packetConn, error) {
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(addr))
	if err != nil {
		return nil, err
	}
	return tuned(conn, true), nil
}

// tuned sets optional socket options.
func tuned(conn *net.UDPConn, connected bool) *udpConn {
	_ = conn.SetReadBuffer(socketBuffer)
	_ = conn.SetWriteBuffer(socketBuffer)
	return &udpConn{UDPConn: conn, connected: connected, fast: newOffload(conn)}
}

func (u *udpConn) local() netip.AddrPort {
	addr := u.LocalAddr().(*net.UDPAddr).AddrPort()
	return netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
}

// defaultRoom is half of the systems' default buffer: datagrams of common size take twice their bytes.
const defaultRoom = 100 << 10

func (u *udpConn) room() int { return max(u.fast.room/2, defaultRoom) }

func (u *udpConn) segments() bool { return u.fast.sends }

func (u *udpConn) read(buf []byte) (n, segment int, from netip.AddrPort, err error) {
	n, control, _, from, err := u.ReadMsgUDPAddrPort(buf, u.fast.control)
	if err != nil {
		return 0, 0, from, err
	}
	return n, u.fast.segment(u.fast.control[:control]), from, nil
}

func (u *udpConn) write(buf []byte, segment int, to netip.AddrPort) error {
	if u.connected {
		to = netip.AddrPort{}
	}
	var control []byte
	if segment < len(buf) {
		var room [controlRoom]byte
		control = u.fast.ask(room[:0], segment)
	}
	_, _, err := u.WriteMsgUDPAddrPort(buf, control, to)
	return err
}
