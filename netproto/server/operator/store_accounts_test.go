package operator

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rs/zerolog"
	bolt "go.etcd.io/bbolt"

	"collet/platform/testlevel"
)

// TestAccounts goes through all accounts in pages of every size, and finds each one that is wanted once.
func TestAccounts(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	opened, err := OpenStore(filepath.Join(t.TempDir(), "compat.db"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	var names []string
	for i := range 40 {
		name := fmt.Sprintf("%c%02d", 'a'+i%3, i)
		names = append(names, name)
		if _, err := opened.SetFloor(name, int32(5+i%4), false); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	all := func(q AccountQuery) (found []string) {
		for pages := 0; ; pages++ {
			accounts, next, err := opened.Accounts(q)
			if err != nil || len(accounts) > q.Limit || pages > len(names)+1 {
				t.Fatal(accounts, pages, err)
			}
			for _, a := range accounts {
				found = append(found, a.Account)
			}
			if q.After = next; next == "" {
				return found
			}
		}
	}
	any := func(int32) bool { return true }
	for _, limit := range []int{1, 3, 39, 40, 41} {
		for _, looks := range []int{1, 7, 1000} {
			if got := all(AccountQuery{Want: any, Limit: limit, Looks: looks}); !slices.Equal(got, names) {
				t.Errorf("%d of %d: %v", limit, looks, got)
			}
			eights := slices.DeleteFunc(slices.Clone(names), func(name string) bool { floor, _ := opened.Floor(name); return floor != 8 })
			if got := all(AccountQuery{Want: func(floor int32) bool { return floor == 8 }, Limit: limit, Looks: looks}); !slices.Equal(got, eights) {
				t.Errorf("%d of %d: those with 8 are %v, want %v", limit, looks, got, eights)
			}
			bs := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name[0] != 'b' })
			if got := all(AccountQuery{Prefix: "b", Want: any, Limit: limit, Looks: looks}); !slices.Equal(got, bs) {
				t.Errorf("%d of %d: those with b are %v, want %v", limit, looks, got, bs)
			}
		}
	}
	for _, q := range []AccountQuery{{Prefix: "x"}, {After: "zz"}, {Prefix: "a", After: "b"}} {
		q.Want, q.Limit, q.Looks = any, 9, 9
		if got, next, err := opened.Accounts(q); len(got) != 0 || next != "" || err != nil {
			t.Errorf("%+v: %v, %q, %v", q, got, next, err)
		}
	}
}

// BenchmarkAccounts looks through as many accounts as one page may, of which none is wanted.
func BenchmarkAccounts(b *testing.B) {
	const rows, looks = 50, 50_000 // of the dashboard
	opened, err := OpenStore(filepath.Join(b.TempDir(), "compat.db"), zerolog.Nop())
	if err != nil {
		b.Fatal(err)
	}
	defer opened.Close()
	err = opened.(*boltStore).db.Update(func(tx *bolt.Tx) error {
		for i := range looks {
			if err := putValue(tx, bucketFloors, fmt.Appendf(nil, "player-%08d", i), []byte{0, 0, 0, 7}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if found, _, err := opened.Accounts(AccountQuery{Want: func(int32) bool { return false }, Limit: rows, Looks: looks}); len(found) != 0 || err != nil {
			b.Fatal(found, err)
		}
	}
}
