package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"collet/platform"
)

const (
	// maxLine limits a line on the control socket in bytes: a request with the largest game description and arguments, with each byte
	// escaped to six.
	maxLine = 1 << 20
	// maxClients is the number of commands that a station serves at once.
	maxClients = 32
	// askTime is the time limit for a client's request.
	askTime = 10 * time.Second
	// takeTime is the time limit for a client to read one event, so that a stopped client does not block the others.
	takeTime = 10 * time.Second
	// word is the client's cancel message.
	word = "stop"
)

// socketMode is the mode of the control socket. The socket lies in a Home, which other users can't enter even before the mode is set.
const socketMode os.FileMode = 0o600

// Control is the control socket of a Station.
type Control struct {
	station  *Station
	listener *net.UnixListener
	path     string
}

// ListenControl creates the control socket at path. It replaces the socket of a dead process. Serve serves it.
func (s *Station) ListenControl(path string) (*Control, error) {
	if conn, err := net.Dial("unix", path); err == nil {
		conn.Close()
		return nil, failure(FaultOther, "another desk serves %s already; end it, or take another address with --listen", s.options.Address)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fail(err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fail(fmt.Errorf("control socket: %w; name another folder with --state", err))
	}
	if err := os.Chmod(path, socketMode); err != nil {
		return nil, fail(errors.Join(fmt.Errorf("control socket: %w", err), listener.Close()))
	}
	return &Control{s, listener, path}, nil
}

// Serve handles clients until ctx ends, and returns when all requests have ended.
func (c *Control) Serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { c.listener.Close() })()
	var clients sync.WaitGroup
	defer clients.Wait()
	room := make(chan struct{}, maxClients)
	for {
		conn, err := c.listener.Accept()
		if err != nil && ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fail(err)
		}
		select {
		case room <- struct{}{}:
			clients.Go(func() {
				defer func() { <-room }()
				c.serve(ctx, conn)
			})
		default:
			conn.Close() // the client reports that the desk has gone away
		}
	}
}

// Close removes the socket, even if Serve never ran.
func (c *Control) Close() error {
	err := c.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// serve handles one connection.
func (c *Control) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, maxLine)
	_ = conn.SetReadDeadline(time.Now().Add(askTime)) // fails only on a closed connection
	end := Event{Kind: KindEnd, Time: time.Now()}
	out := &writer{conn: conn, cancel: cancel}
	r, err := readRequest(lines)
	if err == nil {
		_ = conn.SetReadDeadline(time.Time{})
		var reader sync.WaitGroup
		reader.Go(func() { waitStop(lines, cancel) })
		err = c.station.Do(ctx, r, out.event)
		defer reader.Wait()
		defer conn.Close()
	}
	var f *Failure
	if errors.As(err, &f) {
		end.Error, end.Fault = f.Text, f.Fault
	}
	end.Time = time.Now()
	out.event(end)
}

// readRequest reads the first line.
func readRequest(lines *bufio.Scanner) (r Request, err error) {
	if !lines.Scan() {
		return r, failure(FaultUsage, "no request came")
	}
	if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
		return r, failure(FaultUsage, "the request can't be understood: %v", err)
	}
	return r, nil
}

// waitStop calls cancel when the client sends the cancel message or disconnects.
func waitStop(lines *bufio.Scanner, cancel func()) {
	defer cancel()
	for lines.Scan() && lines.Text() != word {
	}
}

// writer sends events to a client. If the client does not read them, its request is cancelled.
type writer struct {
	conn   net.Conn
	cancel func()
}

func (w *writer) event(e Event) {
	line, err := json.Marshal(e)
	if err == nil {
		_ = w.conn.SetWriteDeadline(time.Now().Add(takeTime)) // fails only on a closed connection
		_, err = w.conn.Write(append(line, '\n'))
	}
	if err != nil {
		w.cancel()
	}
}

// Link is a Station in another process, reached over its control socket. A Link does one request at a time.
type Link struct {
	path    string
	address string
}

// Dial connects to the station with the control socket path; address is the station's listen address, for errors. The error is
// os.ErrNotExist if the socket does not exist, and another one if other users could have created it.
func Dial(path, address string) (*Link, error) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return nil, fmt.Errorf("%w: no desk serves %s", os.ErrNotExist, address)
	}
	conn.Close()
	if err := platform.CheckPrivate(path); err != nil {
		return nil, failure(FaultOther, "control socket: %v; end what serves it, and start collet remote serve again", err)
	}
	return &Link{path, address}, nil
}

// Do implements Doer. When ctx ends it cancels the request and passes on events until the request has ended.
func (l *Link) Do(ctx context.Context, r Request, emit func(Event)) error {
	conn, err := net.Dial("unix", l.path)
	if err != nil {
		return l.gone()
	}
	defer conn.Close()
	request, err := json.Marshal(r)
	if err != nil {
		return fail(err)
	}
	if _, err := conn.Write(append(request, '\n')); err != nil {
		return l.gone()
	}
	defer context.AfterFunc(ctx, func() {
		_, _ = conn.Write([]byte(word + "\n")) // on a closed connection the reader below reports it
	})()
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var e Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return failure(FaultOther, "the desk on %s said what can't be understood: %v; end it and start it again", l.address, err)
		}
		if e.Kind == KindEnd {
			return ending(e)
		}
		emit(e)
	}
	return l.gone()
}

// ending returns the result in the last event.
func ending(e Event) error {
	if e.Error == "" {
		return nil
	}
	return &Failure{e.Fault, e.Error}
}

func (l *Link) gone() error {
	return failure(FaultOther, "the desk on %s ended meanwhile; what arrived on devices stays, start it again and push again", l.address)
}
