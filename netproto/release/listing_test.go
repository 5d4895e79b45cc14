package release_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"collet/netproto/release"
	"collet/platform/testlevel"
)

var badListings = []struct{ old, with, reason string }{
	{`[{`, `[ {`, `want "{\"mode\":"`}, {`[{`, `{`, `want "["`}, {`"mode":420`, `"mode":4096`, "no plain number"}, {`"mode":420`, `"mode":2541`, "neither 420 nor 493"},
	{`"mode":420`, `"mode":0`, "neither 420 nor 493"}, {`"mode":420`, `"mode":421`, "neither 420 nor 493"},
	{`"0d45f5fd`, `"0D45f5fd`, "64 lower-case hex digits"}, {`"0d45f5fd`, `"0d45f5f`, "64 lower-case hex digits"},
	{`"Core.zip"`, `"Zore.zip"`, "not in order"}, {`"Host.dbg"`, `"Core.zip"`, "stands twice"},
	{`"resource"`, `"Resource"`, "none of resource"}, {`"resource"`, `""`, "none of resource"},
	{`"size":4}`, `"size":1099511627777}`, "no plain number"}, {`"size":4}`, `"size":4,"x":1}`, `want "}"`},
	{`"path":"Core.zip"`, `"path":"Core\n.zip"`, "escape that is not needed"},
	{`"path":"Core.zip"`, `"path":"` + strings.Repeat("C", 241) + `"`, "does not end within 240"},
}

func TestBadListings(t *testing.T) {
	t.Parallel()
	for _, bad := range badListings {
		l, err := release.ParseListing(replaced(t, "listing-full.json", bad.old, bad.with))
		if fault := formatFault(err); fault == nil || fault.Document != "listing" || !strings.Contains(fault.Reason, bad.reason) || l != nil {
			t.Errorf("%s → %s: %v, %v, want %s", bad.old, bad.with, l, err, bad.reason)
		}
	}
}

