package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// ListenError says why an address can't be listened on, with a hint.
type ListenError struct {
	Addr   string
	Option string // the option that sets the address; empty: --listen or Network.ServerPort
	Err    error
}

func (e *ListenError) Error() string {
	return fmt.Sprintf("listen on %s: %v%s", e.Addr, rootCause(e.Err), e.hint())
}

// Unwrap gives the underlying error.
func (e *ListenError) Unwrap() error { return e.Err }

func (e *ListenError) hint() string {
	other := "choose another one with " + cmp.Or(e.Option, "--listen or Network.ServerPort")
	var dns *net.DNSError
	var addr *net.AddrError
	switch {
	case errors.Is(e.Err, syscall.EADDRINUSE) || errors.Is(e.Err, windowsAddrInUse):
		return "; another program listens on that port, perhaps another server: stop it, or " + other
	case errors.Is(e.Err, syscall.EACCES):
		return "; ports below 1024 need privileges: " + other
	case errors.Is(e.Err, syscall.EADDRNOTAVAIL):
		return "; this machine has no such address: " + other
	case errors.As(e.Err, &dns), errors.As(e.Err, &addr):
		return "; want HOST:PORT, for example 127.0.0.1:4000 or :4000"
	default:
		return ""
	}
}

// windowsAddrInUse is WSAEADDRINUSE, which package syscall does not name on Windows.
const windowsAddrInUse = syscall.Errno(10048)

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

// Listen opens a TCP listener. An empty host is every address of the machine, IPv4 and IPv6; port 0 is any free one.
// The error is a *ListenError.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, &ListenError{Addr: addr, Err: err}
	}
	return listener, nil
}
