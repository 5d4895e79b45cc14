//go:build !nocluster

package cluster_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto/server/cluster"
	"collet/netproto/server/operator"
	"collet/netproto/server/operator/storetest"
	"collet/platform/testlevel"
)

// alone is the configuration of the only member of a cluster, in a folder.
func alone(folder string) cluster.Config {
	return cluster.Config{Name: "a", Members: []string{"a"}, Folder: filepath.Join(folder, "engine"), Token: "0123456789abcdef"}
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
				if err := os.CopyFS(filepath.Join(copied, "it"), os.DirFS(folder)); err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				folder = filepath.Join(copied, "it")
			}
		}
	})
}
