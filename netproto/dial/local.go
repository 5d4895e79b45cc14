package dial

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
)

// LocalAddressError says that a Dialer with PublicOnly was led to an address that is not public.
type LocalAddressError struct{ Addr string }

func (e *LocalAddressError) Error() string {
	return fmt.Sprintf("%q is an address of this machine or of a private network, and the server that named it is not in one", e.Addr)
}

// shared are addresses of networks behind a provider's translation (RFC 6598), which netip has no word for.
var shared = netip.MustParsePrefix("100.64.0.0/10")

// IsLocal reports whether an address is not one of the public internet: this machine's, its link's, that of a private network, or of
// a group.
func IsLocal(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return !addr.IsGlobalUnicast() || addr.IsPrivate() || shared.Contains(addr)
}

// IsLocalHost is IsLocal for a host as it stands in an address. Of names only those of this machine are known without asking; one
// that ends in a number is an address in a spelling that some systems take.
func IsLocalHost(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return IsLocal(addr)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	return host == "localhost" || last == "localhost" || last != "" && last[0] >= '0' && last[0] <= '9'
}

// onlyPublic fits net.Dialer.Control, which gets the address that a name has led to.
func onlyPublic(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil || IsLocalHost(host) {
		return &LocalAddressError{address}
	}
	return nil
}
