//go:build !nocluster

package cluster_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto/server/cluster"
	"collet/netproto/server/operator"
	"collet/platform/testlevel"
)

// TestDrill rehearses with the store of a server that has stopped: an empty node has all of it in the end, and the store is as it was.
func TestDrill(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	backup := filepath.Join(t.TempDir(), "compat.db")
	s := serving(t, backup, cluster.Config{}, zerolog.Nop())
	for _, text := range []string{"one", "two"} {
		if err := s.says(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, account := range []string{"ann", "bob"} {
		if err := s.store.Raise(account, 7); err != nil {
			t.Fatal(err)
		}
	}
	s.closed(t)
	before, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	was, err := operator.Inspect(backup)
	if err != nil {
		t.Fatal(err)
	}

	var steps []string
	sum, err := cluster.Drill(t.Context(), backup, t.TempDir(), func(step string) { steps = append(steps, step) }, zerolog.Nop())
	if want := (operator.Summary{Revision: was.Revision, Records: was.Records + 1, Floors: 2}); err != nil || sum != want {
		t.Errorf("a drill has %+v, %v, want %+v", sum, err, want)
	}
	if len(steps) != 4 {
		t.Errorf("the steps are:\n%s", strings.Join(steps, "\n"))
	}
	if after, err := os.ReadFile(backup); err != nil || string(after) != string(before) {
		t.Errorf("the backup has changed, %v", err)
	}

	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := cluster.Drill(ended, backup, t.TempDir(), func(string) {}, zerolog.Nop()); !errors.Is(err, context.Canceled) {
		t.Errorf("a drill that is ended gives %v", err)
	}
	before[len(before)/2] ^= 0xff
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	if err := os.WriteFile(damaged, before[:len(before)/2+1], 0o600); err != nil {
		t.Fatal(err)
	}
	var fault *operator.StoreError
	if _, err := cluster.Drill(t.Context(), damaged, t.TempDir(), func(string) {}, zerolog.Nop()); !errors.As(err, &fault) {
		t.Errorf("a drill with a damaged backup gives %v", err)
	}
}
