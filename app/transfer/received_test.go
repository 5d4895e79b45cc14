package transfer

import (
	"bytes"
	"testing"

	"github.com/rs/zerolog"

	"collet/platform/faultfs"
)

func openReceived(disk *faultfs.Disk) (*received, *faultfs.FS) {
	fsys := disk.Open(faultfs.Options{})
	return &received{fs: fsys, folder: "release", log: zerolog.Nop()}, fsys
}

// TestReceivedAfterAKill: what was added is there for the next process, whole or in part, in whatever order it came.
func TestReceivedAfterAKill(t *testing.T) {
	disk := faultfs.New(faultfs.Config{})
	r, fsys := openReceived(disk)
	r.add("objects/a", -1, 3, []byte("def"))
	r.add("metadata/3.targets.json", 6, 0, []byte("known"))
	r.add("objects/a", -1, 0, []byte("abc"))
	r.add("objects/b", -1, 4, []byte("later"))
	fsys.Kill()
	r, _ = openReceived(disk)
	if data, whole := r.held("objects/a", 6); string(data) != "abcdef" || !whole {
		t.Errorf("%q, %t", data, whole)
	}
	if data, whole := r.held("objects/a", 9); string(data) != "abcdef" || whole {
		t.Errorf("%q, %t", data, whole)
	}
	if data, whole := r.held("metadata/3.targets.json", 1000); string(data) != "known" || whole {
		t.Errorf("%q, %t", data, whole)
	}
	r.add("metadata/3.targets.json", 6, 5, []byte("!"))
	if data, whole := r.held("metadata/3.targets.json", 1000); string(data) != "known!" || !whole {
		t.Errorf("%q, %t", data, whole)
	}
	if data, _ := r.held("objects/b", 9); len(data) != 0 || r.has("objects/b").bytes() != 5 {
		t.Errorf("%q", data)
	}
	r.drop("objects/a")
	if data, _ := r.held("objects/a", 6); len(data) != 0 || r.knows("objects/a") {
		t.Errorf("%q was dropped", data)
	}
	r.forget()
	if _, there := disk.Files()["release/"+receivedFile]; there {
		t.Error("the file is still there")
	}
}

// TestReceivedAfterAPowerCut: what is given away is what was added, whatever the disk had not written yet.
func TestReceivedAfterAPowerCut(t *testing.T) {
	disk := faultfs.New(faultfs.Config{})
	r, fsys := openReceived(disk)
	piece := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 700+i) }
	for i := range 60 {
		r.add("objects/a", -1, int64(i)*1000, piece(i))
	}
	fsys.Kill()
	kept := int64(0)
	for seed := range uint64(40) {
		after := disk.Crash(faultfs.Cut{Names: 100, Data: int(seed) * 5 % 101, Seed: seed, Unordered: seed%2 == 1})
		r, _ := openReceived(after)
		for _, have := range r.has("objects/a") {
			page := make([]byte, 700)
			if n, err := r.read("objects/a", have.From, page); err != nil || !bytes.Equal(page[:n], piece(int(have.From / 1000))[:n]) {
				t.Fatalf("cut %d: wrong bytes at %d, %v", seed, have.From, err)
			}
			kept += have.Len()
		}
		r.add("objects/b", -1, 0, []byte("more"))
		if data, _ := r.held("objects/b", 4); string(data) != "more" {
			t.Fatalf("cut %d: %q", seed, data)
		}
	}
	if kept == 0 {
		t.Error("no cut left anything")
	}
}

// TestReceivedIsBounded: the file never grows beyond its bound, and what came last is there.
func TestReceivedIsBounded(t *testing.T) {
	disk := faultfs.New(faultfs.Config{})
	r, _ := openReceived(disk)
	piece := bytes.Repeat([]byte("x"), 1<<20)
	for i := range int64(80) {
		r.add("objects/a", -1, i<<20, piece)
		if r.size > maxReceived {
			t.Fatalf("%d bytes", r.size)
		}
	}
	last := Range{76 << 20, 80 << 20}
	if _, missing := stretches([]Range{last}, r.has("objects/a")); len(missing) != 0 {
		t.Errorf("%v is missing", missing)
	}
}

// TestReceivedFromAStranger: a file that makes no sense costs nothing, and goes.
func TestReceivedFromAStranger(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "noise": "what is this, and why is it here?", "long": string(make([]byte, maxReceived+1))} {
		disk := faultfs.New(faultfs.Config{})
		if err := disk.Plant("release/"+receivedFile, content); err != nil {
			t.Fatal(err)
		}
		r, _ := openReceived(disk)
		r.add("objects/a", -1, 0, []byte("more"))
		if data, whole := r.held("objects/a", 4); string(data) != "more" || !whole {
			t.Errorf("%s: %q, %t", name, data, whole)
		}
		r.forget()
		if _, there := disk.Files()["release/"+receivedFile]; there {
			t.Errorf("%s: the file is still there", name)
		}
	}
}

func TestStretches(t *testing.T) {
	list, missing := stretches([]Range{{0, 10}, {20, 30}, {40, 50}}, rangeSet{{5, 22}, {28, 45}})
	want := []stretch{{Range{0, 5}, 0, 0}, {Range{5, 10}, 0, -1}, {Range{20, 22}, 1, -1}, {Range{22, 28}, 1, 1}, {Range{28, 30}, 1, -1},
		{Range{40, 45}, 2, -1}, {Range{45, 50}, 2, 2}}
	if len(list) != len(want) || len(missing) != 3 {
		t.Fatalf("%v, %v", list, missing)
	}
	for i, s := range list {
		if s != want[i] {
			t.Errorf("%d: %v, want %v", i, s, want[i])
		}
	}
}
