package dial

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strconv"
)

// The numbers of SOCKS version 5 (RFC 1928) and of its user name and password (RFC 1929).
const (
	socksVersion     = 5
	socksNoUser      = 0x00
	socksUser        = 0x02
	socksNoMethod    = 0xFF
	socksUserVersion = 1
	socksConnect     = 1
	socksIPv4        = 1
	socksName        = 3
	socksIPv6        = 4
	socksSucceeded   = 0
	socksForbidden   = 2
)

// socksMax is the length of the longest name, user name or password in bytes: the length field is one byte.
const socksMax = 255

var errSOCKSUser = errors.New("the user name and the password for SOCKS5 must have 1 to 255 bytes each")

// checkSOCKSUser rejects credentials that the format can't hold.
func checkSOCKSUser(user *url.Userinfo) error {
	password, _ := user.Password()
	if n, m := len(user.Username()), len(password); n < 1 || m < 1 || n > socksMax || m > socksMax {
		return errSOCKSUser
	}
	return nil
}

// requestSOCKS requests a connection from a SOCKS5 proxy. Every answer has a length that is fixed, or declared in one byte, so no cap is needed.
func (p *Proxy) requestSOCKS(conn net.Conn, host, port string) error {
	if err := p.authenticateSOCKS(conn); err != nil {
		return err
	}
	ask, err := socksRequest(host, port)
	if err != nil {
		return err
	}
	if _, err := conn.Write(ask); err != nil {
		return brokenProxy("broke the connection off", err)
	}
	return socksReply(conn, net.JoinHostPort(host, port))
}

// authenticateSOCKS negotiates the authentication and performs it.
func (p *Proxy) authenticateSOCKS(conn net.Conn) error {
	greeting := []byte{socksVersion, 1, socksNoUser}
	if p.user != nil {
		greeting = []byte{socksVersion, 2, socksNoUser, socksUser}
	}
	if _, err := conn.Write(greeting); err != nil {
		return brokenProxy("broke the connection off", err)
	}
	var chosen [2]byte
	if err := socksRead(conn, chosen[:]); err != nil {
		return err
	}
	switch {
	case chosen[0] != socksVersion:
		return brokenProxy("doesn't speak SOCKS5", nil)
	case chosen[1] == socksNoUser:
		return nil
	case chosen[1] == socksUser && p.user != nil:
		return p.socksLogin(conn)
	case chosen[1] == socksNoMethod && p.user == nil:
		return brokenProxy("wants a user name and a password; put them into its address as USER:PASSWORD@HOST", nil)
	default:
		return brokenProxy("wants a way to authenticate that is not spoken here", nil)
	}
}

func (p *Proxy) socksLogin(conn net.Conn) error {
	name := p.user.Username()
	password, _ := p.user.Password()
	login := append([]byte{socksUserVersion, byte(len(name))}, name...)
	login = append(append(login, byte(len(password))), password...)
	if _, err := conn.Write(login); err != nil {
		return brokenProxy("broke the connection off", err)
	}
	var answer [2]byte
	if err := socksRead(conn, answer[:]); err != nil {
		return err
	}
	if answer[1] != 0 {
		return brokenProxy("doesn't accept the user name and password in its address", nil)
	}
	return nil
}

// socksRequest is the request for a connection. Names are left to the proxy.
func socksRequest(host, port string) ([]byte, error) {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port %q: %w", port, err)
	}
	ask := []byte{socksVersion, socksConnect, 0}
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil && (host == "" || len(host) > socksMax):
		return nil, fmt.Errorf("a host's name has 1 to %d bytes for SOCKS5", socksMax)
	case err != nil:
		ask = append(append(ask, socksName, byte(len(host))), host...)
	case ip.Unmap().Is4():
		ask = append(append(ask, socksIPv4), ip.Unmap().AsSlice()...)
	default:
		ask = append(append(ask, socksIPv6), ip.AsSlice()...)
	}
	return binary.BigEndian.AppendUint16(ask, uint16(number)), nil
}

// socksReply reads the reply including its bound address, which is ignored.
func socksReply(conn net.Conn, addr string) error {
	var head [4]byte
	if err := socksRead(conn, head[:]); err != nil {
		return err
	}
	if head[0] != socksVersion {
		return brokenProxy("doesn't speak SOCKS5", nil)
	}
	if head[1] != socksSucceeded {
		return socksRefusal(head[1], addr)
	}
	size := 0
	switch head[3] {
	case socksIPv4:
		size = net.IPv4len
	case socksIPv6:
		size = net.IPv6len
	case socksName:
		var length [1]byte
		if err := socksRead(conn, length[:]); err != nil {
			return err
		}
		size = int(length[0])
	default:
		return brokenProxy("answered with an address of no known kind", nil)
	}
	return socksRead(conn, make([]byte, size+2)) // and a port
}

// socksRefusals are the replies for an unreachable server (RFC 1928, section 6). Other codes are faults of the proxy.
var socksRefusals = map[byte]string{
	1: "general failure", 3: "the network is unreachable", 4: "the host is unreachable",
	5: "the connection was refused", 6: "it took too long",
}

func socksRefusal(code byte, addr string) error {
	if code == socksForbidden {
		return &ProxyError{Fault: ProxyForbids, Text: fmt.Sprintf("forbids connections to %s; ask its operator to allow them", addr)}
	}
	if reason, known := socksRefusals[code]; known {
		return &ProxyError{Fault: ProxyServer, Text: fmt.Sprintf("can't reach %s: %s", addr, reason)}
	}
	return brokenProxy(fmt.Sprintf("can't connect us: SOCKS5 reply %d", code), nil)
}

// socksRead reads exactly len(p) bytes, so that no byte of the server is consumed.
func socksRead(conn net.Conn, p []byte) error {
	_, err := io.ReadFull(conn, p)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return brokenProxy(errAnswerCut.Error(), nil)
	}
	if err != nil {
		return brokenProxy("broke the connection off", err)
	}
	return nil
}
