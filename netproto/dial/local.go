package dial

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
)

// LocalAddressError says that a Dialer with PublicOnly was given an address that is not public.
type LocalAddressError struct{ Addr string }

func (e *LocalAddressError) Error() string {
	return fmt.Sprintf("%q is an address of this machine or of a private network, and the server that named it is not in one", e.Addr)
}

// shared is the range of carrier-grade NAT (RFC 6598), for which netip has no predicate.
var shared = netip.MustParsePrefix("100.64.0.0/10")

// IsLocal reports whether an address is not one of the public internet: it is of this machine, its link or a private
// network, or a multicast address.
func IsLocal(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return !addr.IsGlobalUnicast() || addr.IsPrivate() || shared.Contains(addr)
}

// IsLocalHost is IsLocal for the host of an address. Names are not resolved: only localhost and its subdomains count as
// local. So does a name whose last part begins with a digit, because some systems read it as an address.
func IsLocalHost(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return IsLocal(addr)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	return host == "localhost" || last == "localhost" || last != "" && last[0] >= '0' && last[0] <= '9'
}

// onlyPublic is a net.Dialer.Control function, which receives the resolved address.
func onlyPublic(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil || IsLocalHost(host) {
		return &LocalAddressError{address}
	}
	return nil
}
