package install_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto/release"
	"collet/platform/testlevel"
)

// mib is the size of a block.
const mib = 1 << 20

// noise is content with no two equal blocks.
func noise(seed uint64, size int) string {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(data) // Read never fails
	return string(data)
}

// flip changes single bytes.
func flip(content string, at ...int) string {
	data := []byte(content)
	for _, i := range at {
		data[i] ^= 1
	}
	return string(data)
}

// ranges formats ranges in blocks, as "0-1 3-4"; limits that are not block limits are in bytes.
func ranges(list []update.Range) string {
	unit := func(n int64) string {
		if n%mib == 0 {
			return fmt.Sprint(n / mib)
		}
		return fmt.Sprintf("%db", n)
	}
	words := make([]string, len(list))
	for i, r := range list {
		words[i] = unit(r.Start) + "-" + unit(r.End)
	}
	return strings.Join(words, " ")
}

const packPath = "Resources/Core.zip"

// whole installs a pack with this content, and returns the folder and the start that installed it.
func whole(t testing.TB, content string) (folder, start) {
	t.Helper()
	f, s := newFolder(t), start{blobs: packs("Core.zip", content), portion: 300_000, confirm: true}
	w := watch(f.open())
	w.fast = true
	if _, err := s.on(t, w); err != nil {
		t.Fatal(err)
	}
	return f, s
}

// read is the content of a file.
func (f folder) read(name string) string {
	f.t.Helper()
	data, err := os.ReadFile(filepath.Join(f.dir, filepath.FromSlash(name)))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(data)
}

// sums are the names of the checksum files.
func (f folder) sums() (names []string) {
	f.t.Helper()
	entries, err := os.ReadDir(filepath.Join(f.dir, "Cache", "blocks"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		f.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, "Cache/blocks/"+e.Name())
	}
	return names
}

// healed checks that a pack has the offered content.
func (f folder) healed(when, content string) {
	f.t.Helper()
	if f.read(packPath) != content {
		f.t.Errorf("%s: the pack is not what was offered", when)
	}
	if f.tree() != packPath+"="+content {
		f.t.Errorf("%s: something else is left", when)
	}
}

func TestOnlyDamagedBlocksAreFetched(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	const size = 4*mib + 12345
	good := noise(1, size)
	tests := []struct {
		name    string
		damaged string
		ranges  string
	}{
		{"first byte", flip(good, 0), "0-1"},
		{"last byte", flip(good, size-1), "4-4206649b"},
		{"in the middle", flip(good, 2*mib+77), "2-3"},
		{"several", flip(good, 1, mib-1, 2*mib+5, size-9), "0-1 2-3 4-4206649b"},
		{"both sides of a border", flip(good, mib-1, mib), "0-2"},
		{"first byte of a block", flip(good, 3*mib), "3-4"},
		{"last byte of a block", flip(good, 3*mib-1), "2-3"},
		{"everywhere", noise(2, size), "0-4206649b"},
		{"cut in a block", good[:2*mib+1], "2-4206649b"},
		{"cut at a border", good[:2*mib], "2-4206649b"},
		{"cut by a byte", good[:size-1], "4-4206649b"},
		{"empty", "", "0-4206649b"},
		{"grown", good + "more", ""},
		{"grown by blocks", good + noise(3, 2*mib), ""},
		{"grown and damaged", flip(good, mib) + "more", "1-2"},
		{"zeros where a page was", good[:mib+4096] + strings.Repeat("\x00", 4096) + good[mib+8192:], "1-2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, s := whole(t, good)
			f.write(packPath, test.damaged)
			s.verify = true
			g := s.must(f)
			want := int64(0)
			for _, r := range g.plan.Wants[0].Missing {
				want += r.End - r.Start
			}
			if got := ranges(g.plan.Wants[0].Missing); got != test.ranges || g.written != want || g.plan.Resumed != size-want {
				t.Errorf("missing %s, want %s; %d bytes fetched, %d resumed", got, test.ranges, g.written, g.plan.Resumed)
			}
			if d := g.plan.Damage; d == nil || len(d.Files) != 1 || d.Files[0].File != packPath || d.Files[0].Size != size || ranges(d.Files[0].Ranges) != test.ranges {
				t.Errorf("damage %+v", d)
			}
			f.healed("mended", good)
			if again := s.must(f); len(again.plan.Wants) != 0 || again.plan.Damage != nil {
				t.Errorf("once more: %v, damage %+v", again, again.plan.Damage)
			}
		})
	}
}

