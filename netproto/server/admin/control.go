package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/net/netutil"

	"collet/netproto/server/operator"
	"collet/platform"
)

const (
	// controlMode are the socket's permissions.
	controlMode fs.FileMode = 0o600
	// maxSocketPath is the longest path in bytes that the sockets of every system take (sun_path of macOS has 104).
	maxSocketPath = 103
	// controlPatience is how long an existing socket may take to accept, which tells a running server from a leftover.
	controlPatience = time.Second
	// maxControlAnswer is how much of an answer is shown, in bytes: the faults of a thousand files.
	maxControlAnswer = 256 << 10
)

// ControlError says why a control socket can't be opened, or why a request through it failed.
type ControlError struct {
	Path string
	Err  error
	Hint string // what to do; may be empty
}

func (e *ControlError) Error() string {
	text := fmt.Sprintf("control socket %q: %v", e.Path, rootCause(platform.Reason(e.Err)))
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unwrap gives the underlying error.
func (e *ControlError) Unwrap() error { return e.Err }

// ListenControl opens the control socket. Other users can never connect: the socket is created in a folder with access for its
// owner only, and then renamed. A leftover of an ended server is replaced; a socket that answers is an error. Errors are
// *ControlError.
func ListenControl(path string) (*ControlListener, error) {
	if len(path) > maxSocketPath {
		return nil, &ControlError{Path: path, Err: fmt.Errorf("is %d bytes long", len(path)), Hint: fmt.Sprintf("choose a shorter path, of at most %d bytes", maxSocketPath)}
	}
	if err := checkReplaceable(path); err != nil {
		return nil, err
	}
	private, err := os.MkdirTemp(filepath.Dir(path), ".control-")
	if err != nil {
		return nil, &ControlError{Path: path, Err: err, Hint: "its folder must be there and writable for the server"}
	}
	defer os.RemoveAll(private)
	made := filepath.Join(private, "s")
	listener, err := net.Listen("unix", made)
	if err != nil {
		return nil, &ControlError{Path: path, Err: err, Hint: "choose a path in a folder with a shorter name"}
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(made, controlMode), os.Rename(made, path)); err != nil {
		return nil, errors.Join(&ControlError{Path: path, Err: err}, listener.Close())
	}
	return &ControlListener{Listener: listener, path: path}, nil
}

// InheritControl is ListenControl for a socket that another process has opened at that path and listens on no longer.
func InheritControl(socket net.Listener, path string) *ControlListener {
	return &ControlListener{Listener: socket, path: path}
}

// checkReplaceable refuses a path at which there is anything but a leftover socket.
func checkReplaceable(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &ControlError{Path: path, Err: err}
	}
	if info.Mode()&fs.ModeSocket == 0 && runtime.GOOS != "windows" { // which shows sockets as files
		return &ControlError{Path: path, Err: errors.New("something else lies there"), Hint: "set Operations.ControlSocket to a free path"}
	}
	conn, err := net.DialTimeout("unix", path, controlPatience)
	if err != nil {
		return nil
	}
	conn.Close()
	return &ControlError{Path: path, Err: errors.New("another server listens there"), Hint: "stop it, or set Operations.ControlSocket to a free path"}
}

// ControlListener is a control socket. It removes its path when it is closed.
type ControlListener struct {
	net.Listener
	path string
	left atomic.Bool // another process listens on the socket
}

// Leave makes Close keep the path, because another process listens on the socket now.
func (n *ControlListener) Leave() { n.left.Store(true) }

// Close implements net.Listener.
func (n *ControlListener) Close() error {
	if !n.left.Load() {
		os.Remove(n.path)
	}
	return n.Listener.Close()
}

// Limits of requests through the control socket.
const (
	// requestTime is how long a request may take to arrive.
	requestTime = 5 * time.Second
	// idleTime is how long a connection may be idle between requests.
	idleTime = 30 * time.Second
	// lastAnswers is how long answers that are under way may take when the server ends.
	lastAnswers = time.Second
	// maxHead is the largest head of a request in bytes.
	maxHead = 8 << 10
	// maxConnections is how many connections are open at once; others wait in the system's queue.
	maxConnections = 32
)

// localActor is the actor of the control socket.
const localActor = "local"

// Commands are what a server can be asked through its control socket, beside the admin API. The context is the server's, not a
// request's: a command goes on if the client disconnects.
type Commands struct {
	Operator func() *operator.Operator   // of the admin API; its result is nil for none
	Reload   func(context.Context) error // returns when the new catalogue is offered
	Upgrade  func(context.Context) error // returns when a new program serves in this one's place; nil: it is refused
}

// Names of commands, for Ask.
const (
	Reload  = "reload"
	Upgrade = "upgrade"
)

// ServeControl answers requests through the control socket until ctx ends, and closes the listener: commands, and the admin API at
// the same paths as over HTTP. Clients of the socket (the server's own user and root) may do everything, without a token. So the
// first token can be created there, and a lost one replaced, independently of the HTTP port. Answers that are pending at the end
// are aborted after lastAnswers.
func ServeControl(ctx context.Context, listener net.Listener, do Commands, log zerolog.Logger) error {
	mux := controlRoutes(ctx, do, log)
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		op := do.Operator()
		if op == nil {
			answerError(w, http.StatusNotFound, APIError{Code: "unknown", Error: NoStore})
			return
		}
		Handler(op, operator.Actor{Name: localActor, Role: operator.RoleAdmin, Source: sourceOf(r)}).ServeHTTP(w, r)
	})
	s := &http.Server{
		Handler: mux, ReadTimeout: requestTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHead,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended, stop := context.WithCancel(ctx)
	var closing sync.WaitGroup
	defer closing.Wait()
	defer stop()
	closing.Go(func() {
		<-ended.Done()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
		defer cancel()
		s.Shutdown(last)
		s.Close()
	})
	err := s.Serve(netutil.LimitListener(listener, maxConnections))
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// controlRoutes has the requests that every server answers.
func controlRoutes(ctx context.Context, do Commands, log zerolog.Logger) *http.ServeMux {
	mux := http.NewServeMux()
	for name, command := range map[string]func(context.Context) error{Reload: do.Reload, Upgrade: do.Upgrade} {
		if command == nil {
			continue
		}
		mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, r *http.Request) {
			log.Info().Msgf("Asked to %s through the control socket", name)
			if err := command(ctx); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			fmt.Fprintln(w, "done")
		})
	}
	return mux
}

// Ask asks the server behind a control socket for Reload or Upgrade and waits for the outcome. The error is a *ControlError, or
// ctx's.
func Ask(ctx context.Context, path, command string) error {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://control/"+command, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(ask)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op
		}
		return &ControlError{Path: path, Err: err, Hint: "is the server running, with this control socket, and are you its user?"}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxControlAnswer))
	switch {
	case err == nil && answer.StatusCode == http.StatusOK:
		return nil
	case answer.StatusCode == http.StatusNotFound:
		return &ControlError{Path: path, Err: fmt.Errorf("the running server does not know the command %q", command), Hint: "it is of an earlier version: restart it"}
	default:
		fault := &ControlError{Path: path, Err: errors.Join(errors.New(strings.TrimSpace(string(text))), err)}
		if command == Reload { // the error of an upgrade says itself what counts now
			fault.Hint = "what was offered before stays"
		}
		return fault
	}
}

// rootCause drops the layers of net's errors that repeat the address.
func rootCause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var call interface{ Unwrap() error }
	if errors.As(err, &call) && call.Unwrap() != nil {
		return call.Unwrap()
	}
	return err
}
