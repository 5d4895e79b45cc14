package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"collet/netproto/release"
	"collet/platform"
)

// golden is a slot exactly as on disk. A change of it makes existing installs unreadable.
const golden = `3731ff36 {"number":7,"build":"fnv1a64:0000000000000001","lists":"fnv1a64:0000000000000002","state":"staging","tries":[{"set":"fnv1a64:0000000000000003","swaps":1,"failed":2,"cause":"crash","blocked":true}]}
15a5a8ed {"state":"prepared"}
ba4d1795 {"state":"swapped","tries":[{"set":"fnv1a64:0000000000000001","swaps":1,"begun":3}]}
f00bbeb8 {"state":"confirmed","proven":"Lathe.so","tries":[]}
135a82f6 {"state":"confirmed","dropped":true,"clean":true}
185bd27b {"state":"rolling-back","back":"Lathe.so"}
`

// goldenRecords are the records of golden.
func goldenRecords() []record {
	bad := Try{Set: otherDigest, Swaps: 1, Failed: 2, Cause: "crash", Blocked: true}
	return []record{
		{Number: 7, Build: wantedDigest, Lists: previousDigest, State: Staging, Tries: []Try{bad}},
		{State: Prepared},
		{State: Swapped, Tries: []Try{{Set: wantedDigest, Swaps: 1, Begun: 3}}},
		{State: Confirmed, Proven: "Lathe.so", Tries: []Try{}},
		{State: Confirmed, Dropped: true, Clean: true},
		{State: RollingBack, Back: "Lathe.so"},
	}
}

// sum is the result of applying records.
func sum(records ...record) Journal {
	var j Journal
	for _, r := range records {
		j.apply(r)
	}
	return j
}

// same compares journals without their slots and sizes.
func same(a, b Journal) bool {
	a.slot, a.size, b.slot, b.size = 0, 0, 0, 0
	return reflect.DeepEqual(a, b)
}

func TestJournalGolden(t *testing.T) {
	if got := string(encoded(t, goldenRecords()...)); got != golden {
		t.Errorf("encoded:\n%swant:\n%s", got, golden)
	}
	j, ok := decodeJournal([]byte(golden))
	if want := sum(goldenRecords()...); !ok || !same(j, want) || j.size != int64(len(golden)) {
		t.Errorf("decoded %+v, %v", j, ok)
	}
	if j.Number != 7 || j.Build != wantedDigest || j.listed != previousDigest || j.State != RollingBack || j.Clean || j.Tries == nil || len(j.Tries) != 0 {
		t.Errorf("adds up to %+v", j)
	}
}

// TestJournalReadsWhatItDoesNotKnow checks that a newer program may add fields and states.
func TestJournalReadsWhatItDoesNotKnow(t *testing.T) {
	text := `{"number":1,"state":"staging","attempts":3}`
	slot := fmt.Sprintf("%08x %s\n", crc(text), text)
	text = `{"state":"paused","why":"x"}`
	slot += fmt.Sprintf("%08x %s\n", crc(text), text)
	if j, ok := decodeJournal([]byte(slot)); !ok || j.State != "paused" || j.size != int64(len(slot)) {
		t.Errorf("%+v %v", j, ok)
	}
}

// prefix is the result of a slot of which only the first n bytes are intact.
func prefix(lines [][]byte, records []record, n int) (j Journal, ok bool) {
	size := 0
	for i, line := range lines {
		if size += len(line); size > n {
			return sum(records[:i]...), i > 0
		}
	}
	return sum(records...), true
}

func goldenLines(t testing.TB) (lines [][]byte) {
	for _, r := range goldenRecords() {
		lines = append(lines, encoded(t, r))
	}
	return lines
}

func TestTornAtEveryByte(t *testing.T) {
	lines, records := goldenLines(t), goldenRecords()
	for n := range len(golden) + 1 {
		want, wantOK := prefix(lines, records, n)
		for _, tail := range []string{"", "\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\n", "\x00\n\x00\n", "garbage", "garbage\ngarbage\n"} {
			if n < len(golden) && golden[n] == '\n' && strings.HasPrefix(tail, "\n") {
				continue // completes the line
			}
			j, ok := decodeJournal([]byte(golden[:n] + tail))
			if ok != wantOK || ok && !same(j, want) {
				t.Fatalf("torn at %d, then %q: %+v, want %+v", n, tail, j, want)
			}
		}
	}
}

