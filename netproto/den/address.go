package den

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// splitAddress parses the text forms of an address: host, host:port, a.b.c.d[:port], [v6]:port, bare v6. Unlike the
// released programs it rejects ports above 65535.
func splitAddress(address string) (host string, port uint16, err error) {
	bad := func(why string) (string, uint16, error) {
		return "", 0, fmt.Errorf("address %q %s; write host, host:port or [v6]:port", address, why)
	}
	if ip, err := netip.ParseAddr(address); err == nil {
		return ip.String(), DefaultPort, nil
	}
	host, text := address, ""
	if inner, rest, bracket := strings.Cut(strings.TrimPrefix(address, "["), "]"); bracket && address[0] == '[' {
		var colon bool
		if host = inner; rest != "" {
			if text, colon = strings.CutPrefix(rest, ":"); !colon || text == "" {
				return bad("has something other than a port behind the bracket")
			}
		}
		if ip, err := netip.ParseAddr(host); err != nil || ip.Is4() {
			return bad("has no v6 address in brackets")
		}
	} else if before, after, found := strings.Cut(address, ":"); found {
		if host, text = before, after; text == "" {
			return bad("has no port behind the colon")
		}
	}
	if host == "" || strings.ContainsAny(host, "/ ") {
		return bad("names no host")
	}
	if text == "" {
		return host, DefaultPort, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return bad("has no port between 0 and 65535")
	}
	return host, uint16(n), nil
}

// resolve returns the addresses of a name, the preferred one first.
func resolve(ctx context.Context, address string) ([]netip.AddrPort, error) {
	host, port, err := splitAddress(address)
	if err != nil {
		return nil, err
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("look up %q: %w", host, err)
	}
	if host == "localhost" {
		// The released programs use 127.0.0.1.
		slices.SortStableFunc(ips, func(a, b netip.Addr) int { return a.Unmap().BitLen() - b.Unmap().BitLen() })
	}
	out := make([]netip.AddrPort, len(ips))
	for i, ip := range ips {
		out[i] = netip.AddrPortFrom(ip.Unmap(), port)
	}
	return out, nil
}

// listenAddress is the address to listen on. "*" is the first address of the machine that is not loopback, IPv6 before
// IPv4, link-local included, as with released programs.
func listenAddress(ctx context.Context, address string) (netip.AddrPort, error) {
	if address != "*" {
		found, err := resolve(ctx, address)
		if err != nil {
			return netip.AddrPort{}, err
		}
		return found[0], nil
	}
	ifaces, err := net.Interfaces()
	if err != nil {
		return netip.AddrPort{}, err
	}
	var all []netip.Addr
	for _, i := range ifaces {
		all = append(all, addressesOf(i)...)
	}
	if len(all) == 0 {
		return netip.AddrPort{}, fmt.Errorf("no interface has an address beside loopback; name the address to listen on")
	}
	slices.SortStableFunc(all, func(a, b netip.Addr) int { return b.BitLen() - a.BitLen() })
	return netip.AddrPortFrom(all[0], DefaultPort), nil
}

// addressesOf returns the addresses of i that other machines may reach.
func addressesOf(i net.Interface) []netip.Addr {
	addrs, err := i.Addrs()
	if err != nil || i.Flags&net.FlagUp == 0 {
		return nil
	}
	var out []netip.Addr
	for _, a := range addrs {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil || prefix.Addr().IsLoopback() {
			continue
		}
		ip := prefix.Addr().Unmap()
		if ip.Is6() && ip.IsLinkLocalUnicast() {
			ip = ip.WithZone(i.Name)
		}
		out = append(out, ip)
	}
	return out
}
