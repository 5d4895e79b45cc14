package device_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto/den"
	"collet/netproto/launcher/device"
	"collet/netproto/launcher/launchertest"
	"collet/netproto/launcher/wire"
	"collet/platform/testlevel"
)

// ownData is newData for a desk of our own mode.
func ownData(t testing.TB, files map[string]string) (root string, desk *deskEnd) {
	t.Helper()
	root, o := newData(t, files)
	o.protocol = den.ProtocolCollet
	return root, greeted(t, o)
}

// tree asks for the layout, telling what is known, and puts it together from what comes.
func (d *deskEnd) tree(known ...*wire.Layout) (layout *wire.Layout, messages int, parts []wire.FilePart) {
	d.t.Helper()
	request := &wire.RequestTree{}
	bases := map[wire.Hash]*wire.Layout{{}: new(wire.Layout)}
	for _, l := range known {
		request.Known = append(request.Known, l.Digest())
		bases[l.Digest()] = l
	}
	d.say(request)
	var removed []string
	var files []wire.File
	for {
		m := expectMessage[*wire.ResponseTree](d)
		if size, _ := wire.Size(wire.Released, m); size > wire.MaxBulk {
			d.t.Errorf("a message of %d bytes", size)
		}
		messages++
		removed, files = append(removed, m.Removed...), append(files, m.Files...)
		if m.Flags&wire.TreeLast == 0 {
			continue
		}
		base := bases[m.Base]
		if base == nil {
			d.t.Fatalf("the base %v is not known here", m.Base)
		}
		if layout = base.With(removed, files); layout.Digest() != m.Digest {
			d.t.Fatal("what came does not have the digest that was told")
		}
		return layout, messages, m.Parts
	}
}

func TestOwnTree(t *testing.T) {
	files := map[string]string{"a": "1", "b/c": "2"}
	root, desk := ownData(t, files)
	first, n, _ := desk.tree()
	if launchertest.Expect(t, first, files); n != 1 {
		t.Errorf("%d messages", n)
	}
	desk.say(&wire.RequestTree{Known: []wire.Hash{{1}, first.Digest()}})
	want := &wire.ResponseTree{Flags: wire.TreeLast, Base: first.Digest(), Digest: first.Digest(), Removed: []string{}, Files: []wire.File{}, Parts: []wire.FilePart{}}
	if got := expectMessage[*wire.ResponseTree](desk); !reflect.DeepEqual(got, want) {
		t.Errorf("a layout that is known was answered %+v", got)
	}
	launchertest.Plant(t, root, map[string]string{"d": "4"})
	if err := os.Remove(filepath.Join(root, "a")); err != nil {
		t.Fatal(err)
	}
	desk.say(&wire.RequestTree{Known: []wire.Hash{first.Digest()}})
	got := expectMessage[*wire.ResponseTree](desk)
	if got.Base != first.Digest() || !slices.Equal(got.Removed, []string{"a"}) || len(got.Files) != 1 || got.Files[0].Path != "d" {
		t.Errorf("a change was answered %+v", got)
	}
	launchertest.Expect(t, first.With(got.Removed, got.Files), map[string]string{"b/c": "2", "d": "4"})
}

// TestOwnTreeOfMany comes in pieces of a bounded size.
func TestOwnTreeOfMany(t *testing.T) {
	testlevel.Slow(t)
	files := map[string]string{}
	for i := range 3000 {
		files[fmt.Sprintf("%s/%d", strings.Repeat("long", 40), i)] = ""
	}
	root, desk := ownData(t, files)
	layout, n, _ := desk.tree()
	if launchertest.Expect(t, layout, files); n < 3 {
		t.Errorf("%d messages", n)
	}
	if err := os.RemoveAll(filepath.Join(root, strings.Repeat("long", 40))); err != nil {
		t.Fatal(err)
	}
	launchertest.Expect(t, func() *wire.Layout { l, _, _ := desk.tree(layout); return l }(), nil)
}

