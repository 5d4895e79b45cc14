//go:build !linux || 386

package server

import "net"

// tune keeps the system's defaults and returns "": the algorithm is unknown. (Package syscall has no getsockopt for Linux on
// 386.)
func tune(net.Conn, string) string { return "" }
