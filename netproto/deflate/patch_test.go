package deflate

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"testing"

	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform/testlevel"
)

// set is a set of files in memory, by path.
type set map[string][]byte

func (s set) listing() release.Listing {
	var list []release.ListedFile
	for path, data := range s {
		list = append(list, release.ListedFile{Path: path, Use: release.UseResource, Size: int64(len(data)), Mode: release.PlainMode, Sum: release.ObjectOf(data).Sum})
	}
	return release.NewListing(list)
}

func (s set) with(other set) set {
	all := maps.Clone(s)
	maps.Copy(all, other)
	return all
}

func (s set) side() delta.SetSide {
	return delta.SetSide{Listing: s.listing(), Source: setSource{s, s.listing()}}
}

func (s set) digest(t testing.TB) release.Digest {
	t.Helper()
	sum, err := s.listing().Digest()
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// setSource opens the files of a set.
type setSource struct {
	files   set
	listing release.Listing
}

func (s setSource) Open(i int) (delta.SetFile, error) {
	data, there := s.files[s.listing[i].Path]
	if !there {
		return nil, fs.ErrNotExist
	}
	return openForm{bytes.NewReader(data)}, nil
}

// memoryScratch counts its files and the bytes in them.
type memoryScratch struct {
	mu         sync.Mutex
	open, most int
	fail       error
}

type memoryFile struct {
	bytes.Buffer
	scratch *memoryScratch
}

func (s *memoryScratch) Create() (ScratchFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	s.most = max(s.most, s.open)
	return &memoryFile{scratch: s}, s.fail
}

func (f *memoryFile) ReadAt(b []byte, at int64) (int, error) {
	return bytes.NewReader(f.Bytes()).ReadAt(b, at)
}

func (f *memoryFile) Flush() error { return nil }

func (f *memoryFile) Close() error {
	f.scratch.mu.Lock()
	defer f.scratch.mu.Unlock()
	f.scratch.open--
	return nil
}

// memorySink holds contents.
type memorySink struct {
	contents []delta.SetContent
	open     bytes.Buffer
	got      map[release.Digest][]byte
	end      error
}

func (s *memorySink) Begin(int) (io.Writer, error) { s.open.Reset(); return &s.open, nil }

func (s *memorySink) End(i int) error {
	s.got[s.contents[i].Sum] = bytes.Clone(s.open.Bytes())
	return s.end
}

// all wants everything, and lets nothing fail.
var all = delta.SetWish{Wanted: func(int) bool { return true }, Failed: func(_, _ int, err error) error { return err }}

// makePatch makes a patch, and checks that its scratch files are gone.
func makePatch(t testing.TB, old, fresh set, workers int) []byte {
	t.Helper()
	var out bytes.Buffer
	scratch := &memoryScratch{}
	stats, err := MakePatch(t.Context(), &out, old.side(), fresh.side(), scratch, delta.SetPatchOptions{Workers: workers})
	if err != nil || stats.Bytes != int64(out.Len()) || scratch.open != 0 {
		t.Fatalf("%d of %d bytes, %d scratch files stay: %v", stats.Bytes, out.Len(), scratch.open, err)
	}
	return out.Bytes()
}

// apply applies a patch to the files that are there, and returns the sink and the opened patch.
func apply(t testing.TB, patch []byte, old, there, fresh set, wish delta.SetWish) (*memorySink, *Patch, error) {
	t.Helper()
	p, err := OpenPatch(bytes.NewReader(patch), old.listing(), fresh.digest(t))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Listing(), fresh.listing()) {
		t.Fatal("it leads to another listing")
	}
	sink, scratch := &memorySink{contents: p.Contents(), got: map[release.Digest][]byte{}}, &memoryScratch{}
	err = p.ApplySome(t.Context(), setSource{there, old.listing()}, scratch, sink, wish)
	if scratch.open != 0 {
		t.Errorf("%d scratch files stay", scratch.open)
	}
	return sink, p, err
}

// wantAll checks that a sink has all new contents.
func (s *memorySink) wantAll(t testing.TB, old, fresh set) {
	t.Helper()
	there := map[release.Digest]bool{}
	for _, data := range old {
		there[release.ObjectOf(data).Sum] = true
	}
	for path, data := range fresh {
		if sum := release.ObjectOf(data).Sum; !there[sum] && !bytes.Equal(s.got[sum], data) {
			t.Errorf("%q has %d of %d bytes", path, len(s.got[sum]), len(data))
		}
	}
}

