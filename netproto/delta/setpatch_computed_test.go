package delta_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"collet/netproto/delta"
	"collet/netproto/release"
)

// formOf is the form of a set patch.
func formOf(patch []byte) byte { return patch[2] }

// trivial is a step as small as they come: one line of three files.
func trivial() (old, fresh tree) {
	old, fresh = tree{}, tree{}
	for _, name := range []string{"a.js", "b.js", "c.js", "same.js"} {
		old[name] = prose(uint64(len(old)), 4000)
		fresh[name] = old[name]
		if name != "same.js" {
			fresh[name] = strings.Replace(old[name], "lathe", "REVISION = 186.1", 1)
		}
	}
	return old, fresh
}

func TestSetPatchFormFollowsFromSize(t *testing.T) {
	t.Parallel()
	old, fresh := trivial()
	for _, test := range []struct {
		name    string
		fresh   tree
		options delta.SetPatchOptions
		form    byte
	}{
		{"small", fresh, delta.SetPatchOptions{}, 2},
		{"small, asked for otherwise", fresh, delta.SetPatchOptions{Sums: true}, 1},
		{"without new contents", tree{"a.js": old["a.js"]}, delta.SetPatchOptions{}, 1},
		{"one content in a patch of some KB", old.with(tree{"new.bin": noise(1, 4000)}), delta.SetPatchOptions{MaxMemory: 1}, 1},
		{"one content in a patch of 2 KB", old.with(tree{"new.bin": noise(1, 1900)}), delta.SetPatchOptions{MaxMemory: 1}, 2},
		{"a large patch", old.with(tree{"new.bin": noise(1, delta.MaxComputedPatch+1000)}), delta.SetPatchOptions{MaxMemory: 1}, 1},
		{"large contents", old.with(tree{"new.bin": strings.Repeat("0", delta.MaxComputed+1)}), delta.SetPatchOptions{MaxMemory: 1}, 1},
		{"the largest contents", old.with(tree{"new.bin": strings.Repeat("0", delta.MaxComputed)}), delta.SetPatchOptions{MaxMemory: 1}, 2},
	} {
		if testing.Short() && strings.Contains(test.name, "contents") && test.name != "without new contents" {
			continue // a large one
		}
		patch := steps(t, old, test.fresh, test.options)
		if formOf(patch) != test.form {
			t.Errorf("%s: form %d, want %d", test.name, formOf(patch), test.form)
		}
		if bound := 300 + delta.MaxComputedPatch*int(2-test.form); len(patch) > bound+2000 {
			t.Errorf("%s: %d bytes", test.name, len(patch))
		}
	}
}

// TestComputedSetPatchSavesTheDigests: the two forms differ exactly by the digests.
func TestComputedSetPatchSavesTheDigests(t *testing.T) {
	t.Parallel()
	old, fresh := trivial()
	computed, sums := steps(t, old, fresh, delta.SetPatchOptions{}), steps(t, old, fresh, delta.SetPatchOptions{Sums: true})
	if len(sums)-len(computed) != 3*32 {
		t.Errorf("%d and %d bytes", len(computed), len(sums))
	}
}

// TestComputedSetPatchIsKnownWhenApplied: the new set is unknown until it is verified.
func TestComputedSetPatchIsKnownWhenApplied(t *testing.T) {
	t.Parallel()
	old, fresh := trivial()
	patch, to := makePatch(t, old, fresh, delta.SetPatchOptions{}), digestOf(t, fresh.listing())
	open := func(patch []byte, to release.Digest) *delta.SetPatch {
		p, err := delta.OpenSetPatch(bytes.NewReader(patch), old.listing(), to)
		if err != nil {
			t.Fatal(err)
		}
		if p.HasListing() || p.Listing() != nil || !p.Contents()[0].Sum.IsZero() || p.Contents()[0].Path != "a.js" {
			t.Fatalf("known %t, %d files, %v", p.HasListing(), len(p.Listing()), p.Contents()[0])
		}
		return p
	}
	p := open(patch, to)
	if err := p.ApplySome(context.Background(), old.side().Source, &taken{}, delta.SetWish{}); err == nil || peersFault(err) {
		t.Errorf("in part, without the listing: %v", err)
	}
	if err := p.Apply(context.Background(), old.side().Source, &taken{}); err != nil || !p.HasListing() || !slices.Equal(p.Listing(), fresh.listing()) {
		t.Errorf("%v, known %t, %v", err, p.HasListing(), p.Listing())
	}
	if p.Contents()[0].Sum != sha(fresh["a.js"]) {
		t.Errorf("%v", p.Contents()[0])
	}
	p = open(patch, sha("another listing"))
	var format *release.FormatError
	if err := p.Apply(context.Background(), old.side().Source, &taken{}); !errors.As(err, &format) || p.HasListing() || p.Listing() != nil {
		t.Errorf("to another listing: %v, known %t", err, p.HasListing())
	}
	p = open(patch, to)
	if err := p.SetListing(old.listing()); !errors.As(err, &format) || p.HasListing() {
		t.Errorf("another listing is believed: %v", err)
	}
	if err := p.SetListing(fresh.listing()); err != nil || !p.HasListing() || !slices.Equal(p.Listing(), fresh.listing()) {
		t.Errorf("%v", err)
	}
	wrong := open(patch, digestOf(t, pack(3).listing()))
	if err := wrong.SetListing(pack(3).listing()); !errors.As(err, &format) || wrong.HasListing() {
		t.Errorf("a listing to which it does not lead: %v", err)
	}
}