func TestOwnBatches(t *testing.T) {
	root, desk := ownData(t, map[string]string{"old": "o", "dir/x": "x"})
	put := func(path, content string) wire.PutFile {
		return wire.PutFile{Path: path, Hash: sha256.Sum256([]byte(content)), Data: []byte(content)}
	}
	wrong := put("wrong", "w")
	wrong.Data = []byte("v")
	desk.say(&wire.PutFiles{Batch: 7, Files: []wire.PutFile{put("a", "1"), put("../b", "2"), wrong, put("sub/deep/c", ""), put("old", "new")}})
	got := expectMessage[*wire.BatchReport](desk)
	if got.Batch != 7 || len(got.Failures) != 2 || got.Failures[0].Index != 1 || got.Failures[0].Result != wire.Failure ||
		got.Failures[1].Index != 2 || got.Failures[1].Result != wire.HashMismatch || got.Failures[0].Text == "" {
		t.Errorf("report %+v", got)
	}
	desk.answers(&wire.DeleteFiles{Batch: 8, Paths: []string{"gone", "dir/x"}}, &wire.BatchReport{Batch: 8, Failures: []wire.BatchFailure{}})
	desk.say(&wire.DeleteFiles{Batch: 9, Paths: []string{"a", "/etc"}})
	if got := expectMessage[*wire.BatchReport](desk); len(got.Failures) != 1 || got.Failures[0].Index != 1 {
		t.Errorf("report %+v", got)
	}
	expectDisk(t, root, map[string]string{"old": "new", "sub/": "", "sub/deep/": "", "sub/deep/c": ""})
	expectNoParts(t, root)
	if s := desk.device.Status(); s.Files != 3 || s.Deleted != 3 || s.Failed != 3 {
		t.Errorf("status %+v", s)
	}
}

// TestReportOfManyFailures stays a message of a bounded size, and says of each what became of it.
func TestReportOfManyFailures(t *testing.T) {
	_, desk := ownData(t, nil)
	m := &wire.DeleteFiles{Batch: 1}
	for range 12_000 {
		m.Paths = append(m.Paths, "../"+strings.Repeat("x", 10))
	}
	desk.say(m)
	got := expectMessage[*wire.BatchReport](desk)
	if size, _ := wire.Size(wire.Released, got); size > wire.MaxBulk || len(got.Failures) != len(m.Paths) || got.Failures[0].Text == "" {
		t.Errorf("%d failures in %d bytes", len(got.Failures), size)
	}
}

// send sends blocks of an open file.
func (d *deskEnd) send(handle uint32, content string, size int, blocks ...int) {
	for _, i := range blocks {
		d.say(&wire.FileBlock{File: handle, Index: uint32(i), Data: []byte(content[i*size : min(len(content), (i+1)*size)])})
	}
}

// closes ends a file and returns how, with the blocks that were confirmed before.
func (d *deskEnd) closes(handle uint32) (result wire.Result, text string, confirmed uint32) {
	d.t.Helper()
	d.say(&wire.CloseFile{File: handle})
	for {
		switch m := d.hear().(type) {
		case *wire.BlocksWritten:
			confirmed = m.Count
		case *wire.FileClosed:
			if m.File != handle {
				d.t.Fatalf("%+v, want the end of %d", m, handle)
			}
			return m.Result, m.Text, confirmed
		default:
			d.t.Fatalf("%T", m)
		}
	}
}

// opening is an OpenFile for a content.
func opening(handle uint32, path, content string, size int) *wire.OpenFile {
	return &wire.OpenFile{File: handle, Path: path, Size: uint64(len(content)), BlockSize: uint32(size), Hash: sha256.Sum256([]byte(content))}
}

func TestOwnFiles(t *testing.T) {
	old := strings.Repeat("0123456789", 400)
	root, desk := ownData(t, map[string]string{"f": old, "src": old})
	content := strings.Repeat("abcdefgh", 10_000)
	desk.say(opening(1, "new", content, 1000), opening(2, "empty", "", 1000))
	for i := range 80 {
		desk.send(1, content, 1000, i)
	}
	if r, text, confirmed := desk.closes(1); r != wire.Success || confirmed != 80 {
		t.Errorf("%v %s, %d blocks confirmed", r, text, confirmed)
	}
	if r, text, _ := desk.closes(2); r != wire.Success {
		t.Errorf("an empty file: %v %s", r, text)
	}
	changed := old[:1000] + strings.Repeat("x", 1000) + old[2000:] + "longer"
	delta := opening(1, "f", changed, 1000)
	delta.Base = "f"
	desk.say(delta)
	desk.send(1, changed, 1000, 4, 1)
	if r, text, _ := desk.closes(1); r != wire.Success {
		t.Errorf("a delta: %v %s", r, text)
	}
	renamed := opening(3, "dst/renamed", old, 1000)
	renamed.Base = "src"
	desk.say(renamed)
	if r, text, _ := desk.closes(3); r != wire.Success {
		t.Errorf("another name: %v %s", r, text)
	}
	expectDisk(t, root, map[string]string{"f": changed, "src": old, "new": content, "empty": "", "dst/": "", "dst/renamed": old})
	expectNoParts(t, root)
}

