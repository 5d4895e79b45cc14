package publish_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"collet/build/publish"
	"collet/netproto/deflate"
	"collet/netproto/release"
)

// deflatedPack is a pack of texts as zlib deflates them. The texts of some entries differ by edition.
func deflatedPack(t *testing.T, edition, entries uint64) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range entries {
		text := prose(i, 400+int(i)*300)
		if i%3 == 0 {
			text = prose(1000*edition+i, 40) + text
		}
		var packed bytes.Buffer
		must(t, deflate.Encode(&packed, strings.NewReader(text), deflate.Params{Level: 9, MemLevel: 8}))
		out, err := w.CreateRaw(&zip.FileHeader{Name: fmt.Sprint(i), Method: zip.Deflate, CompressedSize64: uint64(packed.Len()), UncompressedSize64: uint64(len(text))})
		must(t, err)
		_, err = out.Write(packed.Bytes())
		must(t, err)
	}
	must(t, w.Close())
	return b.String()
}

// TestExpandedPatches: a release with a deflated pack has expanded patches from each earlier one, which the ledger keeps, and old clients
// find theirs as ever.
func TestExpandedPatches(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	one := small(1).with(tree{"Resources/Core.zip": deflatedPack(t, 1, 20)})
	two := one.with(tree{"Resources/Core.zip": deflatedPack(t, 2, 20)})
	three := one.with(tree{"Resources/Core.zip": deflatedPack(t, 3, 20)})
	s.publish(game(t, one), publish.Request{})
	s.publish(game(t, two), publish.Request{})
	list := s.publish(game(t, three), publish.Request{}).Releases[0].Patches
	if len(list) != 2 || list[0].Expanded == 0 || list[1].Expanded == 0 || list[0].Expanded*5 > list[0].Bytes*4 {
		t.Fatalf("%+v", list)
	}
	fresh := s.wants(query("stable", linux, 1), 3, three.setOf(linux))
	for number := uint64(1); number <= 2; number++ {
		old := s.headOf(number).Listing.Sum
		o, found := fresh.head.ExpandedFrom(old)
		if _, usual := fresh.head.PatchFrom(old); !found || !usual || o.Size != list[2-number].Expanded {
			t.Errorf("from release %d: %v, %+v", number, found, list)
		}
	}
	again := s.publish(game(t, three.with(tree{"Resources/Note.txt": "new"})), publish.Request{PatchFrom: []uint64{1}}).Releases[0].Patches
	if i := slices.IndexFunc(again, func(p publish.PatchSummary) bool { return p.From == 3 }); i < 0 || again[i].Expanded > 0 {
		t.Errorf("an unchanged pack has an expanded patch: %+v", again)
	}
	s.wantSequel(t, 1, s.following(4, mustExpanded(t, s.headOf(4), s.headOf(1))))
}

// TestExpandedLedger: the ledger keeps patches, and that there is nothing to expand.
func TestExpandedLedger(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	one := small(1).with(tree{"Resources/Core.zip": deflatedPack(t, 1, 20), "Resources/Raw.bin": noise(1, 30_000)})
	packed := one.with(tree{"Resources/Core.zip": deflatedPack(t, 2, 20)})
	raw := one.with(tree{"Resources/Raw.bin": noise(2, 15_000) + noise(1, 30_000)})
	s.publish(game(t, one), publish.Request{})
	for i, set := range []tree{packed, raw} {
		s.publish(game(t, set), publish.Request{Number: uint64(i + 2), PatchFrom: []uint64{1}})
	}
	for i, set := range []tree{packed, raw} {
		list := s.publish(game(t, set), publish.Request{Number: uint64(i + 4), PatchFrom: []uint64{1}}).Releases[0].Patches
		at := slices.IndexFunc(list, func(p publish.PatchSummary) bool { return p.From == 1 })
		if at < 0 || list[at].Why != "made before" || (list[at].Expanded > 0) != (i == 0) {
			t.Errorf("release %d again: %+v", i+2, list)
		}
	}
}

// mustExpanded is the expanded patch of a head from an old one.
func mustExpanded(t *testing.T, head, old release.Head) release.Object {
	t.Helper()
	o, found := head.ExpandedFrom(old.Listing.Sum)
	if !found {
		t.Fatal("no expanded patch")
	}
	return o
}

// TestExpandedReproducible: the same input gives the same patch, for any number of workers.
func TestExpandedReproducible(t *testing.T) {
	t.Parallel()
	var first release.Object
	for _, workers := range []int{1, 3} {
		s := newFixture(t)
		s.workers = workers
		one := small(1).with(tree{"Resources/Core.zip": deflatedPack(t, 1, 20)})
		s.publish(game(t, one), publish.Request{})
		s.publish(game(t, one.with(tree{"Resources/Core.zip": deflatedPack(t, 2, 20)})), publish.Request{})
		o := mustExpanded(t, s.headOf(2), s.headOf(1))
		if first.IsZero() {
			first = o
		} else if o != first {
			t.Errorf("%d workers make %v, not %v", workers, o, first)
		}
	}
}
