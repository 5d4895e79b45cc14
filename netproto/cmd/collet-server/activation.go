package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"collet/netproto/server"
	"collet/netproto/server/config"
)

// sockets are the sockets that the service manager opened (sd_listen_fds(3)). They outlive the process, so clients that connect
// while a new version starts wait instead of being refused. A socket's name selects its protocol.
type sockets struct {
	players server.Sockets
	http    net.Listener // for health, the dashboard and a release folder
	metrics net.Listener
	control net.Listener // for commands; only handed over by another collet-server
}

const (
	// firstSocket is the number of the first descriptor that is handed over (sd_listen_fds(3)).
	firstSocket = 3
	// maxSockets is the largest number of sockets: one of each name. A unit with more was not written for this program.
	maxSockets = 6
	// defaultName is the name of a socket that has none of its own.
	defaultName = "players"
	// unitSuffix ends the name that a socket has whose unit gives it none (FileDescriptorName=, systemd.socket(5)): the
	// unit's own.
	unitSuffix = ".socket"
	// unnamed is what the service manager calls a socket of which it has no name (sd_listen_fds_with_names(3)).
	unnamed = "unknown"
)

// socketError says which of the sockets that were handed over can't be used, and what to do.
type socketError struct {
	number int // its descriptor
	text   string
}

func (e *socketError) Error() string { return fmt.Sprintf("inherited socket %d %s", e.number, e.text) }

// inheritSockets takes over the sockets for the process of this id, by LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES. On failure it closes
// those that it has taken.
func inheritSockets(env func(string) string, id int) (s sockets, err error) {
	if env("LISTEN_PID") != strconv.Itoa(id) {
		return s, nil
	}
	n, err := strconv.Atoi(env("LISTEN_FDS"))
	if err != nil || n < 0 || n > maxSockets {
		return s, fmt.Errorf("LISTEN_FDS is %q, want a number of at most %d", env("LISTEN_FDS"), maxSockets)
	}
	names := make([]string, n)
	if given := env("LISTEN_FDNAMES"); given != "" && n > 0 {
		if names = strings.Split(given, ":"); len(names) != n {
			return s, fmt.Errorf("LISTEN_FDNAMES is %q, want as many names as there are sockets, which is %d", given, n)
		}
	}
	for i, name := range names {
		if err := s.takeSocket(firstSocket+i, name); err != nil {
			s.close()
			return sockets{}, err
		}
	}
	return s, nil
}

// takeSocket assigns a socket by its name.
func (s *sockets) takeSocket(number int, name string) error {
	if name == "" || name == unnamed || strings.HasSuffix(name, unitSuffix) {
		name = defaultName
	}
	return s.takeAt(s.byName()[name], number, name)
}

// takeAt assigns a socket to its place.
func (s *sockets) takeAt(place *net.Listener, number int, name string) error {
	switch {
	case place == nil:
		return &socketError{number, fmt.Sprintf("is named %q; name it players, tls, ws, wss, http or metrics, by FileDescriptorName= in its unit", name)}
	case *place != nil:
		return &socketError{number, fmt.Sprintf("is the second one for %s; name what it is for, which is players, tls, ws, wss, http or metrics, by FileDescriptorName= in its unit, and listen once for each", name)}
	}
	file := os.NewFile(uintptr(number), "inherited socket")
	listener, err := net.FileListener(file)
	file.Close()
	if err != nil {
		return &socketError{number, fmt.Sprintf("(%s) is none to listen on: %v", name, err)}
	}
	*place = listener
	return nil
}

// byName maps names to the fields of s.
func (s *sockets) byName() map[string]*net.Listener {
	return map[string]*net.Listener{
		defaultName: &s.players.TCP, "tls": &s.players.TLS, "ws": &s.players.WebSocket, "wss": &s.players.SecureWebSocket, "http": &s.http, "metrics": &s.metrics,
	}
}

// handed is byName with the socket that only another collet-server hands over.
func (s *sockets) handed() map[string]*net.Listener {
	all := s.byName()
	all[controlName] = &s.control
	return all
}

// close closes all sockets.
func (s *sockets) close() {
	s.players.Close()
	for _, listener := range []net.Listener{s.http, s.metrics, s.control} {
		if listener != nil {
			listener.Close()
		}
	}
}

// replaceAddresses removes the addresses that inherited sockets replace. Settings have one port for WebSocket, with or without TLS, so a
// socket of the other kind is an error.
func (s *sockets) replaceAddresses(at config.Addresses, asked transport) (config.Addresses, error) {
	for _, kind := range []struct {
		socket net.Listener
		addr   *string
	}{
		{s.players.TCP, &at.TCP}, {s.players.TLS, &at.TLS}, {s.players.WebSocket, &at.WebSocket}, {s.players.SecureWebSocket, &at.SecureWebSocket},
	} {
		if kind.socket != nil {
			*kind.addr = ""
		}
	}
	switch {
	case asked.ListenWS != "" || asked.ListenWSS != "": // which may ask for both kinds
	case s.players.WebSocket != nil && at.SecureWebSocket != "":
		return at, errors.New(`the inherited socket "ws" is for plain WebSocket, but Network.SecuredWebSockets wants TLS on that port: name it "wss", or change the setting`)
	case s.players.SecureWebSocket != nil && at.WebSocket != "":
		return at, errors.New(`the inherited socket "wss" is for WebSocket over TLS, but Network.WebSocketPort is plain: set Network.SecuredWebSockets, or name the socket "ws"`)
	}
	return at, nil
}

// notifyManager sends a state to the service manager (sd_notify(3)), if NOTIFY_SOCKET is set. Errors are ignored: the server works without
// it.
func notifyManager(state string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	conn, err := net.Dial("unixgram", path)
	if err != nil {
		return
	}
	defer conn.Close()
	conn.Write([]byte(state))
}
