//go:build !nocluster

package cluster_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto/server/cluster"
	"collet/netproto/server/operator"
	"collet/netproto/server/operator/storetest"
	"collet/platform/testlevel"
	"collet/platform/testwait"
)

// alone is the configuration of the only member of a cluster, in a folder.
func alone(folder string) cluster.Config {
	return cluster.Config{Name: "a", Members: []string{"a"}, Folder: filepath.Join(folder, "engine"), Token: "0123456789abcdef", Patience: testwait.Limit}
}

// always are settings that don't change.
func always(c cluster.Config) func() (cluster.Config, error) {
	return func() (cluster.Config, error) { return c, nil }
}

func opened(t testing.TB, folder string, c cluster.Config) operator.Store {
	t.Helper()
	s, err := cluster.OpenNode(t.Context(), always(c), filepath.Join(folder, "compat.db"), zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// settled waits until no floors of a node are on their way.
func settled(t testing.TB, s operator.Store) {
	t.Helper()
	testwait.Until(t, func() bool {
		queued, err := s.(*cluster.Node).Queued(1)
		return err == nil && len(queued) == 0
	}, "floors stay queued")
}

// copySettled copies the files of a node that is open.
func copySettled(t testing.TB, s operator.Store, from, to string) {
	t.Helper()
	settled(t, s)
	if err := os.CopyFS(to, withoutParts{os.DirFS(from)}); err != nil {
		t.Fatal(err)
	}
}

// withoutParts is a folder without the store's copy that is being written: it gets its name at any moment.
type withoutParts struct{ fs.FS }

func (w withoutParts) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(w.FS, name)
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool { return strings.HasSuffix(e.Name(), ".part") }), err
}

// TestStore holds the shared store to the contract of every store. Its crash is a copy of its files at that moment.
func TestStore(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	storetest.Run(t, func(t testing.TB) func() (operator.Store, func()) {
		folder := t.TempDir()
		return func() (operator.Store, func()) {
			s := opened(t, folder, alone(folder))
			return s, func() {
				copied := t.TempDir()
				copySettled(t, s, folder, filepath.Join(copied, "it"))
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				folder = filepath.Join(copied, "it")
			}
		}
	})
}

// TestFloorsAtTheStart: a node whose file is lost knows the floors of the cluster when its store is open, so it refuses each player below one.
func TestFloorsAtTheStart(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	folder := t.TempDir()
	s := opened(t, folder, alone(folder))
	const accounts = 20
	for i := range accounts {
		if err := s.Raise(fmt.Sprint("player", i), 7); err != nil {
			t.Fatal(err)
		}
	}
	settled(t, s)
	file := filepath.Join(folder, "compat.db")
	if err := errors.Join(s.Close(), os.RemoveAll(file), os.RemoveAll(operator.Backup(file))); err != nil {
		t.Fatal(err)
	}
	s = opened(t, folder, alone(folder))
	if floors := s.Floors(); floors[7] != accounts {
		t.Errorf("a node with an empty file begins with floors %v, want %d at 7", floors, accounts)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
