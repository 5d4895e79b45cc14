package device_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"collet/netproto/den"
	"collet/netproto/launcher/device"
	"collet/netproto/launcher/launchertest"
	"collet/netproto/launcher/wire"
)

// onDisk reads a folder, without what is the device's own.
func onDisk(t testing.TB, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(name string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == wire.StateFolder {
			return filepath.SkipDir
		}
		path, _ := filepath.Rel(root, name)
		switch {
		case entry.Type()&os.ModeSymlink != 0:
			target, err := os.Readlink(name)
			files[filepath.ToSlash(path)] = "->" + target
			return err
		case entry.IsDir():
			if path != "." {
				files[filepath.ToSlash(path)+"/"] = ""
			}
			return nil
		}
		data, err := os.ReadFile(name)
		files[filepath.ToSlash(path)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func expectDisk(t testing.TB, root string, want map[string]string) {
	t.Helper()
	if got := onDisk(t, root); !reflect.DeepEqual(got, want) {
		t.Errorf("on disk\n got %.300q\nwant %.300q", got, want)
	}
}

// expectNoParts wants nothing left of what was under way.
func expectNoParts(t testing.TB, root string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, wire.StateFolder, "parts"))
	if err != nil || len(entries) > 0 {
		t.Errorf("parts are left: %v, %v", entries, err)
	}
}

// newData is a data folder.
func newData(t testing.TB, files map[string]string) (root string, o setting) {
	t.Helper()
	root = t.TempDir()
	launchertest.Plant(t, root, files)
	return root, setting{fsys: launchertest.Open(t, root), name: "Lab"}
}

func TestDeviceWrites(t *testing.T) {
	root, o := newData(t, map[string]string{"old.txt": "x", "a.txt": "jello\n"})
	desk := greeted(t, o)
	launchertest.Expect(t, desk.layout(), map[string]string{"old.txt": "x", "a.txt": "jello\n"})
	big := strings.Repeat("0123456789", 5000)
	for path, content := range map[string]string{"a.txt": "hello\n", "sub/deep/big.bin": big, "empty.dat": ""} {
		if r := desk.write(path, content, 4096); r != wire.Success {
			t.Errorf("%s: %v", path, r)
		}
	}
	desk.answers(&wire.RequestDeleteFile{Path: "old.txt"}, &wire.ResponseDeleteFile{Path: "old.txt"})
	desk.answers(&wire.RequestDeleteFile{Path: "old.txt"}, &wire.ResponseDeleteFile{Path: "old.txt"})
	expectDisk(t, root, map[string]string{"a.txt": "hello\n", "sub/": "", "sub/deep/": "", "sub/deep/big.bin": big, "empty.dat": ""})
	launchertest.Expect(t, desk.layout(), map[string]string{"a.txt": "hello\n", "sub/deep/big.bin": big, "empty.dat": ""})
	expectNoParts(t, root)
}

// TestUnsentBlocksKeepTheirBytes: only some blocks are sent, also of none, and also when the size is another.
func TestUnsentBlocksKeepTheirBytes(t *testing.T) {
	old := strings.Repeat("a", 100) + strings.Repeat("b", 100) + strings.Repeat("c", 50)
	root, o := newData(t, map[string]string{"f": old, "g": old, "h": old, "i": old})
	desk := greeted(t, o)
	desk.layout()
	f := old[:100] + strings.Repeat("B", 100) + old[200:]
	if r := desk.writeBlocks("f", f, 100, []int{1}); r != wire.Success {
		t.Errorf("the middle block: %v", r)
	}
	if r := desk.writeBlocks("g", old, 100, []int{}); r != wire.Success {
		t.Errorf("no block: %v", r)
	}
	h := old[:200] + strings.Repeat("d", 150)
	if r := desk.writeBlocks("h", h, 100, []int{3, 2}); r != wire.Success {
		t.Errorf("a longer file: %v", r)
	}
	i := old[:120]
	if r := desk.writeBlocks("i", i, 100, []int{1}); r != wire.Success {
		t.Errorf("a shorter file: %v", r)
	}
	expectDisk(t, root, map[string]string{"f": f, "g": old, "h": h, "i": i})
	if r := desk.writeBlocks("new", old, 100, []int{0, 2}); r == wire.Success {
		t.Error("a new file without its middle is accepted")
	}
	expectDisk(t, root, map[string]string{"f": f, "g": old, "h": h, "i": i})
	expectNoParts(t, root)
}

// TestWhatIsWrongIsAnswered: every invalid request gets its answer, and no file changes.
func TestWhatIsWrongIsAnswered(t *testing.T) {
	root, o := newData(t, map[string]string{"f": "old"})
	desk := greeted(t, o)
	desk.layout()
	begin := &wire.RequestWriteFile{Path: "f", FileSize: 6, BlockSize: 4, BlockCount: 2}
	begun := &wire.ResponseWriteFile{Path: "f"}
	data := func(block uint32, text string) *wire.SendFileData {
		return &wire.SendFileData{Path: "f", Block: block, Data: []byte(text)}
	}
	received := func(block uint32, r wire.Result) *wire.FileDataReceived {
		return &wire.FileDataReceived{Path: "f", Block: block, Result: r}
	}
	finish := &wire.RequestFinishWriteFile{Path: "f", Hash: wire.HashOf([]byte("newfil"))}
	finished := func(r wire.Result) *wire.ResponseFinishWriteFile {
		return &wire.ResponseFinishWriteFile{Path: "f", Result: r}
	}
	desk.answers(data(0, "newf"), received(0, wire.Failure)) // not begun
	desk.answers(finish, finished(wire.Failure))
	desk.answers(begin, begun)
	desk.answers(data(2, "x"), received(2, wire.Failure)) // beyond the last block
	desk.answers(data(0, "newf"), received(0, wire.Failure))
	desk.answers(finish, finished(wire.Failure))
	desk.answers(begin, begun)
	desk.answers(data(1, "ilx"), received(1, wire.Failure)) // longer than the block
	desk.answers(finish, finished(wire.Failure))
	desk.answers(begin, begun)
	desk.answers(data(0, "newf"), received(0, wire.Success))
	desk.answers(data(1, "iX"), received(1, wire.Success))
	desk.answers(finish, finished(wire.HashMismatch))
	desk.answers(begin, begun)
	desk.answers(data(1, "i"), received(1, wire.Success)) // the rest is zero
	desk.answers(data(0, "newf"), received(0, wire.Success))
	desk.answers(begin, begun) // from the start again
	desk.answers(data(1, "il"), received(1, wire.Success))
	desk.answers(data(0, "newf"), received(0, wire.Success))
	expectDisk(t, root, map[string]string{"f": "old"})
	desk.answers(finish, finished(wire.Success))
	expectDisk(t, root, map[string]string{"f": "newfil"})
	for _, m := range []*wire.RequestWriteFile{
		{Path: "f", FileSize: 6, BlockSize: 0, BlockCount: 1}, {Path: "f", FileSize: 6, BlockSize: 4, BlockCount: 3},
		{Path: "f", FileSize: 1 << 63, BlockSize: 1, BlockCount: 1}, {Path: "f", FileSize: 6, BlockSize: 1 << 40, BlockCount: 1},
	} {
		desk.answers(m, &wire.ResponseWriteFile{Path: "f", Result: wire.Failure})
	}
	expectNoParts(t, root)
	if s := desk.device.Status(); s.Failed == 0 || s.Problem == "" {
		t.Errorf("status %+v", s)
	}
}

// TestShortBlockIsZeroFilled: what released devices do with a block that is too short.
func TestShortBlockIsZeroFilled(t *testing.T) {
	root, o := newData(t, map[string]string{"f": "12345678"})
	desk := greeted(t, o)
	desk.layout()
	want := "ab\x00\x005678"
	desk.answers(&wire.RequestWriteFile{Path: "f", FileSize: 8, BlockSize: 4, BlockCount: 2}, &wire.ResponseWriteFile{Path: "f"})
	desk.answers(&wire.SendFileData{Path: "f", Data: []byte("ab")}, &wire.FileDataReceived{Path: "f"})
	desk.answers(&wire.RequestFinishWriteFile{Path: "f", Hash: wire.HashOf([]byte(want))}, &wire.ResponseFinishWriteFile{Path: "f"})
	expectDisk(t, root, map[string]string{"f": want})
}

// TestEmptyFileWithoutBlocks exists afterwards, which it does not with released devices.
func TestEmptyFileWithoutBlocks(t *testing.T) {
	root, o := newData(t, nil)
	desk := greeted(t, o)
	desk.layout()
	desk.answers(&wire.RequestWriteFile{Path: "e"}, &wire.ResponseWriteFile{Path: "e"})
	desk.answers(&wire.RequestFinishWriteFile{Path: "e", Hash: wire.HashOf(nil)}, &wire.ResponseFinishWriteFile{Path: "e"})
	expectDisk(t, root, map[string]string{"e": ""})
}

// TestManyFilesAtOnce: requests of many files are answered in order of arrival.
func TestManyFilesAtOnce(t *testing.T) {
	root, o := newData(t, nil)
	desk := greeted(t, o)
	desk.layout()
	want := map[string]string{}
	for i := range 40 {
		path, text := string(rune('a'+i%26))+string(rune('a'+i/26)), strings.Repeat("x", i)
		want[path] = text
		desk.say(&wire.RequestWriteFile{Path: path, FileSize: uint64(i), BlockSize: 1000, BlockCount: 1},
			&wire.SendFileData{Path: path, Data: []byte(text)})
	}
	for path, text := range want {
		desk.say(&wire.RequestFinishWriteFile{Path: path, Hash: wire.HashOf([]byte(text))})
	}
	for range 80 {
		desk.hear()
	}
	for range want {
		if r := expectMessage[*wire.ResponseFinishWriteFile](desk); r.Result != wire.Success {
			t.Errorf("%q: %v", r.Path, r.Result)
		}
	}
	expectDisk(t, root, want)
}

func TestBlockHashesOfADevice(t *testing.T) {
	data := strings.Repeat("0123456789", 1000)
	_, o := newData(t, map[string]string{"f": data, "e": ""})
	desk := greeted(t, o)
	desk.answers(&wire.RequestFileBlockHashes{Path: "f", BlockSize: 4096}, &wire.ResponseFileBlockHashes{Path: "f", Hashes: launchertest.BlocksOf(data, 4096)})
	desk.answers(&wire.RequestFileBlockHashes{Path: "e", BlockSize: 4096}, &wire.ResponseFileBlockHashes{Path: "e", Hashes: launchertest.BlocksOf("", 1)})
	for _, m := range []*wire.RequestFileBlockHashes{{Path: "f"}, {Path: "gone", BlockSize: 5}, {Path: "../f", BlockSize: 5}, {BlockSize: 5}} {
		desk.answers(m, &wire.ResponseFileBlockHashes{Path: m.Path, Hashes: []wire.Hash{}})
	}
}

// TestGoodManners: unknown messages are ignored, and malformed ones are tolerated.
func TestGoodManners(t *testing.T) {
	_, o := newData(t, nil)
	desk := greeted(t, o)
	desk.conn.toDevice <- []byte{99, 1, 2, 3}
	desk.conn.toDevice <- []byte{wire.CodeLogs, 1, 2, 3}
	desk.conn.toDevice <- []byte{wire.CodeRequestWriteFile, 9}
	desk.conn.toDevice <- []byte{}
	desk.say(&wire.KeepAlive{}, &wire.StopApplication{Mode: 9}, &wire.PutFiles{Batch: 1})
	desk.answers(&wire.RequestSystemProperty{Property: wire.PropertyNames},
		&wire.ResponseSystemProperty{Property: wire.PropertyNames, Value: "profiles.names\nprofiles.default"})
	desk.answers(&wire.RequestSystemProperty{Property: "weather"}, &wire.ResponseSystemProperty{Property: "weather"})
	desk.conn.mu.Lock()
	accept := desk.conn.accept
	desk.conn.mu.Unlock()
	if accept([]byte{2}) != nil || accept(nil) != nil {
		t.Error("an unknown link is taken")
	}
	state := accept([]byte{wire.LinkRunState, 77})
	if state == nil || state.Len() != 1 || state.Get(0).Type() != den.TypeUint8 {
		t.Errorf("the link of the run state is %v", state)
	}
	for range 100 {
		desk.conn.toDevice <- []byte{wire.CodeRequestWriteFile, 9}
	}
	<-desk.conn.over // a hundred are no accident
}

func TestOneDeviceAFolder(t *testing.T) {
	root, o := newData(t, nil)
	desk := greeted(t, o)
	if _, err := device.New(device.Options{Root: root, Name: "b"}); !errors.Is(err, device.ErrInUse) {
		t.Errorf("a second device in the same folder: %v", err)
	}
	desk.stop()
	second, err := device.New(device.Options{Root: root, Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := device.New(device.Options{Root: filepath.Join(root, "missing")}); err == nil {
		t.Error("a missing folder is opened")
	}
	if _, err := device.New(device.Options{Root: root, Name: strings.Repeat("n", 256)}); !errors.Is(err, device.ErrNameTooLong) {
		t.Error(err)
	}
}

// TestCacheOfADevice: written files are not read again, not even by the next process.
func TestCacheOfADevice(t *testing.T) {
	root := t.TempDir()
	dir := &launchertest.Watched{FS: launchertest.Open(t, root)}
	desk := greeted(t, setting{fsys: dir, name: "Lab"})
	desk.layout()
	desk.write("f", "content", 100)
	dir.Take()
	desk.layout()
	desk.stop()
	again := greeted(t, setting{fsys: dir, name: "Lab"})
	launchertest.Expect(t, again.layout(), map[string]string{"f": "content"})
	if got := dir.Take(); slices.Contains(got, "f") {
		t.Errorf("opened %q", got)
	}
}