// TestFilesWithoutBlocks checks that such files are fetched as a whole and listed as damaged.
func TestFilesWithoutBlocks(t *testing.T) {
	for _, size := range []int{1, 1000, mib - 1, mib, mib + 1} {
		good := noise(1, size)
		f, s := whole(t, good)
		if kept := len(f.sums()); (kept == 1) != (size > mib) || kept > 1 {
			t.Errorf("%d bytes: %d lists of sums", size, kept)
		}
		f.write(packPath, flip(good, 0))
		s.verify = true
		g := s.must(f)
		if size <= mib && (g.written != int64(size) || len(g.plan.Damage.Files[0].Ranges) != 1) || size > mib && g.written != mib {
			t.Errorf("%d bytes: %s, damage %+v", size, g, g.plan.Damage)
		}
		f.healed(fmt.Sprintf("%d bytes", size), good)
	}
}

// TestEmptyFileThatGrew checks that such a file needs no bytes, and a missing file all bytes.
func TestEmptyFileThatGrew(t *testing.T) {
	f, s := whole(t, "")
	f.write(packPath, "not empty")
	s.verify = true
	g := s.must(f)
	if g.written != 0 || g.plan.Damage == nil || len(g.plan.Damage.Files[0].Ranges) != 0 {
		t.Errorf("%s, damage %+v", g, g.plan.Damage)
	}
	f.healed("shrunk", "")
	good := noise(1, 2*mib)
	f, s = whole(t, good)
	f.remove(packPath)
	s.verify = true
	if g = s.must(f); g.written != 2*mib || ranges(g.plan.Damage.Files[0].Ranges) != "0-2" {
		t.Errorf("%s, damage %+v", g, g.plan.Damage)
	}
	f.healed("fetched again", good)
}

// TestSumsThatAreWrong checks that the file gets the offered content whatever is wrong with its checksum file, and that the
// checksum file is valid afterwards.
func TestSumsThatAreWrong(t *testing.T) {
	testlevel.Slow(t)
	good := noise(1, 3*mib+5)
	bad := flip(good, mib+1)
	other, _ := whole(t, noise(2, 3*mib+5))
	shorter, _ := whole(t, good[:2*mib])
	tests := map[string]func(content string) string{
		"absent":             nil,
		"empty":              func(string) string { return "" },
		"cut in the title":   func(c string) string { return c[:20] },
		"cut in the sums":    func(c string) string { return c[:len(c)-1] },
		"longer":             func(c string) string { return c + "0123456789abcdef" },
		"a flipped bit":      func(c string) string { return flip(c, len(c)-7) },
		"another layout":     func(c string) string { return strings.Replace(c, "blocks 2", "blocks 3", 1) },
		"another block size": func(c string) string { return strings.Replace(c, " 1048576 ", " 2097152 ", 1) },
		"another file":       func(string) string { return other.read(other.sums()[0]) },
		"a shorter file":     func(string) string { return shorter.read(shorter.sums()[0]) },
		"far too long":       func(c string) string { return c + strings.Repeat("x", 17<<20) },
	}
	for what, change := range tests {
		t.Run(what, func(t *testing.T) {
			f, s := whole(t, good)
			list := f.sums()[0]
			right := f.read(list)
			if change == nil {
				f.remove(list)
			} else {
				f.write(list, change(right))
			}
			f.write(packPath, bad)
			s.verify = true
			if g := s.must(f); g.written != int64(len(good)) {
				t.Errorf("%s", g)
			}
			f.healed("fetched", good)
			if f.read(f.sums()[0]) != right {
				t.Error("the list is not what it was")
			}
		})
	}
}

// until repeats a start until it succeeds, like an Updater after a damaged download, and returns the number of fetched
// bytes.
func (s start) until(f folder, most int) (fetched int64) {
	f.t.Helper()
	for range most {
		g, err := s.on(f.t, f.open())
		if fetched += g.written; err == nil {
			return fetched
		}
		wantFault(f.t, "another attempt", err, update.DamagedDownload)
	}
	f.t.Fatalf("still damaged after %d attempts", most)
	return 0
}