// edited is a pack with one changed entry.
func edited(t testing.TB, n, changed int) []byte {
	t.Helper()
	var list []member
	for i := range n {
		data := sample("text", uint64(i), 200+i*37%9000)
		if i == changed {
			data = append(slices.Clone(data[:len(data)/2]), append([]byte("an edit"), data[len(data)/2:]...)...)
		}
		list = append(list, member{fmt.Sprintf("folder/%04d.js", i), data, zip.Deflate, usual})
	}
	return archive(t, list...)
}

// story is a release with a deflated pack, loose files and a renamed pack.
func story(t testing.TB) (old, fresh set) {
	t.Helper()
	both := set{"Same.zip": pack(t, 3), "Loose.txt": sample("text", 400, 30_000)}
	old = both.with(set{"Core.zip": pack(t, 40), "Maps-1.zip": pack(t, 20), "Note.txt": sample("text", 401, 9000)})
	fresh = both.with(set{
		"Core.zip": edited(t, 40, 17), "Maps-2.zip": edited(t, 20, 3), "Note.txt": append(sample("text", 401, 9000), "more"...), "Add.txt": sample("text", 402, 500),
	})
	return old, fresh
}

func TestPatch(t *testing.T) {
	old, fresh := story(t)
	patch := makePatch(t, old, fresh, 2)
	if again := makePatch(t, old, fresh, 1); !bytes.Equal(again, patch) {
		t.Error("one worker makes another patch")
	}
	if len(patch) > 2500 {
		t.Errorf("it has %d bytes", len(patch))
	}
	sink, p, err := apply(t, patch, old, old, fresh, all)
	if err != nil {
		t.Fatal(err)
	}
	sink.wantAll(t, old, fresh)
	if w := p.Work(); w.Inflated < 800 || w.Inflated > 1600 || w.Scratch < int64(len(old["Core.zip"])+len(old["Maps-1.zip"])+len(fresh["Core.zip"])) {
		t.Errorf("its work is %+v", w)
	}
	rebuilt := 0
	for _, r := range p.Rebuilt() {
		if r.Form > 0 {
			rebuilt++
		}
		if r.Deflated > 1600 || (r.Form > 0) != (r.Deflated > 100) { // of 40 streams only the changed one
			t.Errorf("%+v", r)
		}
	}
	if rebuilt != 2 {
		t.Errorf("%d files are rebuilt", rebuilt)
	}
}

// TestPatchSome makes only what is wanted, of what is there.
func TestPatchSome(t *testing.T) {
	old, fresh := story(t)
	patch := makePatch(t, old, fresh, 2)
	p, err := OpenPatch(bytes.NewReader(patch), old.listing(), fresh.digest(t))
	if err != nil {
		t.Fatal(err)
	}
	core := slices.IndexFunc(p.Contents(), func(c delta.SetContent) bool { return c.Path == "Core.zip" })
	sink, _, err := apply(t, patch, old, old, fresh, delta.SetWish{Wanted: func(i int) bool { return i == core }, Failed: all.Failed})
	if err != nil || !bytes.Equal(sink.got[p.Contents()[core].Sum], fresh["Core.zip"]) {
		t.Errorf("one content: %v", err)
	}
	for name, there := range map[string]set{"is missing": {"Note.txt": old["Note.txt"]}, "is damaged": old.with(set{"Core.zip": edited(t, 40, 2)})} {
		failed := map[string]bool{}
		sink, p, err := apply(t, patch, old, there, fresh, delta.SetWish{Wanted: all.Wanted, Failed: func(first, count int, err error) error {
			for _, c := range p.Contents()[first : first+count] {
				failed[c.Path] = true
			}
			return nil
		}})
		if err != nil || !failed["Core.zip"] {
			t.Errorf("a pack %s: %v, failed are %v", name, err, failed)
		}
		for _, c := range p.Contents() {
			if got, made := sink.got[c.Sum]; made == failed[c.Path] || made && release.ObjectOf(got).Sum != c.Sum {
				t.Errorf("a pack %s: %q is made: %v, failed: %v", name, c.Path, made, failed[c.Path])
			}
		}
	}
}

