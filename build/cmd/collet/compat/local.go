package compat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"strings"

	"github.com/rs/zerolog"

	"collet/build/cmd/collet/console"
	"collet/netproto/compat"
	"collet/netproto/server"
	"collet/netproto/server/admin"
	"collet/netproto/server/config"
	"collet/netproto/server/operator"
)

// localFlags say which server of this machine is asked without its HTTP port, whether it runs or not. Embed it.
type localFlags struct {
	Config    string `group:"api" type:"existingfile" placeholder:"FILE" help:"Settings file of a server on this machine. Uses its control socket while it runs, and its store while it does not."`
	SubConfig string `group:"api" placeholder:"NAME" help:"Settings in [SubConfig.NAME] override those of the file, as with collet-server."`
	Control   string `group:"api" placeholder:"PATH" help:"Control socket of a running server."`
}

// given reports whether any of them is.
func (f localFlags) given() bool { return f.Config != "" || f.Control != "" || f.SubConfig != "" }

// openLocal prepares to ask. The server is tried first: only one that does not run has left its store to us.
func (f localFlags) openLocal(ctx context.Context) (*api, error) {
	switch {
	case f.Config == "" && f.SubConfig != "":
		return nil, console.Usage(errors.New("--sub-config goes with --config"))
	case f.Config != "" && f.Control != "":
		return nil, console.Usage(errors.New("--config and --control: name one of them; the settings have the socket"))
	case f.Control != "":
		return overSocket(f.Control), nil
	}
	set, err := config.Load(f.Config, f.SubConfig)
	if err != nil {
		return nil, err
	}
	socket := set.Operations.ControlSocket
	if socket != "" && answers(ctx, socket) {
		return overSocket(socket), nil
	}
	o, err := server.OpenIdle(ctx, set, zerolog.Nop())
	var held *operator.StoreError
	switch {
	case errors.As(err, &held) && held.Held && socket == "":
		return nil, fmt.Errorf("the server runs and has %s: ask it with --server, or set Operations.ControlSocket so that this works beside it", set.Compat.Store)
	case errors.As(err, &held) && held.Held:
		return nil, fmt.Errorf("a server has %s, and does not answer at its control socket %s. If it has just been started, it may wait for its cluster, and its log says so; otherwise ask it with --server, or --control where it listens", set.Compat.Store, socket)
	case err != nil:
		return nil, err
	}
	return overStore(o, set.Compat.Store), nil
}

// answers reports whether a process listens on a socket. The socket of an ended server has no listener.
func answers(ctx context.Context, path string) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return errors.Is(err, fs.ErrPermission) // another user's server: its error is reported, and the store stays closed
	}
	_ = conn.Close() // the connection was only a test
	return true
}

// overSocket asks a running server.
func overSocket(path string) *api {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	return &api{
		base: &url.URL{Scheme: "http", Host: "local"}, name: path,
		client: &http.Client{Timeout: answerTime, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}},
	}
}

// overStore asks what a server would answer that had this store.
func overStore(o *operator.Operator, path string) *api {
	by := operator.Actor{Name: person(), Role: operator.RoleAdmin, Source: compat.SourceCLI}
	return &api{
		base: &url.URL{Scheme: "http", Host: "local"}, name: path,
		client: &http.Client{Transport: within{admin.Handler(o, by)}}, closer: o,
	}
}

// person returns the current user, for the history.
func person() string {
	name := "local"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = console.Clean(u.Username)
	}
	return name[:min(len(name), operator.MaxActor)]
}

// within answers requests in this process.
type within struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (w within) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	a := &answered{header: http.Header{}, status: http.StatusOK}
	w.handler.ServeHTTP(a, r)
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: r,
	}, nil
}

// answered keeps an answer.
type answered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answered) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answered) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *answered) Write(p []byte) (int, error) { return a.body.Write(p) }

// close lets go of what was opened, and adds to the error of what was done with it.
func (a *api) close(err *error) {
	if a.closer != nil {
		*err = errors.Join(*err, a.closer.Close())
	}
}

// unreachableSocket returns advice for a control socket without a listener; nil for other errors.
func unreachableSocket(path string, err error) error {
	var fault *net.OpError
	if !errors.As(err, &fault) || !strings.HasPrefix(fault.Net, "unix") {
		return nil
	}
	var reason error = fault
	if inner := new(os.SyscallError); errors.As(fault, &inner) {
		reason = inner.Err
	}
	return fmt.Errorf("control socket %s: %w; is the server running, with this socket, and are you its user?", path, reason)
}