// TestSumsThatLie checks that valid checksums of other content never lead to a wrong file and cost at most two downloads.
func TestSumsThatLie(t *testing.T) {
	good := noise(1, 3*mib+5)
	size := int64(len(good))
	f, s := whole(t, good)
	right := f.read(f.sums()[0])
	first := flip(good, 9)
	tests := []struct {
		name    string
		live    string
		told    string // content of the checksums
		fetched int64
	}{
		{"the damage is called good", first, first, size},
		{"one of two is called good", flip(good, 9, 2*mib), first, mib + size},
		{"a good block is called bad", first, flip(good, mib), 2 * mib},
		{"everything is called bad", first, noise(7, len(good)), size},
		{"good is called bad and bad good", first, flip(good, 9, mib), mib + size},
		{"all but one byte", flip(good, 9), flip(good, 9, len(good)-1), 5 + size},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f.write(f.sums()[0], f.listOf(good, test.told))
			f.write(packPath, test.live)
			s.verify = true
			if fetched := s.until(f, 2); fetched != test.fetched {
				t.Errorf("%d bytes fetched, want %d", fetched, test.fetched)
			}
			f.healed("fetched", good)
			if f.read(f.sums()[0]) != right {
				t.Error("the list still lies")
			}
		})
	}
}

// listOf makes a checksum file for one content with the checksums of another.
func (f folder) listOf(content, told string) string {
	f.t.Helper()
	liar, _ := whole(f.t, told)
	title, sums, _ := strings.Cut(liar.read(liar.sums()[0]), "\n")
	return strings.Replace(title, digest(f.t, release.SHA256, told).String(), digest(f.t, release.SHA256, content).String(), 1) + "\n" + sums
}

// TestLiveFileChangesWhileItIsCopied checks that copied blocks are verified, and that the next attempt succeeds.
func TestLiveFileChangesWhileItIsCopied(t *testing.T) {
	good := noise(1, 5*mib)
	damaged := flip(good, 3*mib)
	for what, change := range map[string]string{
		"a block before the damage": flip(damaged, 5), "a block behind it": flip(damaged, 4*mib+5), "cut": damaged[:mib+7], "emptied": "", "gone": "-",
	} {
		t.Run(what, func(t *testing.T) {
			f, s := whole(t, good)
			f.write(packPath, damaged)
			d, err := open(f.open(), true)
			if err != nil {
				t.Fatal(err)
			}
			plan := s.plan(t, d)
			if ranges(plan.Wants[0].Missing) != "3-4" {
				t.Fatalf("missing %s", ranges(plan.Wants[0].Missing))
			}
			if change == "-" {
				f.remove(packPath)
			} else {
				f.write(packPath, change)
			}
			ctx := context.Background()
			err = d.Advance(ctx, 0)
			if err == nil {
				err = errors.Join(d.Write(0, []byte(good[3*mib:4*mib])), d.Finish(ctx, 0))
			}
			if err == nil {
				t.Fatal("the change went unseen")
			}
			wantFault(t, "changed", err, update.DamagedDownload)
			if err := errors.Join(d.Abandon(), d.Close()); err != nil {
				t.Fatal(err)
			}
			s.verify = true
			if s.until(f, 1) >= 5*mib && what == "a block behind it" {
				t.Error("what was there already was fetched again")
			}
			f.healed("second attempt", good)
		})
	}
}

