package download

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/rs/zerolog"

	"collet/platform/faultfs"
	"collet/platform/span"
)

func openPieces(disk *faultfs.Disk) (*Pieces, *faultfs.FS) {
	fsys := disk.Open(faultfs.Options{})
	return &Pieces{fs: fsys, folder: "release", log: zerolog.Nop()}, fsys
}

// TestPiecesAfterAKill: the next process finds the added pieces, of complete and partial files, in any order of arrival.
func TestPiecesAfterAKill(t *testing.T) {
	disk := faultfs.New(faultfs.Config{})
	r, fsys := openPieces(disk)
	r.Add("objects/a", -1, 3, []byte("def"))
	r.Add("metadata/3.targets.json", 6, 0, []byte("known"))
	r.Add("objects/a", -1, 0, []byte("abc"))
	r.Add("objects/b", -1, 4, []byte("later"))
	fsys.Kill()
	r, _ = openPieces(disk)
	if data, whole := r.Prefix("objects/a", 6); string(data) != "abcdef" || !whole {
		t.Errorf("%q, %t", data, whole)
	}
	if data, whole := r.Prefix("objects/a", 9); string(data) != "abcdef" || whole {
		t.Errorf("%q, %t", data, whole)
	}
	if data, whole := r.Prefix("metadata/3.targets.json", 1000); string(data) != "known" || whole {
		t.Errorf("%q, %t", data, whole)
	}
	r.Add("metadata/3.targets.json", 6, 5, []byte("!"))
	if data, whole := r.Prefix("metadata/3.targets.json", 1000); string(data) != "known!" || !whole {
		t.Errorf("%q, %t", data, whole)
	}
	if data, _ := r.Prefix("objects/b", 9); len(data) != 0 || span.Total(r.ranges("objects/b")) != 5 {
		t.Errorf("%q", data)
	}
	r.Drop("objects/a")
	if data, _ := r.Prefix("objects/a", 6); len(data) != 0 || r.Has("objects/a") {
		t.Errorf("%q was dropped", data)
	}
	r.Clear()
	if _, there := disk.Files()["release/"+piecesFile]; there {
		t.Error("the file is still there")
	}
}

// TestPiecesAfterAPowerCut: only bytes that were added are returned, whatever the disk had not written yet.
func TestPiecesAfterAPowerCut(t *testing.T) {
	disk := faultfs.New(faultfs.Config{})
	r, fsys := openPieces(disk)
	piece := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 700+i) }
	for i := range 60 {
		r.Add("objects/a", -1, int64(i)*1000, piece(i))
	}
	fsys.Kill()
	kept := int64(0)
	for seed := range uint64(40) {
		after := disk.Crash(faultfs.Cut{Names: 100, Data: int(seed) * 5 % 101, Seed: seed, Unordered: seed%2 == 1})
		r, _ := openPieces(after)
		for _, have := range r.ranges("objects/a") {
			page := make([]byte, 700)
			if n, err := r.read("objects/a", have.Start, page); err != nil || !bytes.Equal(page[:n], piece(int(have.Start / 1000))[:n]) {
				t.Fatalf("cut %d: wrong bytes at %d, %v", seed, have.Start, err)
			}
			kept += have.Len()
		}
		r.Add("objects/b", -1, 0, []byte("more"))
		if data, _ := r.Prefix("objects/b", 4); string(data) != "more" {
			t.Fatalf("cut %d: %q", seed, data)
		}
	}
	if kept == 0 {
		t.Error("no cut left anything")
	}
}

// TestPiecesIsBounded: the file never exceeds MaxPieces, and the last pieces are kept.
func TestPiecesIsBounded(t *testing.T) {
	disk := faultfs.New(faultfs.Config{})
	r, _ := openPieces(disk)
	piece := bytes.Repeat([]byte("x"), 1<<20)
	for i := range int64(40) {
		r.Add("objects/a", -1, i<<20, piece)
		if r.size > MaxPieces {
			t.Fatalf("%d bytes", r.size)
		}
	}
	last := span.Of[int64](36<<20, 40<<20)
	if missing := missingRanges([]Range{last}, r.ranges("objects/a")); len(missing) != 0 {
		t.Errorf("%v is missing", missing)
	}
}

// TestPiecesFromAStranger: a file that makes no sense costs nothing, and goes.
func TestPiecesFromAStranger(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "noise": "what is this, and why is it here?", "long": string(make([]byte, MaxPieces+1))} {
		disk := faultfs.New(faultfs.Config{})
		if err := disk.Plant("release/"+piecesFile, content); err != nil {
			t.Fatal(err)
		}
		r, _ := openPieces(disk)
		r.Add("objects/a", -1, 0, []byte("more"))
		if data, whole := r.Prefix("objects/a", 4); string(data) != "more" || !whole {
			t.Errorf("%s: %q, %t", name, data, whole)
		}
		r.Clear()
		if _, there := disk.Files()["release/"+piecesFile]; there {
			t.Errorf("%s: the file is still there", name)
		}
	}
}