// TestEveryFlippedBit checks that a record with a flipped bit is ignored, and all records after it.
func TestEveryFlippedBit(t *testing.T) {
	lines, records := goldenLines(t), goldenRecords()
	for at := range len(golden) {
		want, wantOK := prefix(lines, records, at)
		for bit := range 8 {
			slot := []byte(golden)
			slot[at] ^= 1 << bit
			j, ok := decodeJournal(slot)
			if ok != wantOK || ok && !same(j, want) {
				t.Fatalf("bit %d of byte %d: %+v, want %+v", bit, at, j, want)
			}
		}
	}
}

func TestForeignSlots(t *testing.T) {
	text := `{"state":"prepared"}`
	for name, slot := range map[string]string{
		"empty":                     "",
		"one newline":               "\n",
		"zeros":                     strings.Repeat("\x00", 1000),
		"text":                      "dear diary\n",
		"json without a checksum":   `{"number":1,"state":"staging"}` + "\n",
		"a checksum of nothing":     "00000000 \n",
		"valid, and no json":        fmt.Sprintf("%08x %s\n", crc("hello"), "hello"),
		"valid, and not a record":   fmt.Sprintf("%08x %s\n", crc(`[1]`), `[1]`),
		"no first record":           fmt.Sprintf("%08x %s\n", crc(text), text),
		"staging without a number":  string(encoded(t, record{State: Staging})),
		"a number in another state": string(encoded(t, record{Number: 3, State: Swapped})),
		"checksum of other length":  "1 x\n",
		"a sign in the checksum":    fmt.Sprintf("+%07x %s\n", crc(text), text),
	} {
		if j, ok := decodeJournal([]byte(slot)); ok {
			t.Errorf("%s: %+v", name, j)
		}
	}
}

// TestRecordsOutOfPlace checks that such records end a slot, like damage.
func TestRecordsOutOfPlace(t *testing.T) {
	first := record{Number: 1, State: Staging}
	for name, wrong := range map[string]record{
		"a second first record":     {Number: 2, State: Staging},
		"a number in another state": {Number: 2, State: Prepared},
	} {
		j, ok := decodeJournal(encoded(t, first, wrong, record{State: Swapped}))
		if !ok || !same(j, sum(first)) {
			t.Errorf("%s: %+v", name, j)
		}
	}
	j, ok := decodeJournal(encoded(t, first, record{State: Staging, Proven: "m"}))
	if !ok || len(j.events) != 2 || j.Number != 1 {
		t.Errorf("a record that stays in STAGING: %+v", j)
	}
}

// signed puts a valid checksum before every line, so that a fuzzer reaches the records.
func signed(data []byte) (slot []byte) {
	for line := range bytes.Lines(data) {
		text := bytes.TrimSuffix(line, []byte("\n"))
		slot = append(slot, slices.Concat(checksum(text), []byte(" "), text, []byte("\n"))...)
	}
	return slot
}

func FuzzDecodeJournal(f *testing.F) {
	f.Add([]byte(golden), false)
	for n := 0; n < len(golden); n += 37 {
		f.Add([]byte(golden[:n]), false)
		f.Add([]byte(golden[n:]), false)
	}
	f.Add(bytes.Repeat([]byte{0}, 100), false)
	f.Add(append(encoded(f, record{Number: 1, State: Staging}), "00000000 {}\n"...), false)
	for line := range strings.Lines(golden) {
		f.Add([]byte(line[9:]), true)
	}
	f.Add([]byte(`{"number":1,"state":"staging","tries":[{"set":"sha256:00"}]}`+"\nnull\n{}\n"), true)
	f.Fuzz(func(t *testing.T, data []byte, sign bool) {
		if sign {
			data = signed(data)
		}
		j, ok := decodeJournal(data)
		if j.size < 0 || j.size > int64(len(data)) || ok != (j.size > 0) || ok != (j.Number != 0) {
			t.Fatalf("%v, %+v of %d bytes", ok, j, len(data))
		}
		if !ok {
			return
		}
		if again, whole := decodeJournal(data[:j.size]); !whole || !reflect.DeepEqual(again, j) {
			t.Fatalf("what is valid reads as %+v, then %+v", j, again)
		}
		// A record after the valid ones is read, whatever was there before.
		more := append(bytes.Clone(data[:j.size]), encoded(t, record{State: RolledBack})...)
		if next, whole := decodeJournal(more); !whole || next.State != RolledBack || next.size != int64(len(more)) {
			t.Fatalf("appended: %+v", next)
		}
	})
}

