//go:build !linux || 386

package server

import "net"

// readTCPCounters reports unknown counters: this system does not offer them.
func readTCPCounters(net.Conn) (tcpCounters, bool) { return tcpCounters{}, false }
