//go:build !386

package server

import (
	"encoding/binary"
	"net"
	"syscall"
	"time"
	"unsafe"
)

// Offsets of fields of struct tcp_info in linux/tcp.h, in bytes; times are in microseconds. Kernels only append fields: before
// 4.6 the struct ends before the last two.
const (
	infoTrip     = 68  // tcpi_rtt
	infoAgain    = 100 // tcpi_total_retrans
	infoShortest = 148 // tcpi_min_rtt
	infoSent     = 156 // tcpi_data_segs_out
	infoSize     = 160
)

// readTCPCounters reads TCP_INFO of the socket below conn. known is false without a TCP socket or with an old kernel.
func readTCPCounters(conn net.Conn) (t tcpCounters, known bool) {
	withSocket(conn, func(fd int) {
		var info [infoSize]byte
		size := uint32(infoSize)
		if !getOption(fd, syscall.TCP_INFO, unsafe.Pointer(&info), &size) || size < infoSize {
			return
		}
		field := func(at int) uint32 { return binary.NativeEndian.Uint32(info[at:]) }
		t = tcpCounters{sent: field(infoSent), again: field(infoAgain), trip: time.Duration(field(infoTrip)) * time.Microsecond,
			shortest: time.Duration(field(infoShortest)) * time.Microsecond}
		known = true
	})
	return t, known
}