// TestPatchRecompressed has a pack of which only the compression changed, and two packs with the same contents.
func TestPatchRecompressed(t *testing.T) {
	text := func(p Params) []byte {
		return archive(t, member{"a", sample("text", 1, 50_000), zip.Deflate, p}, member{"b", sample("text", 2, 70_000), zip.Deflate, p})
	}
	old := set{"Core.zip": text(usual), "Same.txt": []byte("the same")}
	for name, fresh := range map[string]set{
		"two levels": {"Core.zip": text(Params{9, 8, false}), "Copy.zip": text(Params{1, 8, false}), "Same.txt": []byte("the same")},
		"stored":     {"Core.zip": text(Params{9, 8, false}), "Same.txt": []byte("the same"), "Plain.txt": sample("text", 2, 70_000)},
	} {
		patch := makePatch(t, old, fresh, 2)
		sink, _, err := apply(t, patch, old, old, fresh, all)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		sink.wantAll(t, old, fresh)
	}
}

// TestPatchKeeps: streams that a pack and its old version have stay compressed in both forms, so the work is that of what changed.
func TestPatchKeeps(t *testing.T) {
	noise := make([]member, 30)
	for i := range noise {
		noise[i] = member{fmt.Sprint("noise", i), append(sample("noise", uint64(i), 20_000), sample("text", uint64(i), 2000)...), zip.Deflate, usual}
	}
	text := func(seed uint64, size int) member {
		return member{fmt.Sprint("text", seed), sample("text", seed, size), zip.Deflate, usual}
	}
	old := set{"Core.zip": archive(t, append(slices.Clone(noise), text(1, 9000), text(2, 9000), text(3, 9000))...), "Other.zip": pack(t, 4)}
	for name, test := range map[string]struct {
		fresh set
		least int64 // deflated
		most  int64
	}{
		"a changed text":           {set{"Core.zip": archive(t, append(slices.Clone(noise), text(1, 9000), text(2, 9100), text(3, 9000))...)}, 1, 20_000},
		"another order":            {set{"Core.zip": archive(t, append([]member{text(3, 9000), text(1, 9500), text(2, 9000)}, noise...)...)}, 1, 20_000},
		"another name":             {set{"Core2.zip": archive(t, append(slices.Clone(noise), text(1, 9000), text(2, 9100), text(3, 9000))...)}, 1, 20_000},
		"an entry of another pack": {set{"Core.zip": archive(t, append(slices.Clone(noise), text(1, 9100), text(2, 9000))...), "Other.zip": archive(t, text(3, 9000))}, 1, 40_000},
		"few unchanged texts":      {set{"Core.zip": archive(t, text(1, 9000), text(2, 9100), text(3, 9500))}, 20_000, 100_000},
	} {
		scratch := &memoryScratch{}
		var out bytes.Buffer
		if _, err := MakePatch(t.Context(), &out, old.side(), test.fresh.side(), scratch, delta.SetPatchOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sink, p, err := apply(t, out.Bytes(), old, old, test.fresh, all)
		if err != nil || out.Len() > 1500 {
			t.Errorf("%s: %d bytes, %v", name, out.Len(), err)
		}
		sink.wantAll(t, old, test.fresh)
		deflated := int64(0)
		for _, r := range p.Rebuilt() {
			deflated += r.Deflated
		}
		if deflated < test.least || deflated > test.most || p.Work().Inflated > test.most {
			t.Errorf("%s: %d bytes are deflated, %d inflated", name, deflated, p.Work().Inflated)
		}
	}
}

// TestPatchOdd patches archives of unusual programs. Each is patched as its form, or not at all, and is made exactly.
func TestPatchOdd(t *testing.T) {
	stored := func(data []byte) member { return member{"inner.zip", data, zip.Store, usual} }
	for name, test := range map[string]struct {
		make    func(edit string) []byte
		refused bool
	}{
		"64-bit numbers":   {func(edit string) []byte { return zip64(t, archive(t, oddTexts(edit)...)) }, false},
		"data descriptors": {func(edit string) []byte { return archiveWith(t, described, oddTexts(edit)...) }, false},
		"stored and deflated": {func(edit string) []byte {
			return archive(t, append(oddTexts(edit), stored(sample("noise", 1, 5000)))...)
		}, false},
		"the same name twice": {func(edit string) []byte { return archive(t, append(oddTexts(edit), oddTexts(edit+" again")...)...) }, false},
		"bytes between":       {func(edit string) []byte { return gapped(t, oddTexts(edit)...) }, false},
		"behind a program":    {func(edit string) []byte { return append(sample("noise", 2, 3000), archive(t, oddTexts(edit)...)...) }, false},
		"a stored archive":    {func(edit string) []byte { return archive(t, stored(archive(t, oddTexts(edit)...))) }, true},
		"a deflated archive": {func(edit string) []byte {
			return archive(t, member{"inner.zip", archive(t, oddTexts(edit)...), zip.Deflate, usual})
		}, false},
		"an archive beside":     {func(edit string) []byte { return archive(t, append(oddTexts(edit), stored(pack(t, 3)))...) }, false},
		"truncated":             {func(edit string) []byte { all := archive(t, oddTexts(edit)...); return all[:len(all)-9] }, true},
		"without its beginning": {func(edit string) []byte { return archive(t, oddTexts(edit)...)[700:] }, true},
		"a bomb": {func(edit string) []byte {
			return archive(t, member{"zeros", append([]byte(edit), make([]byte, 4<<20)...), zip.Deflate, usual})
		}, true},
		"a comment": {func(edit string) []byte {
			all := archive(t, oddTexts(edit)...)
			binary.LittleEndian.PutUint16(all[len(all)-2:], uint16(len(edit)))
			return append(all, edit...)
		}, false},
	} {
		checkOdd(t, name, test.make, test.refused)
	}
}

// TestPatchOfManyEntries is the same for an archive of more than 10,000 entries.
func TestPatchOfManyEntries(t *testing.T) {
	testlevel.Slow(t)
	checkOdd(t, "10,000 entries", func(edit string) []byte {
		list := oddTexts(edit)
		for i := range 10_000 {
			list = append(list, member{fmt.Sprint("entry", i), fmt.Appendf(nil, "entry %d, entry %d, entry %d", i, i, i), zip.Deflate, usual})
		}
		return archive(t, list...)
	}, false)
}

// oddTexts are entries, one of which has an edit.
func oddTexts(edit string) (list []member) {
	for i := range 6 {
		data := sample("text", uint64(i), 9000)
		if i == 3 {
			data = append(append(slices.Clone(data[:4000]), edit...), data[4000:]...)
		}
		list = append(list, member{fmt.Sprint("text", i), data, zip.Deflate, usual})
	}
	return list
}

// checkOdd makes and applies the patch between two editions of an archive, unless it is refused.
func checkOdd(t *testing.T, name string, edition func(edit string) []byte, refuses bool) {
	t.Helper()
	old, fresh := set{"a.zip": edition("an edit")}, set{"a.zip": edition("another edit, and a longer one")}
	var out bytes.Buffer
	_, err := MakePatch(t.Context(), &out, old.side(), fresh.side(), &memoryScratch{}, delta.SetPatchOptions{})
	if refused := errors.Is(err, ErrNothingDeflated); refused != refuses || err != nil && !refused {
		t.Errorf("%s: %v", name, err)
	}
	if err != nil {
		return
	}
	sink, _, err := apply(t, out.Bytes(), old, old, fresh, all)
	if err != nil || out.Len() > 3000 {
		t.Errorf("%s: %d bytes, %v", name, out.Len(), err)
	}
	sink.wantAll(t, old, fresh)
}

func TestPatchNothing(t *testing.T) {
	old, fresh := story(t)
	for name, sets := range map[string][2]set{
		"no archives":    {{"a": sample("text", 1, 900)}, {"a": sample("text", 2, 900)}},
		"no old archive": {{"a": sample("text", 1, 900)}, {"a": pack(t, 3)}},
		"no new archive": {old, {"a": sample("text", 1, 900)}},
		"foreign":        {{"a": foreign(t)}, {"a": foreign(t)[1:]}},
		"the same":       {old, old},
		"a form's name":  {old, fresh.with(set{"x" + FormSuffix: []byte("x")})},
	} {
		_, err := MakePatch(t.Context(), io.Discard, sets[0].side(), sets[1].side(), &memoryScratch{}, delta.SetPatchOptions{})
		if !errors.Is(err, ErrNothingDeflated) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := MakePatch(t.Context(), io.Discard, old.side(), fresh.side(), &memoryScratch{}, delta.SetPatchOptions{MaxBytes: 50}); !errors.Is(err, delta.ErrPatchTooLarge) {
		t.Errorf("50 bytes at most: %v", err)
	}
}

// TestPatchErrors passes errors of disks and of the caller on, and leaves no scratch files.
func TestPatchErrors(t *testing.T) {
	old, fresh := story(t)
	scratch := &memoryScratch{fail: errFailing}
	if _, err := MakePatch(t.Context(), io.Discard, old.side(), fresh.side(), scratch, delta.SetPatchOptions{}); !errors.Is(err, errFailing) {
		t.Errorf("scratch fails: %v", err)
	}
	patch := makePatch(t, old, fresh, 2)
	for name, change := range map[string]func(*memoryScratch, *memorySink){
		"scratch": func(s *memoryScratch, _ *memorySink) { s.fail = errFailing },
		"sink":    func(_ *memoryScratch, s *memorySink) { s.end = errFailing },
	} {
		p, err := OpenPatch(bytes.NewReader(patch), old.listing(), fresh.digest(t))
		if err != nil {
			t.Fatal(err)
		}
		scratch, sink := &memoryScratch{}, &memorySink{contents: p.Contents(), got: map[release.Digest][]byte{}}
		change(scratch, sink)
		if err := p.ApplySome(t.Context(), old.side().Source, scratch, sink, all); !errors.Is(err, errFailing) {
			t.Errorf("%s fails: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p, err := OpenPatch(bytes.NewReader(patch), old.listing(), fresh.digest(t))
	if err != nil {
		t.Fatal(err)
	}
	sink := &memorySink{contents: p.Contents(), got: map[release.Digest][]byte{}}
	if err := p.ApplySome(ctx, old.side().Source, &memoryScratch{}, sink, all); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestPatchDamaged cuts and changes a patch: it is refused, or makes right contents only.
func TestPatchDamaged(t *testing.T) {
	old := set{"Core.zip": pack(t, 10), "a.txt": sample("text", 1, 3000)}
	fresh := set{"Core.zip": edited(t, 10, 4), "a.txt": sample("text", 2, 3000)}
	patch := makePatch(t, old, fresh, 2)
	to := fresh.digest(t)
	try := func(name string, data []byte) {
		p, err := OpenPatch(bytes.NewReader(data), old.listing(), to)
		if err != nil {
			if wrong := (*release.FormatError)(nil); !errors.As(err, &wrong) {
				t.Errorf("%s: %v", name, err)
			}
			return
		}
		sink := &memorySink{contents: p.Contents(), got: map[release.Digest][]byte{}}
		err = p.ApplySome(t.Context(), old.side().Source, &memoryScratch{}, sink, all)
		for sum, got := range sink.got {
			if release.ObjectOf(got).Sum != sum {
				t.Errorf("%s: a wrong content is given out (%v)", name, err)
			}
		}
	}
	for at := 0; at < len(patch); at += testlevel.Stride(5, 15) {
		try(fmt.Sprintf("cut at %d", at), patch[:at])
		bad := bytes.Clone(patch)
		bad[at] ^= 1 << (at % 8)
		try(fmt.Sprintf("changed at %d", at), bad)
	}
	try("longer", append(bytes.Clone(patch), 0))
	if _, err := OpenPatch(&failing{}, old.listing(), to); !errors.Is(err, errFailing) {
		t.Errorf("a failing reader: %v", err)
	}
}

// FuzzOpenPatch opens and applies any bytes.
func FuzzOpenPatch(f *testing.F) {
	old := set{"Core.zip": pack(f, 3)}
	fresh := set{"Core.zip": edited(f, 3, 1)}
	to := fresh.digest(f)
	f.Add(makePatch(f, old, fresh, 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := OpenPatch(bytes.NewReader(data), old.listing(), to)
		if err != nil {
			return
		}
		sink := &memorySink{contents: p.Contents(), got: map[release.Digest][]byte{}}
		_ = p.ApplySome(t.Context(), old.side().Source, &memoryScratch{}, sink, all)
	})
}
