// Package storetest has the contract of operator.Store as tests, which every implementation passes.
package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"collet/netproto/compat"
	"collet/netproto/server/operator"
)

// Run runs the contract. open opens the same empty store again and again: each call follows the Close of the store before, or with
// crash an end without a Close.
func Run(t *testing.T, open func(t testing.TB) (reopen func() (s operator.Store, crash func()))) {
	for name, test := range map[string]func(*testing.T, func() (operator.Store, func())){
		"Keeps": testKeeps, "Refuses": testRefuses, "AtOnce": testAtOnce, "Records": testRecords, "Accounts": testAccounts, "Crash": testCrash,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// Document is a document of settings for tests. A store does not look into it.
func Document(revision uint64) []byte {
	return fmt.Appendf(nil, `{"revision": %d, "filler": %q}`, revision, strings.Repeat("x", 700))
}

// Next is a change that follows the newest record of a store, with settings under a revision; 0: without settings.
func Next(t testing.TB, s operator.Store, revision uint64) operator.Commit {
	t.Helper()
	newest, err := s.Records(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	var last *compat.Audit
	if len(newest) == 1 {
		last = &newest[0]
	}
	record := compat.Audit{Actor: "ops", Source: compat.SourceAPI, Before: []byte("null"), After: []byte("null"), Keys: []string{}, Build: "b1"}
	c := operator.Commit{Record: record}
	if revision > 0 {
		c.Record.After, c.Record.Keys, c.Document, c.Revision = Document(revision), []string{"active_min"}, Document(revision), revision
	}
	c.Record = compat.Chain(last, c.Record)
	return c
}

// Fill commits settings of the revisions from one to another.
func Fill(t testing.TB, s operator.Store, from, to uint64) {
	t.Helper()
	for n := from; n <= to; n++ {
		if err := s.Commit(Next(t, s, n)); err != nil {
			t.Fatal(err)
		}
	}
}

func closed(t testing.TB, s operator.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// setFloor is a recorded change of a floor, and raise one without a record; both return what is stored then.
func setFloor(t *testing.T, s operator.Store, account string, floor int32) int32 {
	t.Helper()
	c := Next(t, s, 0)
	c.Floor = &operator.AccountFloor{Account: account, Floor: floor}
	return floorAfter(t, s, account, s.Commit(c))
}

func raise(t *testing.T, s operator.Store, account string, floor int32) int32 {
	t.Helper()
	return floorAfter(t, s, account, s.Raise(account, floor))
}

func floorAfter(t *testing.T, s operator.Store, account string, err error) int32 {
	t.Helper()
	floor, err2 := s.Floor(account)
	if err := errors.Join(err, err2); err != nil {
		t.Error(err)
	}
	return floor
}

// testKeeps writes everything, opens the store again, and finds it.
func testKeeps(t *testing.T, open func() (operator.Store, func())) {
	s, _ := open()
	if document, build, err := s.Settings(); document != nil || build != "" || err != nil {
		t.Errorf("a new store has %s of %s, %v", document, build, err)
	}
	if err := s.Writable(); err != nil {
		t.Error(err)
	}
	Fill(t, s, 1, 5)
	for i, step := range []struct{ got, want int32 }{
		{raise(t, s, "ann", 7), 7}, {raise(t, s, "bob", 7), 7}, {raise(t, s, "cid", 5), 5}, {raise(t, s, "ann", 6), 7},
		{setFloor(t, s, "ann", 6), 6}, {raise(t, s, "ann", 8), 8}, {setFloor(t, s, "cid", 0), 0}, {setFloor(t, s, "new", 0), 0}, {setFloor(t, s, "dan", 3), 3},
	} {
		if step.got != step.want {
			t.Errorf("step %d: %d, want %d", i, step.got, step.want)
		}
	}
	tokens := []operator.Token{{Name: "ops", Role: operator.RoleAdmin, Sum: "00"}}
	c := Next(t, s, 0)
	c.Tokens = &tokens
	if err := s.Commit(c); err != nil {
		t.Error(err)
	}
	for range 2 { // before and after a restart
		checkKept(t, s)
		closed(t, s)
		s, _ = open()
	}
	closed(t, s)
}

func checkKept(t *testing.T, s operator.Store) {
	t.Helper()
	document, build, err := s.Settings()
	if !bytes.Equal(document, Document(5)) || build != "b1" || err != nil {
		t.Errorf("%.40s of %s, %v", document, build, err)
	}
	if third, err := s.Revision(3); !bytes.Equal(third, Document(3)) || err != nil {
		t.Errorf("revision 3 is %.40s, %v", third, err)
	}
	if _, err := s.Revision(6); !errors.Is(err, operator.ErrUnknown) {
		t.Errorf("revision 6: %v", err)
	}
	if got, want := s.Floors(), map[int32]int{7: 1, 8: 1, 3: 1}; !maps.Equal(got, want) {
		t.Errorf("floors %v, want %v", got, want)
	}
	if tokens, err := s.Tokens(); len(tokens) != 1 || tokens[0].Name != "ops" || err != nil {
		t.Errorf("tokens %v, %v", tokens, err)
	}
	checkChain(t, s, 10)
}

// checkChain verifies the whole chain.
func checkChain(t *testing.T, s operator.Store, records uint64) {
	t.Helper()
	log, head, err := s.Log()
	if err != nil || head != records {
		t.Fatal(head, err)
	}
	last, err := compat.VerifyChain(log)
	if err != nil || last == nil || last.Seq != records || log.Close() != nil {
		t.Errorf("%+v, %v", last, err)
	}
}

// testRefuses tries what does not follow what the store has: all of a change is refused.
func testRefuses(t *testing.T, open func() (operator.Store, func())) {
	s, _ := open()
	defer closed(t, s)
	Fill(t, s, 1, 2)
	var stale *operator.StaleError
	for _, revision := range []uint64{2, 4} {
		if err := s.Commit(Next(t, s, revision)); !errors.As(err, &stale) || stale.Current != 2 {
			t.Errorf("revision %d: %v", revision, err)
		}
	}
	for _, seq := range []uint64{2, 9} {
		c := Next(t, s, 3)
		c.Record.Seq = seq
		c.Floor, c.Tokens = &operator.AccountFloor{Account: "ann", Floor: 7}, &[]operator.Token{{Name: "ops"}}
		if err := s.Commit(c); !errors.Is(err, operator.ErrMoved) {
			t.Errorf("record %d: %v", seq, err)
		}
	}
	document, _, err := s.Settings()
	tokens, err2 := s.Tokens()
	if floor := floorAfter(t, s, "ann", errors.Join(err, err2)); !bytes.Equal(document, Document(2)) || floor != 0 || len(tokens) != 0 {
		t.Errorf("a part of a change stayed: %.40s, floor %d, tokens %v", document, floor, tokens)
	}
	checkChain(t, s, 2)
}

// testAtOnce lets many make the same change: one of them does, and the others are told. Floors of all of them count.
func testAtOnce(t *testing.T, open func() (operator.Store, func())) {
	s, _ := open()
	defer closed(t, s)
	var all sync.WaitGroup
	for round := range uint64(5) {
		made := make(chan error, 8)
		next := Next(t, s, round+1)
		for i := range cap(made) {
			all.Go(func() { made <- s.Commit(next) })
			all.Go(func() {
				if err := s.Raise(fmt.Sprint("account-", i), int32(round)+1); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		good := 0
		var stale *operator.StaleError
		for range cap(made) {
			switch err := <-made; {
			case err == nil:
				good++
			case !errors.As(err, &stale) && !errors.Is(err, operator.ErrMoved):
				t.Error(err)
			}
		}
		if good != 1 {
			t.Errorf("round %d: %d of the same changes were made", round, good)
		}
	}
	checkChain(t, s, 5)
	if got := s.Floors(); !maps.Equal(got, map[int32]int{5: 8}) {
		t.Errorf("floors %v", got)
	}
}

// testRecords reads pages of the audit log from every place.
func testRecords(t *testing.T, open func() (operator.Store, func())) {
	s, _ := open()
	defer closed(t, s)
	if records, err := s.Records(0, 2); len(records) != 0 || err != nil {
		t.Errorf("%v, %v", records, err)
	}
	Fill(t, s, 1, 5)
	for before, first := range map[uint64]uint64{0: 5, 5: 4, 99: 5, 2: 1, 1: 0} {
		records, err := s.Records(before, 2)
		if err != nil || len(records) > 2 || first == 0 && len(records) != 0 || first > 0 && records[0].Seq != first {
			t.Errorf("before %d: %+v, %v", before, records, err)
		}
	}
}

// testAccounts goes through all accounts in pages of every size, and finds each one that is wanted once, by name.
func testAccounts(t *testing.T, open func() (operator.Store, func())) {
	s, _ := open()
	defer closed(t, s)
	floors := map[string]int32{}
	var all sync.WaitGroup
	for i := range 40 {
		name := fmt.Sprintf("%c%02d", 'a'+i%3, i)
		floors[name] = int32(5 + i%4)
		all.Go(func() {
			if err := s.Raise(name, int32(5+i%4)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	find := func(q operator.AccountQuery) (found []string) {
		for pages := 0; ; pages++ {
			accounts, next, err := s.Accounts(q)
			if err != nil || len(accounts) > q.Limit || pages > len(floors) {
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
		for _, q := range []operator.AccountQuery{
			{Want: any}, {Want: func(floor int32) bool { return floor == 8 }}, {Want: any, Prefix: "b"}, {Want: any, Prefix: "b", After: "b2"}, {Want: any, Prefix: "x"}, {Want: any, After: "zz"},
		} {
			want := slices.DeleteFunc(slices.Sorted(maps.Keys(floors)), func(name string) bool {
				return !strings.HasPrefix(name, q.Prefix) || name <= q.After || !q.Want(floors[name])
			})
			q.Limit = limit
			if got := find(q); !slices.Equal(got, want) {
				t.Errorf("%d of %q after %q: %v, want %v", limit, q.Prefix, q.After, got, want)
			}
		}
	}
}

// testCrash ends a store without closing it: what it said to have written is there.
func testCrash(t *testing.T, open func() (operator.Store, func())) {
	s, crash := open()
	Fill(t, s, 1, 3)
	floor := raise(t, s, "ann", 7)
	crash()
	s, _ = open()
	defer closed(t, s)
	document, _, err := s.Settings()
	if got := floorAfter(t, s, "ann", err); !bytes.Equal(document, Document(3)) || got != floor {
		t.Errorf("%.40s, floor %d", document, got)
	}
	checkChain(t, s, 3)
	Fill(t, s, 4, 4)
}
