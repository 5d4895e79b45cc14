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
	// notSent is how many bytes may wait in the kernel behind what is already on its way: enough to never run dry between
	// two writes, little enough that a ping question isn't stuck behind seconds of data on a slow link, and that of
	// hundreds of clients on a fast one none waits long for its turn: without it the slowest of 200 had half of the median.
	notSent = 256 << 10
	// tcpNotSentLowat is TCP_NOTSENT_LOWAT of linux/tcp.h, which package syscall has no name for.
	tcpNotSentLowat = 25
	// farAway is the round trip from which a client is not in the house any more.
	farAway = time.Millisecond
	// farAlgorithm keeps its speed on links that lose packets.
	farAlgorithm = "bbr"
)

// nearAlgorithms send without timers. The first that the system lets us have is taken.
func nearAlgorithms() []string { return []string{"cubic", "reno"} }

// tune sets socket options by setsockopt(2): TCP_NOTSENT_LOWAT, and the congestion control that want asks for. What the
// kernel refuses stays as it was. It returns the name of the algorithm in use, empty where there is none.
func tune(conn net.Conn, want string) (algorithm string) {
	withSocket(conn, func(fd int) {
		syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, tcpNotSentLowat, notSent)
		algorithm = choose(fd, want, roundTrip(fd) >= farAway)
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

// choose gives the socket the algorithm that want stands for and returns what it has then.
func choose(fd int, want string, far bool) string {
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

// roundTrip is what the kernel measured; the exchange that opens a connection is the first measurement.
func roundTrip(fd int) time.Duration {
	var info syscall.TCPInfo
	size := uint32(unsafe.Sizeof(info))
	if !getOption(fd, syscall.TCP_INFO, unsafe.Pointer(&info), &size) {
		return farAway // unknown counts as far: that is where the choice matters
	}
	return time.Duration(info.Rtt) * time.Microsecond
}

// getOption is getsockopt(2) on the level of TCP.
func getOption(fd, option int, value unsafe.Pointer, size *uint32) bool {
	_, _, fault := syscall.Syscall6(syscall.SYS_GETSOCKOPT, uintptr(fd), syscall.IPPROTO_TCP, uintptr(option),
		uintptr(value), uintptr(unsafe.Pointer(size)), 0)
	return fault == 0
}
