package operator

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	bolt "go.etcd.io/bbolt"

	"collet/platform/testlevel"
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

// TestFloorSets that come from elsewhere are checked, and two of them make one with the higher floors.
func TestFloorSets(t *testing.T) {
	t.Parallel()
	var names []string // of one set
	for i := 0; len(names) < 3; i++ {
		if name := fmt.Sprintf("player-%06d", i); floorSetOf(name) == floorSetOf("player-000000") {
			names = append(names, name)
		}
	}
	n := floorSetOf(names[0])
	one := floorSet{}.with(AccountFloor{names[1], 5}).with(AccountFloor{names[0], 7})
	two := floorSet{}.with(AccountFloor{names[2], 9}).with(AccountFloor{names[1], 6})
	for _, merged := range []floorSet{one.merge(two), two.merge(one)} {
		if merged.floor(names[0]) != 7 || merged.floor(names[1]) != 6 || merged.floor(names[2]) != 9 || merged.accounts() != 3 {
			t.Errorf("merged %q", merged)
		}
		if _, err := parseFloorSet(n, merged); err != nil {
			t.Error(err)
		}
	}
	if got := one.with(AccountFloor{names[0], 0}).with(AccountFloor{names[1], 0}); len(got) != 0 {
		t.Errorf("%q", got)
	}
	reversed := floorSet{}.append(names[1], 5).append(names[0], 7)
	for name, bad := range map[string][]byte{
		"cut": one[:len(one)-1], "out of order": reversed, "twice": append(append(floorSet{}, one...), one...), "no name": floorSet{}.append("", 5),
		"no floor": floorSet{}.append(names[0], 0), "long name": floorSet{}.append(fmt.Sprintf("%0*d", MaxAccount+1, 1), 5), "large": make([]byte, MaxFloorSet+1),
	} {
		if _, err := parseFloorSet(n, bad); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := parseFloorSet(n+1, one); !errors.Is(err, errFloorSet) {
		t.Errorf("of another set: %v", err)
	}
}

// TestFullSet: a set that other nodes have filled is taken over without what is queued for it here, and holds up nothing.
func TestFullSet(t *testing.T) {
	testlevel.Lab(t) // finds accounts of one set by trying
	t.Parallel()
	var full floorSet
	n := floorSetOf("queued")
	name := bytes.Repeat([]byte("a"), MaxAccount)
	for len(full) <= MaxFloorSet-(1+MaxAccount+4) {
		for i := len(name) - 1; ; i-- { // the next name in order
			if name[i]++; name[i] <= 'z' {
				break
			}
			name[i] = 'a'
		}
		if sum := sha256.Sum256(name); binary.BigEndian.Uint16(sum[:]) == n {
			full = full.append(string(name), 7)
		}
	}
	s, err := OpenStore(filepath.Join(t.TempDir(), "compat.db"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	long := strings.Repeat("q", MaxAccount-8)
	var queued []string
	for i := 0; len(queued) < 2; i++ {
		if name := fmt.Sprintf("%s%08d", long, i); floorSetOf(name) == n {
			queued = append(queued, name)
		}
	}
	for _, name := range queued {
		if raised, err := s.QueueFloor(name, 9); !raised || err != nil {
			t.Fatal(raised, err)
		}
	}
	next := Progress{Seq: 5}
	if err := s.PutFloorSets([]FloorSet{{n, full}}, next); err != nil {
		t.Fatal(err)
	}
	p, err := s.Progress()
	set, err2 := s.FloorSet(n)
	if err = errors.Join(err, err2); err != nil || p.Seq != next.Seq || !bytes.Equal(set.Data, full) || s.Floors()[7] != full.accounts() || s.Floors()[9] != 0 {
		t.Errorf("%+v, %d bytes of %d, %v, %v", p, len(set.Data), len(full), s.Floors(), err)
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
