package transporttest

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

// ProxyOptions say what a proxy demands and where it leads.
type ProxyOptions struct {
	User, Password string // demanded if User is not empty
	Target         string // where every tunnel leads; empty: to where it was asked for
}

// Proxy is a working proxy on loopback. It tells CONNECT and SOCKS5 apart by the first byte.
type Proxy struct {
	opt      ProxyOptions
	listener net.Listener
	work     sync.WaitGroup

	mu    sync.Mutex
	open  []net.Conn
	asked []string
}

// StartProxy listens on a free port.
func StartProxy(opt ProxyOptions) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{opt: opt, listener: listener}
	p.work.Go(p.accept)
	return p, nil
}

// Addr is where it listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Asked lists the addresses that tunnels were asked for, as they were asked for.
func (p *Proxy) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// Close ends all tunnels and waits for them.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	for _, conn := range p.open {
		conn.Close()
	}
	p.mu.Unlock()
	p.work.Wait()
	return err
}

// hold remembers a connection for Close.
func (p *Proxy) hold(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = append(p.open, conn)
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.hold(conn)
		p.work.Go(func() {
			defer conn.Close()
			p.serve(conn)
		})
	}
}

// serve talks to one client until its tunnel ends.
func (p *Proxy) serve(conn net.Conn) {
	reader := bufio.NewReader(conn)
	first, err := reader.Peek(1)
	if err != nil {
		return
	}
	talk := p.connect
	if first[0] == 5 {
		talk = p.socks
	}
	server, err := talk(reader, conn)
	if err != nil {
		return
	}
	p.hold(server)
	defer server.Close()
	p.work.Go(func() {
		io.Copy(server, reader)
		server.(*net.TCPConn).CloseWrite()
	})
	io.Copy(conn, server)
}

// reach connects to where a tunnel was asked for.
func (p *Proxy) reach(addr string) (net.Conn, error) {
	p.mu.Lock()
	p.asked = append(p.asked, addr)
	p.mu.Unlock()
	if p.opt.Target != "" {
		addr = p.opt.Target
	}
	return net.Dial("tcp", addr)
}

var errDenied = errors.New("denied")

// connect answers CONNECT.
func (p *Proxy) connect(reader *bufio.Reader, conn net.Conn) (net.Conn, error) {
	request, err := http.ReadRequest(reader)
	if err != nil {
		return nil, err
	}
	say := func(status string) { fmt.Fprintf(conn, "HTTP/1.1 %s\r\n\r\n", status) }
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.opt.User+":"+p.opt.Password))
	switch {
	case request.Method != http.MethodConnect:
		say("405 Method Not Allowed")
		return nil, errDenied
	case p.opt.User != "" && request.Header.Get("Proxy-Authorization") != want:
		say("407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"test\"")
		return nil, errDenied
	}
	server, err := p.reach(request.RequestURI)
	if err != nil {
		say("502 Bad Gateway")
		return nil, err
	}
	say("200 Connection established\r\nVia: 1.1 test")
	return server, nil
}

// socks answers SOCKS5 as RFC 1928 and RFC 1929 have it.
func (p *Proxy) socks(reader *bufio.Reader, conn net.Conn) (net.Conn, error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(reader, head); err != nil {
		return nil, err
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(reader, methods); err != nil {
		return nil, err
	}
	method := byte(0)
	if p.opt.User != "" {
		method = 2
	}
	if !slices.Contains(methods, method) {
		conn.Write([]byte{5, 0xFF})
		return nil, errDenied
	}
	conn.Write([]byte{5, method})
	if method == 2 && !p.login(reader, conn) {
		return nil, errDenied
	}
	addr, err := readAddress(reader)
	if err != nil {
		return nil, err
	}
	server, err := p.reach(addr)
	if err != nil {
		conn.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		return nil, err
	}
	conn.Write([]byte{5, 0, 0, 1, 127, 0, 0, 1, 0, 80})
	return server, nil
}

func (p *Proxy) login(reader *bufio.Reader, conn net.Conn) bool {
	if version, err := reader.ReadByte(); err != nil || version != 1 {
		return false
	}
	user, _ := readText(reader)
	password, err := readText(reader)
	if err != nil || user != p.opt.User || password != p.opt.Password {
		conn.Write([]byte{1, 1})
		return false
	}
	conn.Write([]byte{1, 0})
	return true
}

// readAddress reads a request to connect and returns where to.
func readAddress(reader *bufio.Reader) (string, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(reader, head); err != nil {
		return "", err
	}
	var host string
	var err error
	switch head[3] {
	case 3:
		host, err = readText(reader)
	default:
		ip := make([]byte, map[byte]int{1: net.IPv4len, 4: net.IPv6len}[head[3]])
		_, err = io.ReadFull(reader, ip)
		host = net.IP(ip).String()
	}
	port := make([]byte, 2)
	if _, short := io.ReadFull(reader, port); err == nil {
		err = short
	}
	return net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(port)))), err
}

// readText reads a text with its length in one byte.
func readText(reader *bufio.Reader) (string, error) {
	n, err := reader.ReadByte()
	if err != nil {
		return "", err
	}
	text := make([]byte, n)
	_, err = io.ReadFull(reader, text)
	return string(text), err
}
