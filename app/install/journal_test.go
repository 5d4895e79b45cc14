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

// golden is a slot as it stands on disk. Changing it strands the installs that are out there.
const golden = `ddff7d84 {"number":7,"state":"staging","files":[{"kind":"module","live":"Lathe.so","size":3,"digest":"fnv1a64:0000000000000001","old":"fnv1a64:0000000000000002"},{"kind":"pack","live":"Resources/Ö.zip","size":0,"digest":"fnv1a64:0000000000000003"}],"parts":[{"kind":"companion","live":"Lathe.so.pdb","size":9,"digest":"fnv1a64:0000000000000004"}],"pending":[{"live":"Lathe.so","digest":"fnv1a64:0000000000000002","backup":"fnv1a64:0000000000000005"}]}
14706748 {"state":"prepared","pending":[{"live":"Lathe.so","digest":"fnv1a64:0000000000000002","backup":"fnv1a64:0000000000000005"}]}
d3e70b54 {"state":"swapped","pending":[{"live":"Lathe.so","digest":"fnv1a64:0000000000000001","backup":"fnv1a64:0000000000000005"}]}
f3c572e0 {"state":"confirmed"}
`

// goldenRecords are the records of golden.
func goldenRecords() []record {
	fnv := release.FNVDigest
	waits := []pendingModule{{Live: "Lathe.so", Digest: fnv(2), Backup: fnv(5)}}
	return []record{
		{Number: 7, State: Staging, Pending: waits,
			Files: []entry{{Kind: module, Live: "Lathe.so", Size: 3, Digest: fnv(1), Old: fnv(2)}, {Kind: pack, Live: "Resources/Ö.zip", Digest: fnv(3)}},
			Parts: []entry{{Kind: companion, Live: "Lathe.so.pdb", Size: 9, Digest: fnv(4)}}},
		{State: Prepared, Pending: waits},
		{State: Swapped, Pending: []pendingModule{{Live: "Lathe.so", Digest: fnv(1), Backup: fnv(5)}}},
		{State: Confirmed},
	}
}

// encoded joins records to a slot.
func encoded(t testing.TB, records ...record) []byte {
	t.Helper()
	var slot []byte
	for _, r := range records {
		line, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		slot = append(slot, line...)
	}
	return slot
}

// sum is what records add up to.
func sum(records ...record) Journal {
	var j Journal
	for _, r := range records {
		j.apply(r)
	}
	return j
}

// same compares journals without the place in which they stand.
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
}

// TestJournalReadsWhatItDoesNotKnow lets a newer program add fields and states.
func TestJournalReadsWhatItDoesNotKnow(t *testing.T) {
	text := `{"number":1,"state":"staging","attempts":3}`
	slot := fmt.Sprintf("%08x %s\n", crc(text), text)
	text = `{"state":"blocked","pending":[{"live":"m","digest":"","why":"x"}]}`
	slot += fmt.Sprintf("%08x %s\n", crc(text), text)
	j, ok := decodeJournal([]byte(slot))
	if !ok || j.State != "blocked" || len(j.Pending) != 1 || j.size != int64(len(slot)) {
		t.Errorf("%+v %v", j, ok)
	}
}

// prefix is what a slot adds up to when only its first n bytes are whole.
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

// TestEveryFlippedBit never believes a record that has one, nor any after it.
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

// TestRecordsOutOfPlace end a slot like damage does.
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
	again := record{State: Staging, Pending: []pendingModule{{Live: "m"}}}
	j, ok := decodeJournal(encoded(t, record{Number: 1, State: Staging, Files: []entry{{Live: "f"}}}, again))
	if !ok || len(j.Files) != 1 || len(j.Pending) != 1 || j.Number != 1 {
		t.Errorf("a record that stays in STAGING: %+v", j)
	}
}

// signed puts a right checksum before every line, so that a fuzzer gets behind it.
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
	f.Add([]byte(`{"number":1,"state":"staging","files":[{"digest":"sha256:00"}]}`+"\nnull\n{}\n"), true)
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
		// A record behind what is valid is read, whatever stood there.
		more := append(bytes.Clone(data[:j.size]), encoded(t, record{State: RolledBack})...)
		if next, whole := decodeJournal(more); !whole || next.State != RolledBack || next.size != int64(len(more)) {
			t.Fatalf("appended: %+v", next)
		}
	})
}

// slots is a state folder on a real disk.
func slots(t *testing.T) *platform.Dir {
	t.Helper()
	d, err := platform.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	if err := d.MkdirAll(StateDir, 0o755); err != nil {
		t.Fatal(err)
	}
	return d
}

