package host

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	// bellTime is how long either side waits for the other; both are on one machine.
	bellTime = 2 * time.Second
	// maxRing is the longest line in bytes that either side reads: a secret has 26, an answer fewer.
	maxRing = 64
)

// Answers to a ring.
const (
	cameForward = "forward" // the window is in front now
	noWindow    = "playing" // the game runs, and this host has no window
)

// bell lets a second start of the same install ask the first one to come forward. It listens on the loopback interface,
// because every system has that, and a port that a program opens there is nobody else's business. Whoever rings without the
// secret gets no answer.
type bell struct {
	listener net.Listener
	secret   string
	fs       platform.FS
	forward  func() bool // brings the window forward; false when there is none
	done     sync.WaitGroup
}

// bellName is the file in an install: it holds a port of the loopback interface and a secret, which only those learn who may read the
// install.
func bellName() string { return path.Join(install.StateDir, install.BellFile) }

// hangBell starts listening and says where, in an install whose lock is held.
func hangBell(fsys platform.FS, forward func() bool) (*bell, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &bell{listener: listener, secret: rand.Text(), fs: fsys, forward: forward}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := b.tell(fmt.Appendf(nil, "%d %s\n", port, b.secret)); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	b.done.Go(b.listen)
	return b, nil
}

// tell writes the file anew. What stands in its place goes, be it a link or the file of a host that was killed.
func (b *bell) tell(text []byte) error {
	if err := b.fs.Remove(bellName()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := b.fs.OpenFile(bellName(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// listen answers one ring at a time until the bell is taken down.
func (b *bell) listen() {
	for {
		conn, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.answer(conn)
	}
}

func (b *bell) answer(conn net.Conn) {
	defer conn.Close()
	if conn.SetDeadline(time.Now().Add(bellTime)) != nil {
		return
	}
	line, err := bufio.NewReader(io.LimitReader(conn, maxRing)).ReadString('\n')
	if err != nil || subtle.ConstantTimeCompare([]byte(line), []byte(b.secret+"\n")) != 1 {
		return
	}
	word := noWindow
	if b.forward() {
		word = cameForward
	}
	fmt.Fprintln(conn, word) // whoever rang and left has no need of it
}

// Close takes the bell down and waits for the last answer.
func (b *bell) Close() error {
	err := b.listener.Close()
	b.done.Wait()
	return errors.Join(err, b.fs.Remove(bellName()))
}

// ring asks the host that runs in this install to come forward, and reports whether it did.
func ring(ctx context.Context, fsys platform.FS) (forward bool, err error) {
	text, err := platform.ReadFile(fsys, bellName(), maxRing)
	if err != nil {
		return false, err
	}
	port, secret, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return false, fmt.Errorf("%s in %q makes no sense", bellName(), fsys.Path("."))
	}
	ctx, cancel := context.WithTimeout(ctx, bellTime)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return false, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(bellTime)); err != nil {
		return false, err
	}
	if _, err := fmt.Fprintln(conn, secret); err != nil {
		return false, err
	}
	word, err := bufio.NewReader(io.LimitReader(conn, maxRing)).ReadString('\n')
	if err != nil {
		return false, err
	}
	return word == cameForward+"\n", nil
}

// hang lets second starts find this one. Without it they say so and end, which is all they could do anyway.
func (a *attempts) hang() {
	b, err := hangBell(a.fs, func() bool {
		raise := a.raise.Load()
		return raise != nil && (*raise)()
	})
	if err != nil {
		a.log.Debug().Err(err).Msg("second starts can't bring this one forward")
		return
	}
	a.bell = b
}

// bringForward rings at the host that holds the install.
func (a *attempts) bringForward(ctx context.Context) bool {
	fsys, err := platform.OpenDir(a.roots.data)
	if err != nil {
		a.log.Debug().Err(err).Msg("the running host can't be reached")
		return false
	}
	defer fsys.Close()
	forward, err := ring(ctx, fsys)
	if err != nil {
		a.log.Debug().Err(err).Msg("the running host can't be reached")
	}
	return forward
}