// someLists are lists with one new file.
func someLists(live string) lists {
	return lists{Is: otherDigest, Files: []entry{{Kind: Module, Live: live, Digest: wantedDigest, Old: previousDigest}}}
}

// TestJournalOnDisk begins several transactions and reads each step back like another process: the result equals the
// writer's state.
func TestJournalOnDisk(t *testing.T) {
	d := slots(t)
	j := mustLoad(t, d)
	if j.State != None || j.Number != 0 || j.lists.Files != nil {
		t.Fatalf("a new install has %+v", j)
	}
	for n := range uint64(5) {
		if err := j.beginTransaction(d, wantedDigest, someLists(fmt.Sprint("f", n))); err != nil {
			t.Fatal(err)
		}
		for _, r := range []record{{}, {State: Prepared}, {State: Swapped, Tries: []Try{{Set: wantedDigest, Swaps: 1}}},
			{State: Confirmed, Proven: fmt.Sprint("f", n), Tries: []Try{}}, {State: Confirmed, Dropped: true}} {
			if r.State != None {
				if err := j.appendRecord(d, r); err != nil {
					t.Fatal(err)
				}
			}
			read := mustLoad(t, d)
			if !reflect.DeepEqual(read, j) || j.Number != n+1 || j.slot != int(n%2) {
				t.Errorf("transaction %d, %+v:\n%+v, on disk\n%+v", n, r, j, read)
			}
		}
		if len(j.lists.Set) != 1 || len(j.lists.Undo) != 0 || j.lists.Is != wantedDigest {
			t.Errorf("transaction %d ends with %+v", n, j.lists)
		}
	}
}