// TestListingsHoldToThePathRules: what CheckSet refuses is refused, reading and writing.
func TestListingsHoldToThePathRules(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"../x", "/etc/passwd", "CON", "a/../b", "A.zip ", "a~1", "~x"} {
		l, err := release.ParseListing(replaced(t, "listing-full.json", `"Core.zip"`, `"`+bad+`"`))
		if pathFault(err) == nil && formatFault(err) == nil || l != nil { // out of order is a fault of the form
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, names := range [][]string{{"a", "a/b"}, {"A", "a"}, {"../x"}, {""}} {
		var list []release.ListedFile
		for _, name := range names {
			list = append(list, release.ListedFile{Path: name, Use: release.UseResource, Mode: release.PlainMode, Sum: sha(name)})
		}
		if data, err := release.NewListing(list).Encode(); pathFault(err) == nil || data != nil {
			t.Errorf("%q was written as %s, %v", names, data, err)
		}
	}
	data := []byte(strings.Replace(string(golden(t, "listing-full.json")), `"Core.zip"`, `"Aux.zip"`, 1))
	if _, err := release.ParseListing(data); pathFault(err) == nil {
		t.Errorf("a device: %v", err)
	}
}

func TestUnwritableListings(t *testing.T) {
	t.Parallel()
	good := release.ListedFile{Path: "a", Use: release.UseResource, Mode: release.PlainMode, Sum: sha("a")}
	for reason, spoil := range map[string]func(*release.ListedFile){
		"neither 420 nor 493": func(f *release.ListedFile) { f.Mode = 0o4755 },
		"none of resource":    func(f *release.ListedFile) { f.Use = "" },
		"no SHA-256":          func(f *release.ListedFile) { f.Sum = release.FNVDigest(1) },
		"negative":            func(f *release.ListedFile) { f.Size = -1 },
		"more than":           func(f *release.ListedFile) { f.Size = release.MaxFile + 1 },
	} {
		f := good
		spoil(&f)
		if data, err := (release.Listing{f}).Encode(); err == nil || !strings.Contains(err.Error(), reason) || formatFault(err) != nil {
			t.Errorf("%s: %s, %v", reason, data, err)
		}
	}
	if _, err := (release.Listing{{Path: "b", Use: good.Use, Mode: good.Mode, Sum: good.Sum}, good}).Encode(); err == nil {
		t.Error("an unsorted listing was written")
	}
	if d, err := (release.Listing{{}}).Digest(); err == nil || !d.IsZero() {
		t.Errorf("a listing that can't be written has the digest %v", d)
	}
}

// TestListingIsTheIdentityOfASet: the order in which files are found does not show; anything else does.
func TestListingIsTheIdentityOfASet(t *testing.T) {
	t.Parallel()
	want, err := fullListing().Digest()
	if err != nil || want != sha(string(golden(t, "listing-full.json"))) {
		t.Errorf("%v, %v", want, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		l := release.NewListing(rapid.Permutation([]release.ListedFile(fullListing())).Draw(t, "order"))
		if got, err := l.Digest(); err != nil || got != want {
			t.Fatalf("%v, %v", got, err)
		}
		l = append(release.Listing(nil), l...)
		f := &l[rapid.IntRange(0, len(l)-1).Draw(t, "file")]
		rapid.SampledFrom([]func(){
			func() { f.Path += "x" }, func() { f.Size ^= 1 }, func() { f.Sum = sha("other") },
			func() { f.Mode ^= release.PlainMode ^ release.ProgramMode },
		}).Draw(t, "change")()
		if got, err := release.NewListing(l).Digest(); err == nil && got == want {
			t.Fatalf("a change does not show: %+v", *f)
		}
	})
}

func TestListingAsFiles(t *testing.T) {
	t.Parallel()
	l := fullListing()
	ours := l.Files()
	for i, f := range l {
		role, known := f.Use.Role()
		want := release.File{Path: f.Path, Size: f.Size, Digest: f.Sum, Role: role, Index: uint32(i)}
		if !known || ours[i] != want {
			t.Errorf("%+v, want %+v", ours[i], want)
		}
		if found, ok := l.Find(f.Path); !ok || found != f {
			t.Errorf("%s is found as %+v", f.Path, found)
		}
	}
	if _, ok := l.Find("core.zip"); ok {
		t.Error("a path in another spelling was found")
	}
	if got := l.Bytes(); got != 9+4+release.MaxFile+1 {
		t.Errorf("%d bytes", got)
	}
}

func TestUses(t *testing.T) {
	t.Parallel()
	for use, role := range map[release.Use]release.Role{
		release.UseResource: release.Resource, release.UseRuntime: release.Binary, release.UseCompanion: release.Binary, release.UseHost: release.Binary,
	} {
		if got, known := use.Role(); got != role || !known {
			t.Errorf("%s: %v, %v", use, got, known)
		}
	}
	if _, known := release.Use("binary").Role(); known {
		t.Error("a use that does not exist is known")
	}
	for name, want := range map[string]release.Use{
		"Lathe.so": release.UseRuntime, "Lathe.DLL": release.UseRuntime, "a/Lathe.dylib": release.UseRuntime,
		"Lathe.so.dbg": release.UseCompanion, "Lathe.pdb": release.UseCompanion, "Lathe": release.UseCompanion,
	} {
		if got := release.UseOf(release.Binary, name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if got := release.UseOf(release.Resource, name); got != release.UseResource {
			t.Errorf("resource %s: %s", name, got)
		}
	}
}

func TestPackedListing(t *testing.T) {
	t.Parallel()
	l := fullListing()
	data, ref, err := l.Pack()
	if err != nil || ref.Sum != sha(string(golden(t, "listing-full.json"))) || ref.Object != release.ObjectOf(data) {
		t.Fatalf("%+v, %v", ref, err)
	}
	if again, _, err := l.Pack(); err != nil || !bytes.Equal(again, data) {
		t.Errorf("packed twice it differs: %v", err)
	}
	if got, err := release.UnpackListing(data, ref); err != nil || !reflect.DeepEqual(got, l) {
		t.Errorf("%+v, %v", got, err)
	}
	// The vector is what another version of the compressor may have made: it is read, whatever is written today.
	vector := golden(t, "listing-full.zst")
	if got, err := release.UnpackListing(vector, release.Packed{Sum: ref.Sum, Size: ref.Size, Object: release.ObjectOf(vector)}); err != nil || !reflect.DeepEqual(got, l) {
		t.Errorf("vector: %+v, %v", got, err)
	}
}

// zstdOf packs anything, as a hostile publisher would.
func zstdOf(t testing.TB, data []byte, options ...zstd.EOption) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil, options...)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(data, nil)
}

