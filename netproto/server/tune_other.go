//go:build !linux || 386

package server

import "net"

// tune leaves the system's own choices, whose name it does not know. (Linux on 386 has no number for getsockopt in package syscall.)
func tune(net.Conn, string) string { return "" }