// TestPiecesOnAFailingDisk: what can't be read is asked for again, and no reason to end an update.
func TestPiecesOnAFailingDisk(t *testing.T) {
	mirrors := map[string]func(r *Pieces) error{
		"read": func(r *Pieces) error {
			n, err := r.read("objects/a", 0, make([]byte, 3))
			if n != 0 {
				t.Errorf("%d bytes", n)
			}
			return err
		},
		"held": func(r *Pieces) error {
			if data, whole := r.Prefix("objects/a", 3); data != nil || whole {
				t.Errorf("%q, %t", data, whole)
			}
			return errGone
		},
	}
	for name, try := range mirrors {
		disk := faultfs.New(faultfs.Config{})
		r, fsys := openPieces(disk)
		r.Add("objects/a", 3, 0, []byte("abc"))
		fsys.Inject(faultfs.Rule{Verb: faultfs.Read})
		var local *fs.PathError
		if err := try(r); !errors.Is(err, errGone) || errors.As(err, &local) {
			t.Errorf("%s: %v", name, err)
		}
		fsys.Heal()
		if span.Total(r.ranges("objects/a")) != 0 || r.Has("objects/a") {
			t.Errorf("%s: it is promised again", name)
		}
		if r.Add("objects/b", 3, 0, []byte("abc")); r.Has("objects/b") {
			t.Errorf("%s: more is kept", name)
		}
	}
}

// TestPiecesTakesNoMoreThanItsBound: not even in one piece, and as the first one.
func TestPiecesTakesNoMoreThanItsBound(t *testing.T) {
	disk := faultfs.New(faultfs.Config{})
	r, _ := openPieces(disk)
	if r.Add("objects/a", -1, 0, make([]byte, MaxPieces)); r.Has("objects/a") || len(disk.Files()) != 0 {
		t.Error("it is kept")
	}
	if r.Add("objects/b", -1, 0, []byte("b")); !r.Has("objects/b") || r.off {
		t.Error("nothing is kept after it")
	}
}

// TestPiecesIsClosed: pieces after Close neither reopen the file nor are kept; the next process finds the earlier ones.
func TestPiecesIsClosed(t *testing.T) {
	disk := faultfs.New(faultfs.Config{})
	r, _ := openPieces(disk)
	r.Add("objects/a", 1, 0, []byte("a"))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r.Add("objects/b", 1, 0, []byte("b"))
	if data, _ := r.Prefix("objects/a", 1); data != nil || r.Has("objects/b") || r.file != nil {
		t.Errorf("%q is given away", data)
	}
	r.Drop("objects/a")
	r.DropBefore("objects/a", 1)
	r, _ = openPieces(disk)
	if data, whole := r.Prefix("objects/a", 1); string(data) != "a" || !whole || r.Has("objects/b") {
		t.Errorf("%q, %t", data, whole)
	}
}

// TestPiecesTellsWhatItGaveAway: by either way, until it forgets.
func TestPiecesTellsWhatItGaveAway(t *testing.T) {
	r, _ := openPieces(faultfs.New(faultfs.Config{}))
	for range 2 {
		if r.Add("objects/a", -1, 0, []byte("abc")); r.Used() {
			t.Error("before anything was given away")
		}
		if n, err := r.read("objects/a", 1, make([]byte, 9)); n != 2 || err != nil || !r.Used() {
			t.Errorf("%d bytes, %v, %t", n, err, r.Used())
		}
		r.Clear()
	}
	r.Add("objects/a", -1, 0, []byte("abc"))
	if r.DropBefore("objects/a", 3); r.Has("objects/a") {
		t.Error("a file is known of which nothing is kept")
	}
	r.Disable()
	if r.Add("objects/a", -1, 0, []byte("abc")); r.Has("objects/a") {
		t.Error("something is kept after all")
	}
}

// TestRangesDeliverKeptBytes: kept and received bytes come in order, each piece with the index of its range.
func TestRangesDeliverKeptBytes(t *testing.T) {
	r, _ := openPieces(faultfs.New(faultfs.Config{}))
	data := []byte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	for _, kept := range ranges(5, 22, 28, 45) {
		r.Add("objects/a", -1, kept.Start, data[kept.Start:kept.End])
	}
	wanted := ranges(0, 10, 20, 30, 30, 30, 40, 50)
	if got, want := missingRanges(wanted, r.ranges("objects/a")), ranges(0, 5, 22, 28, 45, 50); !slices.Equal(got, want) {
		t.Fatalf("missing %v, want %v", got, want)
	}
	got := make([][]byte, len(wanted))
	q := &queue{o: Object{Name: "objects/a"}, kept: r, ranges: wanted, deliver: func(i int, offset int64, piece []byte) error {
		if offset != wanted[i].Start+int64(len(got[i])) {
			t.Errorf("a piece of range %d is at %d, behind %d bytes", i, offset, len(got[i]))
		}
		got[i] = append(got[i], piece...)
		return nil
	}}
	for _, received := range []Range{span.Of[int64](0, 5), span.Of[int64](22, 46), span.Of[int64](46, 50)} { // with a gap of kept bytes
		if err := q.deliverTo(t.Context(), received.Start, data[received.Start:received.End]); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.deliverTo(t.Context(), maxOffset, nil); err != nil {
		t.Fatal(err)
	}
	for i, w := range wanted {
		if string(got[i]) != string(data[w.Start:w.End]) {
			t.Errorf("range %d: %q, want %q", i, got[i], data[w.Start:w.End])
		}
	}
}
