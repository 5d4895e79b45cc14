//go:build !linux

package server

import "net"

// tune leaves the system's own choices.
func tune(net.Conn) {}
