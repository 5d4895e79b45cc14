package operator

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
	bolt "go.etcd.io/bbolt"
)

// TestFloorsOfEarlierStores are found in their sets after the store was opened once.
func TestFloorsOfEarlierStores(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "compat.db")
	open := func() *FileStore {
		s, err := OpenStore(path, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const players = 400
	if err := errors.Join(open().Close(), inStore(path, func(tx *bolt.Tx) error {
		for i := range players {
			if err := putValue(tx, bucketFloors, fmt.Appendf(nil, "player-%d", i), []byte{0, 0, 0, byte(7 + i%2)}); err != nil {
				return err
			}
		}
		return errors.Join(changeHead(tx, func(h *head) { h.Floors = players }), tx.DeleteBucket([]byte(bucketFloorSets)))
	})); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s := open()
		if got := s.Floors(); !maps.Equal(got, map[int32]int{7: players / 2, 8: players / 2}) {
			t.Errorf("floors %v", got)
		}
		for i := range players {
			if floor, err := s.Floor(fmt.Sprintf("player-%d", i)); floor != int32(7+i%2) || err != nil {
				t.Fatalf("player %d: %d, %v", i, floor, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkAccounts looks through a million accounts, of which none is wanted.
func BenchmarkAccounts(b *testing.B) {
	const rows, players = 50, 1_000_000
	opened, err := OpenStore(filepath.Join(b.TempDir(), "compat.db"), zerolog.Nop())
	if err != nil {
		b.Fatal(err)
	}
	defer opened.Close()
	err = opened.db.Update(func(tx *bolt.Tx) error {
		sets := map[uint16]floorSet{}
		for i := range players {
			name := fmt.Sprintf("player-%08d", i)
			sets[floorSetOf(name)] = sets[floorSetOf(name)].with(AccountFloor{name, 7})
		}
		for n, set := range sets {
			if err := putFloorSet(tx, n, set, set.accounts()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if found, _, err := opened.Accounts(AccountQuery{Want: func(int32) bool { return false }, Limit: rows}); len(found) != 0 || err != nil {
			b.Fatal(found, err)
		}
	}
}
