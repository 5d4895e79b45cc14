package device_test

import (
	"strings"
	"testing"
	"time"

	"collet/netproto/launcher/launchertest"
	"collet/netproto/launcher/wire"
)

// draftWrite sends a file in blocks of parts, as Draft has it. lose drops parts.
func (d *deskEnd) draftWrite(path, content string, blockSize int, lose func(block, part int) bool) wire.Result {
	d.t.Helper()
	count := max(1, (len(content)+blockSize-1)/blockSize)
	d.answers(&wire.RequestWriteFile{Path: path, FileSize: uint64(len(content)), BlockSize: uint64(blockSize), BlockCount: uint32(count)},
		&wire.ResponseWriteFile{Path: path})
	for block := range count {
		data := content[block*blockSize : min(len(content), (block+1)*blockSize)]
		parts := max(1, (len(data)+wire.PartSize-1)/wire.PartSize)
		for part := range parts {
			m := &wire.SendFileData{Path: path, Block: uint32(block), Part: uint32(part)}
			m.Data = []byte(data[part*wire.PartSize : min(len(data), (part+1)*wire.PartSize)])
			want := &wire.FileDataReceived{Path: path, Block: uint32(block)}
			switch {
			case part == parts-1:
				m.Flags = wire.PartFinish
			case part%wire.PartsPerBatch == wire.PartsPerBatch-1:
				m.Flags, want.Result = wire.PartBatch, wire.BatchDone
			default:
				want = nil
			}
			if lose != nil && lose(block, part) {
				continue
			}
			if d.say(m); want == nil {
				continue
			}
			if got := expectMessage[*wire.FileDataReceived](d); *got != *want {
				if lose == nil || got.Result != wire.Failure {
					d.t.Fatalf("block %d part %d was answered %+v, want %+v", block, part, got, want)
				}
				return got.Result
			}
		}
	}
	d.say(&wire.RequestFinishWriteFile{Path: path, Hash: wire.HashOf([]byte(content))})
	return expectMessage[*wire.ResponseFinishWriteFile](d).Result
}

func TestDraftWrites(t *testing.T) {
	root, o := newData(t, map[string]string{"old": "x"})
	o.dialect = wire.Draft
	desk := greeted(t, o)
	contents := map[string]string{"old": "y", "empty": "", "a/part": strings.Repeat("p", wire.PartSize), "a/batch": strings.Repeat("0123456", 4*wire.PartSize),
		"blocks": strings.Repeat("abcdefghi", 10_000)}
	for path, content := range contents {
		if r := desk.draftWrite(path, content, 20_000, nil); r != wire.Success {
			t.Errorf("%q: %v", path, r)
		}
	}
	contents["a/"] = ""
	expectDisk(t, root, contents)
	if r := desk.draftWrite("lost", contents["blocks"], 20_000, func(block, part int) bool { return block == 1 && part == 3 }); r != wire.Failure {
		t.Errorf("a lost part: %v", r)
	}
	if r := desk.draftWrite("lost", contents["blocks"], 20_000, nil); r != wire.Success {
		t.Errorf("again: %v", r)
	}
	desk.answers(&wire.RequestWriteFile{Path: "wrong", FileSize: 1, BlockSize: 1, BlockCount: 1}, &wire.ResponseWriteFile{Path: "wrong"})
	desk.answers(&wire.SendFileData{Path: "wrong", Flags: wire.PartFinish, Data: []byte("x")}, &wire.FileDataReceived{Path: "wrong"})
	desk.answers(&wire.RequestFinishWriteFile{Path: "wrong", Hash: wire.HashOf([]byte("y"))}, &wire.ResponseFinishWriteFile{Path: "wrong", Result: wire.Failure})
	desk.say(&wire.SendFileData{Path: "nowhere", Data: []byte("x")}) // no flag, no answer
	desk.answers(&wire.SendFileData{Path: "nowhere", Part: 1, Flags: wire.PartBatch, Data: []byte("x")}, &wire.FileDataReceived{Path: "nowhere", Result: wire.Failure})
	desk.answers(&wire.RequestWriteFile{Path: "beyond", FileSize: 9, BlockSize: 9, BlockCount: 1}, &wire.ResponseWriteFile{Path: "beyond"})
	desk.answers(&wire.SendFileData{Path: "beyond", Part: 1, Data: []byte("x")}, &wire.FileDataReceived{Path: "beyond", Result: wire.Failure})
}

// TestDraftParts: parts may come in any order and twice.
func TestDraftParts(t *testing.T) {
	root, o := newData(t, nil)
	o.dialect = wire.Draft
	desk := greeted(t, o)
	content := strings.Repeat("0123456789", 500)
	part := func(i int, flags uint8) *wire.SendFileData {
		return &wire.SendFileData{Path: "f", Part: uint32(i), Flags: flags, Data: []byte(content[i*wire.PartSize : min(len(content), (i+1)*wire.PartSize)])}
	}
	desk.answers(&wire.RequestWriteFile{Path: "f", FileSize: 5000, BlockSize: 5000, BlockCount: 1}, &wire.ResponseWriteFile{Path: "f"})
	desk.say(part(2, 0), part(0, 0), part(0, 0))
	desk.answers(part(2, wire.PartBatch), &wire.FileDataReceived{Path: "f", Result: wire.Failure}) // 1 is missing
	desk.answers(part(1, wire.PartBatch), &wire.FileDataReceived{Path: "f", Result: wire.BatchDone})
	desk.answers(part(3, wire.PartFinish), &wire.FileDataReceived{Path: "f"})
	desk.answers(&wire.RequestFinishWriteFile{Path: "f", Hash: wire.HashOf([]byte(content))}, &wire.ResponseFinishWriteFile{Path: "f"})
	expectDisk(t, root, map[string]string{"f": content})
}

// TestDraftAnswers: one message for each file and for each block, with flags.
func TestDraftAnswers(t *testing.T) {
	root, o := newData(t, nil)
	o.dialect = wire.Draft
	desk := greeted(t, o)
	desk.answers(&wire.RequestFileLayout{}, &wire.DraftFileLayout{Flags: wire.DraftLast | wire.DraftEmpty})
	launchertest.Plant(t, root, map[string]string{"a": "1", "b/c": "22"})
	desk.say(&wire.RequestFileLayout{})
	want := launchertest.Listing(map[string]string{"a": "1", "b/c": "22"})
	for i, flags := range []uint8{0, wire.DraftLast} {
		if m := expectMessage[*wire.DraftFileLayout](desk); m.Flags != flags || m.File != want[i] {
			t.Errorf("file %d is %+v", i, m)
		}
	}
	desk.say(&wire.RequestFileBlockHashes{Path: "b/c", BlockSize: 1})
	for i, flags := range []uint8{0, wire.DraftLast} {
		if m := expectMessage[*wire.DraftFileBlockHash](desk); m.Flags != flags || m.Index != uint32(i) || m.Hash != wire.HashOf([]byte("2")) || m.Path != "b/c" {
			t.Errorf("block %d is %+v", i, m)
		}
	}
	desk.answers(&wire.RequestFileBlockHashes{Path: "gone", BlockSize: 1}, &wire.DraftFileBlockHash{Path: "gone", Flags: wire.DraftLast | wire.DraftEmpty})
	desk.conn.toDevice <- []byte{wire.CodeRequestSystemProperty, 1, 'x'} // not in this dialect
	if m := desk.hearAny(200 * time.Millisecond); m != nil {
		t.Errorf("a message of the other dialect is answered by %T", m)
	}
}