// plan is the first step of a start.
func (s start) plan(t testing.TB, d *install.Dir) update.Plan {
	t.Helper()
	plan, err := d.Plan(context.Background(), update.Resources, offer(t, release.SHA256, s.blobs), func(string, int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// TestStoppedRepairGoesOn stops a repair after a number of fetched bytes: within a range, at its limits, and after it.
// Every byte is fetched once.
func TestStoppedRepairGoesOn(t *testing.T) {
	t.Parallel()
	good := noise(1, 6*mib+100)
	for i, stop := range []int64{0, 1, mib / 2, mib, mib + 1, 2 * mib, 2*mib + 100, 3*mib + 99} {
		if i%testlevel.Stride(1, 4) != 0 {
			continue
		}
		f, s := whole(t, good)
		f.write(packPath, flip(good, mib, 4*mib, 5*mib, 6*mib))
		d, err := open(f.open(), true)
		if err != nil {
			t.Fatal(err)
		}
		left := stop
		for _, r := range s.plan(t, d).Wants[0].Missing {
			if left == 0 {
				break
			}
			n := min(left, r.End-r.Start)
			if err := errors.Join(d.Advance(context.Background(), 0), d.Write(0, []byte(good[r.Start:r.Start+n]))); err != nil {
				t.Fatal(err)
			}
			left -= n
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		s.verify = true
		g := s.must(f)
		if g.written != 3*mib+100-stop || ranges(g.plan.Damage.Files[0].Ranges) != "1-2 4-6291556b" {
			t.Errorf("stopped after %d: %s, damage %+v", stop, g, g.plan.Damage)
		}
		f.healed(fmt.Sprintf("stopped after %d", stop), good)
	}
}

// TestPartOfARepairIsDamaged checks that copied bytes of a part are verified with the rest of their block, and others with
// the whole file.
func TestPartOfARepairIsDamaged(t *testing.T) {
	good := noise(1, 4*mib)
	for _, test := range []struct {
		size, at int
		fetched  int64
	}{{mib / 2, 7, mib}, {mib/2 + mib, mib + 7, mib}, {mib/2 + mib, 7, 2 * mib}, {2*mib + 9, 2*mib + 7, 2*mib - 9}} {
		f, s := whole(t, good)
		f.write(packPath, flip(good, 2*mib))
		s.verify = true
		d, err := open(f.open(), true)
		if err != nil {
			t.Fatal(err)
		}
		s.plan(t, d)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		f.write("Resources/~Core.zip", flip(good[:test.size], test.at))
		if fetched := s.until(f, 2); fetched != test.fetched {
			t.Errorf("part of %d, damaged at %d: %d bytes fetched, want %d", test.size, test.at, fetched, test.fetched)
		}
		f.healed("mended", good)
	}
}

// TestDamagedPartAndSumsThatLie needs three attempts, the most that an Updater makes for one file.
func TestDamagedPartAndSumsThatLie(t *testing.T) {
	good := noise(1, 4*mib)
	f, s := whole(t, good)
	f.write(packPath, flip(good, 5, 2*mib))
	f.write(f.sums()[0], f.listOf(good, flip(good, 5)))
	s.verify = true
	d, err := open(f.open(), true)
	if err != nil {
		t.Fatal(err)
	}
	s.plan(t, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	f.write("Resources/~Core.zip", flip(good[:2*mib+9], 2*mib+7))
	if fetched := s.until(f, 1+update.DamagedRetries); fetched != mib-9+mib+4*mib {
		t.Errorf("%d bytes fetched", fetched)
	}
	f.healed("mended", good)
}

// TestCancelWhileCopying checks that the part is kept.
func TestCancelWhileCopying(t *testing.T) {
	good := noise(1, 3*mib)
	f, s := whole(t, good)
	f.write(packPath, flip(good, 2*mib))
	d, err := open(f.open(), true)
	if err != nil {
		t.Fatal(err)
	}
	s.plan(t, d)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := d.Advance(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("advance: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	s.verify = true
	if fetched := s.until(f, 1); fetched != mib {
		t.Errorf("%d bytes fetched", fetched)
	}
	f.healed("mended", good)
}

// TestUnpackedArchiveIsMended: files of an unpacked archive have block checksums after their first hashing.
func TestUnpackedArchiveIsMended(t *testing.T) {
	good := noise(1, 3*mib)
	f, s := newFolder(t), start{blobs: packs("Core.zip", good), portion: 300_000}
	f.write(packPath, good)
	if g := s.must(f); len(g.plan.Wants) != 0 || len(f.sums()) != 1 {
		t.Fatalf("%s, %d lists of sums", g, len(f.sums()))
	}
	f.write(packPath, flip(good, 0))
	g := s.must(f)
	if g.written != mib || g.plan.Damage == nil || ranges(g.plan.Damage.Files[0].Ranges) != "0-1" {
		t.Errorf("%s, damage %+v", g, g.plan.Damage)
	}
	if f.read(packPath) != good {
		t.Error("not mended")
	}
}

// TestOldSumsGo checks that checksums of a replaced set are removed once its successor is proven. Until then a return to
// the old release fetches only the differences.
func TestOldSumsGo(t *testing.T) {
	one := noise(1, 3*mib)
	two := flip(one, mib)
	f, s := whole(t, one)
	next := s
	next.blobs, next.confirm = packs("Core.zip", two), false
	if g := next.must(f); g.written != 3*mib || g.plan.Damage != nil {
		t.Errorf("update: %s, damage %+v", g, g.plan.Damage)
	}
	if len(f.sums()) != 2 {
		t.Errorf("%d lists of sums while both sets matter", len(f.sums()))
	}
	if g := s.must(f); g.written != mib || g.plan.Damage != nil {
		t.Errorf("and back: %s, damage %+v", g, g.plan.Damage)
	}
	if kept := f.sums(); len(kept) != 1 || !strings.Contains(kept[0], strings.TrimPrefix(digest(t, release.SHA256, one).String(), "sha256:")) {
		t.Errorf("kept %v", kept)
	}
	f.healed("back", one)
}

// TestQuickStartReadsNothing checks that a start does not read checksums.
func TestQuickStartReadsNothing(t *testing.T) {
	f, s := whole(t, noise(1, 2*mib))
	w := watch(f.open())
	if g, err := s.on(t, w); err != nil || len(g.plan.Wants) != 0 {
		t.Fatalf("%s, %v", g, err)
	}
	for _, o := range w.ops {
		if strings.HasPrefix(o.name, "Cache/blocks") || o.name == packPath && o.verb == "read" {
			t.Errorf("%s %s", o.verb, o.name)
		}
	}
}

// TestQuickCheckNoticesRestoredTime edits a file without changing its size and restores its time, as some tools do. With an
// inode the change time reveals the edit, and the inode number a replaced file.
func TestQuickCheckNoticesRestoredTime(t *testing.T) {
	if runsWithoutInodes() {
		t.Skip("the system tells neither inode nor its time")
	}
	good := noise(1, 2*mib)
	for _, replaced := range []bool{false, true} {
		f, s := whole(t, good)
		full := filepath.Join(f.dir, filepath.FromSlash(packPath))
		before, err := os.Stat(full)
		if err != nil {
			t.Fatal(err)
		}
		if replaced {
			f.write(packPath+".new", flip(good, mib))
			if err := os.Rename(full+".new", full); err != nil {
				t.Fatal(err)
			}
		} else {
			f.write(packPath, flip(good, mib))
		}
		if err := os.Chtimes(full, time.Time{}, before.ModTime()); err != nil {
			t.Fatal(err)
		}
		if after, err := os.Stat(full); err != nil || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
			t.Fatalf("the edit shows in size or time: %v", err)
		}
		if g := s.must(f); g.written != mib {
			t.Errorf("replaced %t: %s", replaced, g)
		}
		f.healed("mended", good)
	}
}

// TestHashingIsForeseen checks that a verification announces exactly the bytes that it hashes.
func TestHashingIsForeseen(t *testing.T) {
	f := newFolder(t)
	s := start{blobs: slices.Concat(packs("Core.zip", noise(1, 2*mib), "Maps.zip", noise(2, 300_000), "Empty.zip", ""), binaries("Lathe.so", "module")), portion: 300_000}
	s.mode = update.Binaries
	s.must(f)
	d, err := open(f.open(), true)
	if err != nil {
		t.Fatal(err)
	}
	total, done := int64(0), map[string]int64{}
	_, err = d.Plan(context.Background(), update.Resources, offer(t, release.SHA256, s.blobs), func(file string, n, size int64) {
		switch {
		case file == "" && (total != 0 || len(done) > 0):
			t.Errorf("foreseen %d, then %d", total, size)
		case file == "":
			total = size
		case n > size:
			t.Errorf("%s: %d of %d", file, n, size)
		default:
			done[file] = n
		}
	})
	hashed := int64(0)
	for _, n := range done {
		hashed += n
	}
	if err != nil || total != 2*mib+300_000+6 || hashed != total {
		t.Errorf("%v; foreseen %d, hashed %d", err, total, hashed)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSumsAreNoMatterOfLifeAndDeath checks that a read-only cache only loses the savings.
func TestSumsAreNoMatterOfLifeAndDeath(t *testing.T) {
	good := noise(1, 2*mib)
	refuse := func(o op) error {
		if strings.HasPrefix(o.name, "Cache/blocks") {
			return os.ErrPermission
		}
		return nil
	}
	f, s := newFolder(t), start{blobs: packs("Core.zip", good), portion: 300_000, confirm: true}
	for _, verify := range []bool{false, true} {
		s.verify = verify
		if _, err := s.on(t, watch(f.open(), refuse)); err != nil {
			t.Fatalf("verify %t: %v", verify, err)
		}
	}
	f.healed("installed", good)
	if len(f.sums()) != 0 {
		t.Error("sums were kept all the same")
	}
}