// TestOwnFilesThatFail: the desk gets one answer, at once, with a reason.
func TestOwnFilesThatFail(t *testing.T) {
	root, desk := ownData(t, map[string]string{"f": "old"})
	content := strings.Repeat("x", 2500)
	fails := func(what string, m *wire.OpenFile) {
		t.Helper()
		desk.say(m)
		got := expectMessage[*wire.FileClosed](desk)
		if got.File != m.File || got.Result != wire.Failure || got.Text == "" {
			t.Errorf("%s: %+v", what, got)
		}
		desk.send(m.File, content, 1000, 0, 1)
		desk.say(&wire.CloseFile{File: m.File})
	}
	with := func(change func(*wire.OpenFile)) *wire.OpenFile {
		m := opening(9, "f", content, 1000)
		change(m)
		return m
	}
	fails("path", with(func(m *wire.OpenFile) { m.Path = "../f" }))
	fails("base", with(func(m *wire.OpenFile) { m.Base = "/etc/passwd" }))
	fails("block size", with(func(m *wire.OpenFile) { m.BlockSize = 0 }))
	fails("large block", with(func(m *wire.OpenFile) { m.BlockSize = wire.MaxBlock + 1 }))
	fails("odd start", with(func(m *wire.OpenFile) { m.Start = 1 }))
	fails("no part", with(func(m *wire.OpenFile) { m.Start = 1000 }))
	desk.say(opening(1, "f", content, 1000), opening(1, "g", content, 1000))
	if got := expectMessage[*wire.FileClosed](desk); got.File != 1 || got.Result != wire.Failure {
		t.Errorf("a handle that is taken: %+v", got)
	}
	desk.send(1, content, 1000, 0, 2)
	if r, text, _ := desk.closes(1); r != wire.Failure || !strings.Contains(text, "never sent") {
		t.Errorf("a block too few: %v %q", r, text)
	}
	desk.say(opening(1, "f", content, 1000))
	desk.send(1, strings.ToUpper(content), 1000, 0, 1, 2)
	if r, _, _ := desk.closes(1); r != wire.HashMismatch {
		t.Errorf("other bytes: %v", r)
	}
	for _, m := range []*wire.FileBlock{{File: 1, Index: 3}, {File: 1, Index: 0, Data: []byte("x")}, {File: 1, Index: 2, Data: []byte(content[:501])}} {
		desk.say(opening(1, "f", content, 1000), m)
		if got := expectMessage[*wire.FileClosed](desk); got.Result != wire.Failure {
			t.Errorf("block %d of %d bytes: %+v", m.Index, len(m.Data), got)
		}
	}
	expectDisk(t, root, map[string]string{"f": "old"})
	expectNoParts(t, root)
}

// TestOpenFilesAreBounded: one more than the cap is refused.
func TestOpenFilesAreBounded(t *testing.T) {
	_, desk := ownData(t, nil)
	for i := range wire.MaxOpenFiles + 1 {
		desk.say(opening(uint32(i), fmt.Sprint(i), "x", 1))
	}
	if got := expectMessage[*wire.FileClosed](desk); got.File != wire.MaxOpenFiles || got.Result != wire.Failure {
		t.Errorf("%+v", got)
	}
}

// TestInterruptedFile: the beginning of a large file outlives the connection and the process, and is not sent again.
func TestInterruptedFile(t *testing.T) {
	testlevel.Slow(t)
	const block = 1 << 20
	content := strings.Repeat("0123456789abcdef", 6*block/16) + "tail"
	root, desk := ownData(t, nil)
	desk.say(opening(1, "big", content, block), opening(2, "twin", content, block), opening(3, "small", "s", block))
	desk.send(1, content, block, 0, 1, 2, 3)
	desk.send(2, content, block, 0, 1)
	for confirmed := uint32(0); confirmed < 4; {
		if m := expectMessage[*wire.BlocksWritten](desk); m.File == 1 {
			confirmed = m.Count
		}
	}
	desk.stop()
	launchertest.Plant(t, root, map[string]string{wire.StateFolder + "/parts/w9": "half", wire.StateFolder + "/parts/else": "?"})
	again := greeted(t, setting{fsys: launchertest.Open(t, root), protocol: den.ProtocolCollet, name: "d"})
	_, _, parts := again.tree()
	want := []wire.FilePart{{Hash: sha256.Sum256([]byte(content)), Size: uint64(len(content)), Have: 4 * block}}
	if !slices.Equal(parts, want) {
		t.Fatalf("parts %+v", parts)
	}
	m := opening(1, "big", content, block)
	m.Start = 3 * block
	again.say(m)
	again.send(1, content, block, 3, 4, 5, 6)
	if r, text, confirmed := again.closes(1); r != wire.Success || confirmed != 3 {
		t.Errorf("%v %s, %d confirmed", r, text, confirmed)
	}
	if got := onDisk(t, root); len(got) != 1 || got["big"] != content {
		t.Errorf("%d files", len(got))
	}
	expectNoParts(t, root)
}

