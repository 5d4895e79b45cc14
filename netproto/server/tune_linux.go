//go:build !386

package server

import (
	"bytes"
	"net"
	"syscall"
	"time"
	"unsafe"

	"collet/netproto/server/config"
)

const (
	// notSent is how many unsent bytes may wait in the kernel: enough that it never runs dry between two writes, and little
	// enough that a ping question does not wait behind seconds of data on a slow link. It also evens out the shares of many
	// clients on a fast link: without it the slowest of 200 had half of the median.
	notSent = 256 << 10
	// tcpNotSentLowat is TCP_NOTSENT_LOWAT of linux/tcp.h, which package syscall does not define.
	tcpNotSentLowat = 25
	// farAway is the round trip from which a client counts as outside the local network.
	farAway = time.Millisecond
	// farAlgorithm keeps its rate on links with packet loss.
	farAlgorithm = "bbr"
)

// nearAlgorithms send without pacing timers. The first available one is used.
func nearAlgorithms() []string { return []string{"cubic", "reno"} }

// tune sets socket options by setsockopt(2): TCP_NOTSENT_LOWAT, and the congestion control that want selects. Refused options
// keep their values. It returns the name of the algorithm in use, empty without a TCP socket.
func tune(conn net.Conn, want string) (algorithm string) {
	withSocket(conn, func(fd int) {
		syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, tcpNotSentLowat, notSent)
		algorithm = setAlgorithm(fd, want, roundTrip(fd) >= farAway)
	})
	return algorithm
}

// withSocket calls do with the TCP socket below conn, if there is one.
func withSocket(conn net.Conn, do func(fd int)) {
	for over, ok := conn.(interface{ NetConn() net.Conn }); ok; over, ok = conn.(interface{ NetConn() net.Conn }) {
		conn = over.NetConn() // TLS, WebSocket
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) { do(int(fd)) }) // a closed connection needs no options
}

// setAlgorithm sets the socket's algorithm by want and returns the one in use.
func setAlgorithm(fd int, want string, far bool) string {
	system := algorithmOf(fd)
	var wanted []string
	switch {
	case want == config.CongestionSystem:
	case want != config.CongestionAuto:
		wanted = []string{want}
	case far:
		wanted = []string{farAlgorithm}
	case system == farAlgorithm:
		wanted = nearAlgorithms()
	}
	for _, name := range wanted {
		if syscall.SetsockoptString(fd, syscall.IPPROTO_TCP, syscall.TCP_CONGESTION, name) == nil {
			return name
		}
	}
	return system
}

// algorithmOf reads TCP_CONGESTION.
func algorithmOf(fd int) string {
	var name [16]byte // TCP_CA_NAME_MAX
	size := uint32(len(name))
	if !getOption(fd, syscall.TCP_CONGESTION, unsafe.Pointer(&name), &size) {
		return ""
	}
	text, _, _ := bytes.Cut(name[:size], []byte{0})
	return string(text)
}

// roundTrip is the kernel's measurement; the TCP handshake is its first sample.
func roundTrip(fd int) time.Duration {
	var info syscall.TCPInfo
	size := uint32(unsafe.Sizeof(info))
	if !getOption(fd, syscall.TCP_INFO, unsafe.Pointer(&info), &size) {
		return farAway // unknown counts as far, where the choice matters
	}
	return time.Duration(info.Rtt) * time.Microsecond
}

// getOption is getsockopt(2) on the level of TCP.
func getOption(fd, option int, value unsafe.Pointer, size *uint32) bool {
	_, _, fault := syscall.Syscall6(syscall.SYS_GETSOCKOPT, uintptr(fd), syscall.IPPROTO_TCP, uintptr(option),
		uintptr(value), uintptr(unsafe.Pointer(size)), 0)
	return fault == 0
}
