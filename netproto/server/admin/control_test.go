package admin_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto/server/admin"
	"collet/netproto/server/operator"
)

// socketPath is a path for a socket: the folders of tests have names that are too long for one.
func socketPath(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "collet")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return filepath.Join(folder, "control")
}

// controlled serves a control socket until the test ends.
func controlled(t *testing.T, path string, reload func(context.Context) error) {
	t.Helper()
	listener, err := admin.ListenControl(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := admin.ServeControl(ctx, listener, admin.Commands{Operator: func() *operator.Operator { return nil }, Reload: reload}, zerolog.Nop()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		serving.Wait()
		if _, err := os.Lstat(path); err == nil {
			t.Error("the socket is left behind")
		}
	})
}

func TestControlReloads(t *testing.T) {
	path, reloads := socketPath(t), 0
	controlled(t, path, func(context.Context) error {
		if reloads++; reloads > 1 {
			return errors.Join(errors.New("Missing.zip"), errors.New("Lost.zip"))
		}
		return nil
	})
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("permissions %v, %v", info.Mode(), err)
	}
	if err := admin.Ask(t.Context(), path, admin.Reload); err != nil || reloads != 1 {
		t.Fatal(reloads, err)
	}
	err := admin.Ask(t.Context(), path, admin.Reload)
	var fault *admin.ControlError
	if !errors.As(err, &fault) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"Missing.zip", "Lost.zip", "what was offered before stays"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
}

func TestControlSocketFaults(t *testing.T) {
	path := socketPath(t)
	expect := func(err error, want string) {
		t.Helper()
		var fault *admin.ControlError
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want …%s…", err, want)
		}
	}
	expect(admin.Ask(t.Context(), path, admin.Reload), "is the server running")

	controlled(t, path, func(context.Context) error { return nil })
	_, err := admin.ListenControl(path)
	expect(err, "another server listens there")

	_, err = admin.ListenControl(filepath.Join(filepath.Dir(path), "none", "s"))
	expect(err, "its folder must be there")
	_, err = admin.ListenControl(filepath.Join(filepath.Dir(path), strings.Repeat("x", 200)))
	expect(err, "choose a shorter path")
	if runtime.GOOS != "windows" {
		if err := os.WriteFile(path+".txt", []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = admin.ListenControl(path + ".txt")
		expect(err, "something else lies there")
	}
}

func TestLeftoverOfAServerThatIsGoneIsReplaced(t *testing.T) {
	path := socketPath(t)
	gone, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	gone.(*net.UnixListener).SetUnlinkOnClose(false)
	gone.Close()
	controlled(t, path, func(context.Context) error { return nil })
	if err := admin.Ask(t.Context(), path, admin.Reload); err != nil {
		t.Error(err)
	}
}
