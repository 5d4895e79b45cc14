package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"collet/app/install"
	"collet/platform"
)

// stateFolder is a folder in which a socket can hang.
func stateFolder(t *testing.T) *platform.Dir {
	t.Helper()
	d, err := platform.OpenDir(t.TempDir())
	must(t, err)
	t.Cleanup(func() { d.Close() })
	must(t, d.MkdirAll(install.StateDir, 0o755))
	return d
}

// TestInstanceFileIsNotWrittenThroughALink that another user planted.
func TestInstanceFileIsNotWrittenThroughALink(t *testing.T) {
	state := stateFolder(t)
	victim := state.Path("victim")
	must(t, os.WriteFile(victim, []byte("victim"), 0o600))
	if err := os.Symlink(victim, state.Path(instanceFile())); err != nil {
		t.Skip(err)
	}
	b, err := listenForInstances(state, func() bool { return true })
	must(t, err)
	if forward, err := raiseRunning(t.Context(), state); err != nil || !forward {
		t.Errorf("forward %t, %v", forward, err)
	}
	must(t, b.Close())
	if data, err := os.ReadFile(victim); err != nil || string(data) != "victim" {
		t.Errorf("the victim holds %q, %v", data, err)
	}
}

func TestInstanceSocket(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for name, there := range map[string]bool{"a window": true, "no window": false} {
		t.Run(name, func(t *testing.T) {
			state, rung := stateFolder(t), 0
			b, err := listenForInstances(state, func() bool { rung++; return there })
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if forward, err := raiseRunning(t.Context(), state); err != nil || forward != there {
					t.Errorf("forward %v, %v", forward, err)
				}
			}
			if err := b.Close(); err != nil || rung != 3 {
				t.Errorf("rung %d times, %v", rung, err)
			}
			if _, err := raiseRunning(t.Context(), state); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a socket that was closed: %v", err)
			}
		})
	}
}

// TestInstanceSocketNeedsTheSecret: a caller without it learns and moves nothing.
func TestInstanceSocketNeedsTheSecret(t *testing.T) {
	state := stateFolder(t)
	b, err := listenForInstances(state, func() bool { t.Error("came forward for a stranger"); return true })
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, said := range []string{"", "\n", "guess\n", b.secret, b.secret + "x\n", strings.Repeat("x", 3*maxInstanceLine) + "\n", "GET / HTTP/1.1\r\n\r\n"} {
		conn, err := net.Dial("tcp", b.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, said); err != nil {
			t.Fatal(err)
		}
		_ = conn.(*net.TCPConn).CloseWrite() // the socket may have hung up already
		answer, _ := io.ReadAll(conn)        // and a reset is as good as silence
		if len(answer) > 0 {
			t.Errorf("%q was answered with %q", said, answer)
		}
		conn.Close()
	}
}

func TestRingWithoutListener(t *testing.T) {
	for _, text := range []string{"", "x", "70000 secret", "0 secret", "-1 secret", "1"} {
		state := stateFolder(t)
		if err := os.WriteFile(state.Path(instanceFile()), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if forward, err := raiseRunning(t.Context(), state); err == nil || forward {
			t.Errorf("%q: forward %v, %v", text, forward, err)
		}
		if took := time.Since(begin); took > 2*instanceWait {
			t.Errorf("%q: took %v", text, took)
		}
	}
}

// TestRingAtAStranger: the port belongs to another program now, which is silent or sends anything.
func TestRingAtAStranger(t *testing.T) {
	for _, says := range []string{"", "220 mail\n", "forward", strings.Repeat("x", 1000) + "\n"} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := listener.Accept()
			if err == nil {
				io.WriteString(conn, says)
				conn.Close()
			}
		}()
		state := stateFolder(t)
		text := fmt.Sprintf("%d secret\n", listener.Addr().(*net.TCPAddr).Port)
		if err := os.WriteFile(state.Path(instanceFile()), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		forward, err := raiseRunning(ctx, state)
		cancel()
		if forward && err == nil {
			t.Errorf("%q counts as an answer", says)
		}
		listener.Close()
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