// TestComputedSetPatchTellsWhoseFaultItIs: after a failure, either old files are damaged or the patch is.
func TestComputedSetPatchTellsWhoseFaultItIs(t *testing.T) {
	t.Parallel()
	old, fresh := trivial()
	side, to := old.side(), digestOf(t, fresh.listing())
	patch := makePatch(t, old, fresh, delta.SetPatchOptions{})
	bad := bytes.Clone(patch)
	bad[len(bad)-1] ^= 1 // of the check of all contents
	for _, test := range []struct {
		name          string
		patch         []byte
		gone, damaged string
		peer          bool
		want          []string
	}{
		{"all is well", patch, "", "", false, nil},
		{"the patch is damaged", bad, "", "", true, nil},
		{"an old file is damaged", patch, "", "b.js", true, []string{"b.js"}},
		{"an old file is gone", patch, "c.js", "", false, []string{"c.js"}},
		{"one that is not read is gone", patch, "same.js", "", false, nil},
	} {
		p, err := delta.OpenSetPatch(bytes.NewReader(test.patch), side.Listing, to)
		if err != nil {
			t.Fatal(err)
		}
		source := holed{treeSource{old, side.Listing}, test.gone, test.damaged}
		err = p.Apply(context.Background(), source, &taken{})
		if peersFault(err) != test.peer || (err == nil) != p.HasListing() || test.want != nil && err == nil {
			t.Errorf("%s: %v, known %t", test.name, err, p.HasListing())
		}
		if gone := errors.Is(err, fs.ErrNotExist); gone != (test.gone == "c.js") {
			t.Errorf("%s: %v", test.name, err)
		}
		var got []string
		list, err := p.Damaged(context.Background(), source)
		for _, i := range list {
			got = append(got, side.Listing[i].Path)
		}
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %v are damaged, want %v; %v", test.name, got, test.want, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := p.Damaged(ctx, source); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestComputedSetPatchHostile: what has no digests is held to its sizes all the same.
func TestComputedSetPatchHostile(t *testing.T) {
	t.Parallel()
	old := tree{"a": "1", "b": "2"}
	adds := func(size int, rest ...byte) []byte { // a file x of so many bytes
		ops := binary.AppendUvarint([]byte{2, 10, 0, 1}, uint64(2*size))
		delta := append([]byte{byte(len(ops)), 1}, ops...)
		delta = append(delta, 'x', 1, 1) // the text, and one whole group
		return append(append([]byte{'C', 'S', 2, byte(len(delta) << 1)}, delta...), rest...)
	}
	stored := func(text string) []byte { return append([]byte{1, byte(len(text))}, text...) }
	to := digestOf(t, old.with(tree{"x": "four"}).listing())
	for _, test := range []struct {
		name  string
		patch []byte
		ok    bool
		want  string
	}{
		{"as it should be", adds(4, stored("four")...), true, ""},
		{"another content", adds(4, stored("five")...), false, "does not lead to the listing"},
		{"too short", adds(4, stored("fo")...), false, "2"},
		{"too long", adds(4, stored("four more")...), false, "behind the object's end"},
		{"another size", adds(5, stored("fours")...), false, "does not lead to the listing"},
		{"cut off", adds(4), false, "cut off"},
		{"goes on", adds(4, append(stored("four"), 0)...), false, "behind its end"},
		{"more than may be computed", adds(delta.MaxComputed + 1), false, "no digests of 33554433 bytes"},
		{"a form that is none", append([]byte("CS\x03"), adds(4)[3:]...), false, "form 3"},
		{"old form", []byte("CS\x00"), false, "form 0"},
		{"not even that", []byte("CS"), false, "no set patch"},
	} {
		_, err := applyPatch(bytes.NewReader(test.patch), old, to)
		if test.ok != (err == nil) || err != nil && (!peersFault(err) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}