func mustLoad(t *testing.T, fsys platform.FS) Journal {
	t.Helper()
	j, err := loadJournal(fsys, maxJournal)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestJournalOnDisk begins several transactions and reads each step back as another process would.
func TestJournalOnDisk(t *testing.T) {
	d := slots(t)
	j := mustLoad(t, d)
	if j.State != None || j.Number != 0 || j.Files != nil {
		t.Fatalf("a new install has %+v", j)
	}
	for n := range uint64(5) {
		files := []entry{{Kind: pack, Live: fmt.Sprint("f", n), Digest: wantedDigest}}
		if err := j.begin(d, files, []entry{{Live: "kept"}}); err != nil {
			t.Fatal(err)
		}
		for _, state := range []State{Staging, Prepared, Swapped, Confirmed} {
			if state != Staging {
				if err := j.write(d, record{State: state}); err != nil {
					t.Fatal(err)
				}
			}
			read := mustLoad(t, d)
			if !reflect.DeepEqual(read, j) || j.State != state || j.Number != n+1 || j.slot != int(n%2) || j.Files[0].Live != files[0].Live {
				t.Errorf("transaction %d, %s: %+v, on disk %+v", n, state, j, read)
			}
		}
	}
}

// TestSlotsAfterAPowerCut spoils the newer slot in every way: the older one is what counts, and the next transaction goes
// into the spoiled one.
func TestSlotsAfterAPowerCut(t *testing.T) {
	for name, spoil := range map[string]func(data []byte) []byte{
		"gone":          func([]byte) []byte { return nil },
		"all zero":      func(data []byte) []byte { return make([]byte, len(data)) },
		"first torn":    func(data []byte) []byte { return data[:20] },
		"wrong crc":     func(data []byte) []byte { data[3] ^= 1; return data },
		"foreign text":  func([]byte) []byte { return []byte("not a journal\n") },
		"longer zeroes": func([]byte) []byte { return make([]byte, 1<<20) },
	} {
		t.Run(name, func(t *testing.T) {
			d := slots(t)
			j := mustLoad(t, d)
			if err := j.begin(d, []entry{{Live: "one"}}, nil); err != nil {
				t.Fatal(err)
			}
			if err := j.write(d, record{State: Swapped}); err != nil {
				t.Fatal(err)
			}
			older := j
			if err := j.begin(d, []entry{{Live: "two"}}, nil); err != nil {
				t.Fatal(err)
			}
			newer := d.Path(slotName(j.slot))
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
			if err := got.begin(d, []entry{{Live: "three"}}, nil); err != nil {
				t.Fatal(err)
			}
			if read := mustLoad(t, d); read.Files[0].Live != "three" || read.Number != 2 {
				t.Errorf("then %+v", read)
			}
		})
	}
}

// TestRecordBehindATornTail appends where an interrupted write left every possible remains.
func TestRecordBehindATornTail(t *testing.T) {
	first, torn := encoded(t, record{Number: 1, State: Staging}), encoded(t, record{State: Prepared})
	for n := range len(torn) {
		for _, tail := range []string{string(torn[:n]), strings.Repeat("\x00", n)} {
			d := slots(t)
			if err := os.WriteFile(d.Path(slotName(0)), append(bytes.Clone(first), tail...), 0o644); err != nil {
				t.Fatal(err)
			}
			j := mustLoad(t, d)
			if j.State != Staging {
				t.Fatalf("tail %q: %+v", tail, j)
			}
			if err := j.write(d, record{State: RolledBack}); err != nil {
				t.Fatal(err)
			}
			if read := mustLoad(t, d); read.State != RolledBack || !reflect.DeepEqual(read, j) {
				t.Errorf("behind %q: %+v", tail, read)
			}
		}
	}
}

// noSync fails the sync of one file name, after the bytes were written.
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

// TestBeginThatFails leaves the journal where it was, also for the process after this one: what this one goes on to
// write must not be overruled by a newer slot.
func TestBeginThatFails(t *testing.T) {
	d := slots(t)
	j := mustLoad(t, d)
	if err := j.begin(d, nil, nil); err != nil {
		t.Fatal(err)
	}
	before := j
	if err := j.begin(noSync{d, slotName(1)}, []entry{{Live: "two"}}, nil); err == nil {
		t.Fatal("no error")
	}
	if !reflect.DeepEqual(j, before) {
		t.Errorf("the journal moved to %+v", j)
	}
	if err := j.write(d, record{State: Confirmed}); err != nil {
		t.Fatal(err)
	}
	if read := mustLoad(t, d); !reflect.DeepEqual(read, j) {
		t.Errorf("on disk %+v, here %+v", read, j)
	}
}

func TestWriteThatFails(t *testing.T) {
	d := slots(t)
	j := mustLoad(t, d)
	if err := j.begin(d, nil, nil); err != nil {
		t.Fatal(err)
	}
	before := j
	if err := j.write(noSync{d, slotName(0)}, record{State: Prepared}); err == nil || !reflect.DeepEqual(j, before) {
		t.Errorf("%+v, %v", j, err)
	}
	if err := j.write(d, record{State: RolledBack}); err != nil {
		t.Fatal(err)
	}
	if read := mustLoad(t, d); read.State != RolledBack {
		t.Errorf("on disk %+v", read)
	}
}

// TestSlotThatIsTooLong is not ours: as much as may be read of it is, and such a one is never written.
func TestSlotThatIsTooLong(t *testing.T) {
	d := slots(t)
	first := encoded(t, record{Number: 4, State: Staging})
	slot := append(bytes.Clone(first), encoded(t, record{State: Prepared})...)
	if err := os.WriteFile(d.Path(slotName(0)), slot, 0o644); err != nil {
		t.Fatal(err)
	}
	for limit := range int64(len(slot)) + 2 {
		want := Journal{}
		if limit >= int64(len(first)) {
			want = sum(record{Number: 4, State: Staging})
		}
		if limit >= int64(len(slot)) {
			want.State = Prepared
		}
		if j, err := loadJournal(d, limit); err != nil || !same(j, want) {
			t.Errorf("limit %d: %+v, %v", limit, j, err)
		}
	}
	j := Journal{size: maxJournal - 10}
	if err := j.write(d, record{State: Prepared}); !errors.Is(err, platform.ErrTooLong) {
		t.Errorf("wrote over the limit: %v", err)
	}
}

// TestLargestSetFits keeps maxJournal above what release.MaxSet files of a usual path need.
func TestLargestSetFits(t *testing.T) {
	e := entry{Kind: pack, Live: "Resources/" + strings.Repeat("x", 100), Size: 1 << 40, Digest: release.SHA256Digest([32]byte{1})}
	line := encoded(t, record{Number: 1, State: Staging, Files: []entry{e}})
	if need := len(line) * release.MaxSet; need > maxJournal {
		t.Errorf("%d files need %d bytes, a slot takes %d", release.MaxSet, need, maxJournal)
	}
}

func TestUnreadableSlotIsAnError(t *testing.T) {
	d := slots(t)
	if err := os.MkdirAll(filepath.Join(d.Path(slotName(1)), "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if j, err := loadJournal(d, maxJournal); err == nil {
		t.Errorf("read %+v", j)
	}
}

// TestPreparedWithoutADigest is a journal that nobody wrote, with right checksums: it must not end the program.
func TestPreparedWithoutADigest(t *testing.T) {
	d := slots(t)
	slot := encoded(t, record{Number: 1, State: Staging, Files: []entry{{Kind: pack, Live: "f", Size: 1}}}, record{State: Prepared})
	if err := errors.Join(os.WriteFile(d.Path(slotName(0)), slot, 0o644), os.WriteFile(d.Path("f"), []byte("x"), 0o644)); err != nil {
		t.Fatal(err)
	}
	dir, err := Open(t.Context(), Config{FS: d, Names: Names{Runtime: "m", Ext: ".so", Resources: "R", Cache: "C"}})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if dir.State() != RolledBack {
		t.Errorf("state %q", dir.State())
	}
}

func TestBound(t *testing.T) {
	files, parts := []entry{{Live: "a", Size: 1}, {Live: "b"}}, []entry{{Live: "c"}, {Live: "a", Size: 2}}
	for state, want := range map[State]string{
		None: "a1 b0 c0", Staging: "a1 b0 c0", Prepared: "a1 b0 c0", RolledBack: "a1 b0 c0", Swapped: "a2 c0", Confirmed: "a2 c0",
	} {
		j := Journal{State: state, Files: files, Parts: parts}
		bound := j.bound()
		var got []string
		for _, live := range []string{"a", "b", "c"} {
			if e, found := bound[live]; found {
				got = append(got, fmt.Sprint(live, e.Size))
			}
		}
		if strings.Join(got, " ") != want || len(bound) != len(got) {
			t.Errorf("%q: %v", state, bound)
		}
	}
	if len(files) != 2 || len(parts) != 2 || parts[0].Live != "c" {
		t.Error("changed the journal's lists")
	}
}