// TestDamagedPart: what was kept is verified like everything else.
func TestDamagedPart(t *testing.T) {
	const block = 1 << 20
	content := strings.Repeat("0123456789abcdef", 5*block/16)
	root, desk := ownData(t, nil)
	desk.say(opening(1, "big", content, block))
	desk.send(1, content, block, 0, 1, 2)
	for expectMessage[*wire.BlocksWritten](desk).Count < 3 {
	}
	desk.stop()
	entries, err := os.ReadDir(filepath.Join(root, wire.StateFolder, "parts"))
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	name := filepath.Join(root, wire.StateFolder, "parts", entries[0].Name())
	if err := os.WriteFile(name, []byte(strings.Repeat("!", 3*block)), 0o644); err != nil {
		t.Fatal(err)
	}
	again := greeted(t, setting{fsys: launchertest.Open(t, root), protocol: den.ProtocolCollet, name: "d"})
	m := opening(1, "big", content, block)
	m.Start = 3 * block
	again.say(m)
	again.send(1, content, block, 3, 4)
	if r, _, _ := again.closes(1); r != wire.HashMismatch {
		t.Error(r)
	}
	expectDisk(t, root, map[string]string{})
	expectNoParts(t, root)
}

func TestOwnBlocks(t *testing.T) {
	data := strings.Repeat("0123456789", 100_000)
	_, desk := ownData(t, map[string]string{"f": data})
	desk.say(&wire.RequestBlocks{Path: "f", BlockSize: 100})
	var got []wire.Hash
	for {
		m := expectMessage[*wire.ResponseBlocks](desk)
		if m.Path != "f" || m.BlockSize != 100 || m.Size != 1_000_000 || int(m.First) != len(got) {
			t.Fatalf("after %d hashes: %+v", len(got), m.First)
		}
		if got = append(got, m.Hashes...); m.Flags&wire.BlocksLast != 0 {
			break
		}
	}
	if !slices.Equal(got, launchertest.BlocksOf(data, 100)) {
		t.Errorf("%d hashes", len(got))
	}
	for _, m := range []*wire.RequestBlocks{{Path: "f"}, {Path: "gone", BlockSize: 9}, {Path: "../f", BlockSize: 9}} {
		desk.answers(m, &wire.ResponseBlocks{Path: m.Path, BlockSize: m.BlockSize, Flags: wire.BlocksLast | wire.BlocksFailed, Hashes: []wire.Hash{}})
	}
}

func TestPlanIsShown(t *testing.T) {
	bubble(t, setting{protocol: den.ProtocolCollet}, func(t *testing.T, o setting) {
		desk := greeted(t, o)
		desk.tree()
		desk.say(&wire.PushPlan{Files: 3, Bytes: 500, Deletes: 1}, opening(1, "f", "x", 1))
		desk.closes(1)
		synctest.Wait()
		if s := desk.device.Status(); s.FilesTotal != 3 || s.BytesTotal != 500 || s.Failed != 1 {
			t.Errorf("status %+v", s)
		}
	})
}

// TestNothingIsShownInTheEnd: after the last answer the device does nothing, and says so.
func TestNothingIsShownInTheEnd(t *testing.T) {
	for _, m := range modes {
		bubble(t, setting{protocol: m.protocol}, func(t *testing.T, o setting) {
			desk := greeted(t, o)
			for _, want := range []map[string]string{after, after} {
				m.push(desk, nil, want)
				synctest.Wait()
				if s := desk.device.Status(); s.Activity != device.ActivityNone || s.File != "" {
					t.Errorf("%s: %q %q", m.name, s.Activity, s.File)
				}
			}
			ticks := desk.device.Watch(t.Context())
			<-ticks
			time.Sleep(time.Minute)
			select {
			case <-ticks:
				t.Errorf("%s: an idle device changes", m.name)
			default:
			}
		})
	}
}
