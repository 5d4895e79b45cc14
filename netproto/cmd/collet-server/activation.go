package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// sockets are those that systemd opened for us (sd_listen_fds(3)): they outlive the process, so that players who connect
// while a new version starts wait instead of being turned away.
type sockets struct {
	players []net.Listener
	http    net.Listener // of the name "http", for metrics and health
}

const (
	// firstSocket is the number of the first descriptor that is handed over (sd_listen_fds(3)).
	firstSocket = 3
	// maxSockets is how many are taken; a unit with more was not written for us.
	maxSockets = 16
)

// inherited takes over the sockets that are meant for the process of this id: LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES.
func inherited(env func(string) string, id int) (sockets, error) {
	var s sockets
	if env("LISTEN_PID") != strconv.Itoa(id) {
		return s, nil
	}
	n, err := strconv.Atoi(env("LISTEN_FDS"))
	if err != nil || n < 0 || n > maxSockets {
		return s, fmt.Errorf("LISTEN_FDS is %q, want a number of at most %d", env("LISTEN_FDS"), maxSockets)
	}
	names := strings.Split(env("LISTEN_FDNAMES"), ":")
	for i := range n {
		file := os.NewFile(uintptr(firstSocket+i), "inherited socket")
		listener, err := net.FileListener(file)
		file.Close()
		switch {
		case err != nil:
			return s, fmt.Errorf("inherited socket %d is none to listen on: %w", firstSocket+i, err)
		case i < len(names) && names[i] == "http":
			s.http = listener
		default:
			s.players = append(s.players, listener)
		}
	}
	return s, nil
}

// tell sends a state to the service manager (sd_notify(3)), if there is one that wants to know. What it does not hear is
// no reason not to serve.
func tell(state string) {
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