// TestCleanJournalLeavesItsListsUnread until they are needed.
func TestCleanJournalLeavesItsListsUnread(t *testing.T) {
	d := slots(t)
	j := mustLoad(t, d)
	if err := errors.Join(j.beginTransaction(d, wantedDigest, someLists("f")), j.appendRecord(d, record{State: Prepared}), j.appendRecord(d, record{State: Swapped}),
		j.appendRecord(d, record{State: Confirmed, Proven: "f"}), j.appendRecord(d, record{State: Confirmed, Dropped: true, Clean: true})); err != nil {
		t.Fatal(err)
	}
	read := mustLoad(t, d)
	if read.loaded || read.lists.Set != nil || !read.Clean {
		t.Errorf("read %+v", read)
	}
	if ok, err := read.load(d); !ok || err != nil || !reflect.DeepEqual(read, j) {
		t.Errorf("%v %v: %+v, want %+v", ok, err, read, j)
	}
	if err := os.WriteFile(d.Path(listsName(j.slot)), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	read = mustLoad(t, d)
	if ok, err := read.load(d); ok || err != nil || read.Number != 1 || !read.Clean {
		t.Errorf("damaged lists: %v %v, %+v", ok, err, read)
	}
}

// TestSlotsAfterAPowerCut damages the newer slot, or its lists, in every way: the older one is used, and the next
// transaction goes into the damaged one.
func TestSlotsAfterAPowerCut(t *testing.T) {
	for name, spoil := range map[string]func(data []byte) []byte{
		"gone":          func([]byte) []byte { return nil },
		"all zero":      func(data []byte) []byte { return make([]byte, len(data)) },
		"first torn":    func(data []byte) []byte { return data[:20] },
		"wrong":         func(data []byte) []byte { data[3] ^= 1; return data },
		"foreign text":  func([]byte) []byte { return []byte("not a journal\n") },
		"longer zeroes": func([]byte) []byte { return make([]byte, 1<<20) },
	} {
		for _, of := range []func(int) string{slotName, listsName} {
			t.Run(name+" "+of(1), func(t *testing.T) {
				d := slots(t)
				j := mustLoad(t, d)
				if err := errors.Join(j.beginTransaction(d, wantedDigest, someLists("one")), j.appendRecord(d, record{State: Swapped})); err != nil {
					t.Fatal(err)
				}
				older := j
				if err := j.beginTransaction(d, previousDigest, someLists("two")); err != nil {
					t.Fatal(err)
				}
				newer := d.Path(of(j.slot))
				data, err := os.ReadFile(newer)
				if err != nil {
					t.Fatal(err)
				}
				if data = spoil(data); data == nil {
					err = os.Remove(newer)
				} else {
					err = os.WriteFile(newer, data, 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
				got := mustLoad(t, d)
				if !reflect.DeepEqual(got, older) {
					t.Fatalf("got %+v, want %+v", got, older)
				}
				if err := got.beginTransaction(d, otherDigest, someLists("three")); err != nil {
					t.Fatal(err)
				}
				if read := mustLoad(t, d); read.Build != otherDigest || read.Number != 2 || read.lists.Files[0].Live != "three" {
					t.Errorf("then %+v", read)
				}
			})
		}
	}
}

// TestRecordBehindATornTail appends a record after every possible remainder of an interrupted write.
func TestRecordBehindATornTail(t *testing.T) {
	listed, text := digestOfLists(t, lists{})
	first, torn := encoded(t, record{Number: 1, Lists: listed, State: Staging}), encoded(t, record{State: Prepared})
	d := slots(t)
	if err := os.WriteFile(d.Path(listsName(0)), text, 0o644); err != nil {
		t.Fatal(err)
	}
	for n := range len(torn) {
		for _, tail := range []string{string(torn[:n]), strings.Repeat("\x00", n)} {
			if err := os.WriteFile(d.Path(slotName(0)), append(bytes.Clone(first), tail...), 0o644); err != nil {
				t.Fatal(err)
			}
			j := mustLoad(t, d)
			if j.State != Staging {
				t.Fatalf("tail %q: %+v", tail, j)
			}
			if err := j.appendRecord(d, record{State: RolledBack}); err != nil {
				t.Fatal(err)
			}
			if read := mustLoad(t, d); read.State != RolledBack || !reflect.DeepEqual(read, j) {
				t.Errorf("behind %q: %+v", tail, read)
			}
		}
	}
}

// noSync fails the sync of one file name after the bytes were written.
type noSync struct {
	platform.FS
	name string
}

func (n noSync) OpenFile(name string, flag int, perm fs.FileMode) (platform.File, error) {
	f, err := n.FS.OpenFile(name, flag, perm)
	if err == nil && name == n.name {
		return noSyncFile{f}, nil
	}
	return f, err
}

type noSyncFile struct{ platform.File }

func (noSyncFile) Sync() error { return errors.New("not synced") }

// TestBeginThatFails leaves the journal unchanged, for the next process, too: a newer slot must not override the records
// that this process writes afterwards.
func TestBeginThatFails(t *testing.T) {
	for _, name := range []string{slotName(1), listsName(1)} {
		d := slots(t)
		j := mustLoad(t, d)
		if err := j.beginTransaction(d, wantedDigest, lists{}); err != nil {
			t.Fatal(err)
		}
		before := j
		if err := j.beginTransaction(noSync{d, name}, otherDigest, someLists("two")); err == nil {
			t.Fatal("no error")
		}
		if !reflect.DeepEqual(j, before) {
			t.Errorf("the journal moved to %+v", j)
		}
		if err := j.appendRecord(d, record{State: Confirmed}); err != nil {
			t.Fatal(err)
		}
		if read := mustLoad(t, d); !reflect.DeepEqual(read, j) {
			t.Errorf("on disk %+v, here %+v", read, j)
		}
	}
}

func TestWriteThatFails(t *testing.T) {
	d := slots(t)
	j := mustLoad(t, d)
	if err := j.beginTransaction(d, wantedDigest, lists{}); err != nil {
		t.Fatal(err)
	}
	before := j
	if err := j.appendRecord(noSync{d, slotName(0)}, record{State: Prepared}); err == nil || !reflect.DeepEqual(j, before) {
		t.Errorf("%+v, %v", j, err)
	}
	if err := j.appendRecord(d, record{State: RolledBack}); err != nil {
		t.Fatal(err)
	}
	if read := mustLoad(t, d); read.State != RolledBack {
		t.Errorf("on disk %+v", read)
	}
}

// TestSlotThatIsTooLong checks that the first bytes of such a slot are read, and that such a slot is never written.
func TestSlotThatIsTooLong(t *testing.T) {
	d := slots(t)
	first := encoded(t, record{Number: 4, State: Staging})
	clean := encoded(t, record{State: Confirmed, Clean: true})
	slot := slices.Concat(first, clean, encoded(t, record{State: RolledBack, Clean: true}))
	if err := os.WriteFile(d.Path(slotName(0)), slot, 0o644); err != nil {
		t.Fatal(err)
	}
	for limit := int64(0); limit < int64(len(slot))+2; limit += 5 {
		want := None
		if limit >= int64(len(first)+len(clean)) {
			want = Confirmed
		}
		if limit >= int64(len(slot)) {
			want = RolledBack
		}
		if j, err := loadJournal(d, limit); err != nil || j.State != want {
			t.Errorf("limit %d: %+v, %v", limit, j, err)
		}
	}
	j := Journal{size: maxJournal - 10}
	if err := j.appendRecord(d, record{State: Prepared}); !errors.Is(err, platform.ErrTooLong) {
		t.Errorf("wrote over the limit: %v", err)
	}
}

// TestLimitsFitWhatIsUsual checks that maxLists suffices for release.MaxSet files with usual paths, and maxJournal for the
// starts of a set that never proves itself.
func TestLimitsFitWhatIsUsual(t *testing.T) {
	sha := release.SHA256Digest([32]byte{1})
	e := entry{Kind: Pack, Live: "Resources/" + strings.Repeat("x", 60), Size: 1 << 40, Digest: sha, Old: sha, OldSize: 1 << 40}
	_, one := digestOfLists(t, lists{Files: []entry{e}, Set: []entry{e}})
	if need := len(one) * release.MaxSet; need > maxLists {
		t.Errorf("%d files need %d bytes, the lists take %d", release.MaxSet, need, maxLists)
	}
	var tries []Try
	for n := range maxTries {
		tries = append(tries, Try{Set: release.SHA256Digest([32]byte{byte(n)}), Swaps: 1, Failed: 2, Cause: strings.Repeat("x", maxCause), Blocked: true})
	}
	if need := 100 * len(encoded(t, record{State: Swapped, Tries: tries})); need > maxJournal {
		t.Errorf("100 starts need %d bytes, a slot takes %d", need, maxJournal)
	}
}

func TestUnreadableSlotIsAnError(t *testing.T) {
	for _, name := range []string{slotName(1), listsName(0)} {
		d := slots(t)
		j := mustLoad(t, d)
		if err := j.beginTransaction(d, wantedDigest, lists{}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.RemoveAll(d.Path(name)), os.MkdirAll(filepath.Join(d.Path(name), "x"), 0o755)); err != nil {
			t.Fatal(err)
		}
		if j, err := loadJournal(d, maxJournal); err == nil {
			t.Errorf("%s: read %+v", name, j)
		}
	}
}

// TestPreparedWithoutADigest reads an invalid journal with valid checksums: it must neither panic nor remove any other
// file.
func TestPreparedWithoutADigest(t *testing.T) {
	d := slots(t)
	listed, text := digestOfLists(t, lists{Files: []entry{{Kind: Pack, Live: "f", Size: 1}}})
	slot := encoded(t, record{Number: 1, Lists: listed, State: Staging}, record{State: Prepared})
	if err := errors.Join(os.WriteFile(d.Path(slotName(0)), slot, 0o644), os.WriteFile(d.Path(listsName(0)), text, 0o644),
		os.WriteFile(d.Path("f"), []byte("x"), 0o644)); err != nil {
		t.Fatal(err)
	}
	dir, err := Open(t.Context(), Config{FS: d, Names: Names{Runtime: "m", Ext: ".so", Resources: "R", Cache: "C"}})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if data, err := os.ReadFile(d.Path("f")); string(data) != "x" {
		t.Errorf("%s, %v", data, err)
	}
}
