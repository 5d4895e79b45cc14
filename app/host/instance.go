package host

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"collet/app/install"
	"collet/platform"
)

const (
	// instanceWait is how long each side waits for the other; both are on one machine.
	instanceWait = 2 * time.Second
	// maxInstanceLine is the longest line in bytes that either side reads: a secret has 26, an answer fewer.
	maxInstanceLine = 64
)

// Answers to a second start.
const (
	cameForward = "forward" // the window is in front now
	noWindow    = "playing" // the game runs, and this host has no window
)

// instanceSocket lets a second start of the same install ask the first one to come forward. It listens on the loopback interface,
// because every system has that. A caller without the secret gets no answer.
type instanceSocket struct {
	listener net.Listener
	secret   string
	fs       platform.FS
	forward  func() bool // brings the window forward; false without a window
	done     sync.WaitGroup
}

// instanceFile is the socket's file in an install: it holds a port of the loopback interface and a secret. The secret limits access to
// processes that may read the install.
func instanceFile() string { return path.Join(install.StateDir, install.BellFile) }

// listenForInstances starts listening and writes instanceFile. The caller holds the install's lock.
func listenForInstances(fsys platform.FS, forward func() bool) (*instanceSocket, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &instanceSocket{listener: listener, secret: rand.Text(), fs: fsys, forward: forward}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := s.announce(fmt.Appendf(nil, "%d %s\n", port, s.secret)); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s.done.Go(s.listen)
	return s, nil
}

// announce writes the file anew. It removes an existing one first: a link, or the file of a host that was killed.
func (s *instanceSocket) announce(text []byte) error {
	if err := platform.RemoveIfThere(s.fs, instanceFile()); err != nil {
		return err
	}
	f, err := s.fs.OpenFile(instanceFile(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// listen answers one start at a time until the socket is closed.
func (s *instanceSocket) listen() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.answer(conn)
	}
}

func (s *instanceSocket) answer(conn net.Conn) {
	defer conn.Close()
	if conn.SetDeadline(time.Now().Add(instanceWait)) != nil {
		return
	}
	line, err := bufio.NewReader(io.LimitReader(conn, maxInstanceLine)).ReadString('\n')
	if err != nil || subtle.ConstantTimeCompare([]byte(line), []byte(s.secret+"\n")) != 1 {
		return
	}
	word := noWindow
	if s.forward() {
		word = cameForward
	}
	fmt.Fprintln(conn, word) // an error means that the other start has ended
}

// Close closes the socket, waits for the last answer and removes the file.
func (s *instanceSocket) Close() error {
	err := s.listener.Close()
	s.done.Wait()
	return errors.Join(err, s.fs.Remove(instanceFile()))
}

// raiseRunning asks the running host of this install to come forward, and reports whether it did.
func raiseRunning(ctx context.Context, fsys platform.FS) (forward bool, err error) {
	text, err := platform.ReadFile(fsys, instanceFile(), maxInstanceLine)
	if err != nil {
		return false, err
	}
	port, secret, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return false, fmt.Errorf("%s in %q is malformed", instanceFile(), fsys.Path("."))
	}
	ctx, cancel := context.WithTimeout(ctx, instanceWait)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return false, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(instanceWait)); err != nil {
		return false, err
	}
	if _, err := fmt.Fprintln(conn, secret); err != nil {
		return false, err
	}
	word, err := bufio.NewReader(io.LimitReader(conn, maxInstanceLine)).ReadString('\n')
	if err != nil {
		return false, err
	}
	return word == cameForward+"\n", nil
}

// serveInstances lets second starts bring this one forward. Without it they only report that the game is running, and end.
func (a *attempts) serveInstances() {
	b, err := listenForInstances(a.fs, func() bool {
		raise := a.raise.Load()
		return raise != nil && (*raise)()
	})
	if err != nil {
		a.log.Debug().Err(err).Msg("second starts can't bring this one forward")
		return
	}
	a.socket = b
}

// bringForward asks the host that holds the install's lock to come forward.
func (a *attempts) bringForward(ctx context.Context) bool {
	fsys, err := platform.OpenDir(a.paths.data)
	if err != nil {
		a.log.Debug().Err(err).Msg("the running host can't be reached")
		return false
	}
	defer fsys.Close()
	forward, err := raiseRunning(ctx, fsys)
	if err != nil {
		a.log.Debug().Err(err).Msg("the running host can't be reached")
	}
	return forward
}
