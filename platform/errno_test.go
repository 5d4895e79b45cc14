package platform_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"
	"testing"

	"collet/platform"
)

// TestIsRefused asks a port at which nothing listens, through all that may be put around the answer.
func TestIsRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err == nil {
		conn.Close()
		t.Skip("something else has the port by now")
	}
	for name, err := range map[string]error{
		"plain": err, "wrapped": fmt.Errorf("reach it: %w", err), "one of two": errors.Join(fs.ErrNotExist, err),
		"behind another number": errors.Join(fmt.Errorf("first: %w", syscall.ENOENT), err),
	} {
		if !platform.IsRefused(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, err := range []error{nil, fs.ErrNotExist, syscall.ENOENT, &net.DNSError{Err: "no such host", IsNotFound: true}} {
		if platform.IsRefused(err) {
			t.Errorf("%v", err)
		}
	}
}
