package server

import (
	"net"
	"syscall"
)

const (
	// notSent is how many bytes may wait in the kernel behind what is already on its way: enough to never run dry between
	// two writes, little enough that a ping question isn't stuck behind seconds of data on a slow link.
	notSent = 256 << 10
	// tcpNotSentLowat is TCP_NOTSENT_LOWAT of linux/tcp.h, which package syscall has no name for.
	tcpNotSentLowat = 25
)

// tune sets socket options by setsockopt(2): TCP_NOTSENT_LOWAT, and BBR congestion control, which keeps its speed on
// links that lose packets, where the kernel has it and lets us. What the kernel refuses stays as it was.
func tune(conn net.Conn) {
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
	raw.Control(func(fd uintptr) {
		syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotSentLowat, notSent)
		syscall.SetsockoptString(int(fd), syscall.IPPROTO_TCP, syscall.TCP_CONGESTION, "bbr")
	})
}