// TestHostilePacks: an object that differs from the head's reference is not unpacked; one that matches is still bounded.
func TestHostilePacks(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	data, ref, err := fullListing().Pack()
	if err != nil {
		t.Fatal(err)
	}
	var wrong *release.ObjectError
	for name, sent := range map[string][]byte{
		"cut": data[:len(data)-1], "longer": append(bytes.Clone(data), 0), "empty": nil, "changed": append(bytes.Clone(data[:len(data)-1]), data[len(data)-1]^1),
	} {
		if _, err := release.UnpackListing(sent, ref); !errors.As(err, &wrong) || wrong.Object != ref.Object {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := release.UnpackSources(sent, ref.Object); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	bomb := zstdOf(t, make([]byte, 72<<20))
	plain := golden(t, "listing-full.json")
	for name, sent := range map[string][]byte{
		"bomb": bomb, "bomb after bomb": bytes.Repeat(bomb, 3), "no zstd": []byte("no zstd at all"), "other listing": zstdOf(t, []byte("[]")),
		"wide window": zstdOf(t, bytes.Repeat(plain, 100), zstd.WithWindowSize(128<<20), zstd.WithSingleSegment(false)),
	} {
		vouched := release.Packed{Sum: ref.Sum, Size: ref.Size, Object: release.ObjectOf(sent)}
		if got, err := release.UnpackListing(sent, vouched); formatFault(err) == nil || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := release.UnpackSources(bomb, release.ObjectOf(bomb)); formatFault(err) == nil {
		t.Errorf("bomb for sources: %v", err)
	}
	none := zstdOf(t, nil)
	if _, err := release.UnpackListing(none, release.Packed{Sum: sha(""), Object: release.ObjectOf(none)}); formatFault(err) == nil {
		t.Errorf("an empty document: %v", err)
	}
}

// TestMemoryOfABomb: 200 MB of zeros in a few bytes take up no more than the document may have.
func TestMemoryOfABomb(t *testing.T) {
	testlevel.Slow(t)
	bomb := zstdOf(t, make([]byte, 72<<20))
	ref := release.Packed{Sum: sha(""), Size: 1 << 20, Object: release.ObjectOf(bomb)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := release.UnpackListing(bomb, ref); err == nil {
		t.Error("taken")
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 32<<20 {
		t.Errorf("%d bytes were made room for", got)
	}
}

// manyFiles is a set of n files.
func manyFiles(n int) release.Listing {
	list := make([]release.ListedFile, n)
	for i := range list {
		list[i] = release.ListedFile{
			Path: fmt.Sprintf("Folder%03d/Pack%06d.zip", i%100, i), Use: release.UseResource, Size: int64(i), Mode: release.PlainMode,
			Sum: sha(fmt.Sprint(i)),
		}
	}
	return release.NewListing(list)
}

func TestLargestListing(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	if _, err := manyFiles(release.MaxSet + 1).Encode(); pathFault(err) == nil {
		t.Errorf("one more: %v", err)
	}
	testlevel.Lab(t) // TestCheckSetIsBounded says in make test that so many are allowed
	l := manyFiles(release.MaxSet)
	data, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := release.ParseListing(data)
	if err != nil || len(got) != release.MaxSet || got[release.MaxSet-1] != l[release.MaxSet-1] {
		t.Errorf("%d files, %v", len(got), err)
	}
}

func BenchmarkParseListing(b *testing.B) {
	data, err := manyFiles(10_000).Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := release.ParseListing(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeListing(b *testing.B) {
	l := manyFiles(10_000)
	for b.Loop() {
		if _, err := l.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}
