package launcher_test

import (
	"strings"
	"testing"
	"time"

	"collet/netproto/launcher"
)

// draftWrite sends a file in blocks of parts as seed 003 has it. lose drops parts.
func (d *deskEnd) draftWrite(path, content string, blockSize int, lose func(block, part int) bool) launcher.Result {
	d.t.Helper()
	count := max(1, (len(content)+blockSize-1)/blockSize)
	d.answers(&launcher.RequestWriteFile{Path: path, FileSize: uint64(len(content)), BlockSize: uint64(blockSize), BlockCount: uint32(count)},
		&launcher.ResponseWriteFile{Path: path})
	for block := range count {
		data := content[block*blockSize : min(len(content), (block+1)*blockSize)]
		parts := max(1, (len(data)+launcher.PartSize-1)/launcher.PartSize)
		for part := range parts {
			m := &launcher.SendFileData{Path: path, Block: uint32(block), Part: uint32(part)}
			m.Data = []byte(data[part*launcher.PartSize : min(len(data), (part+1)*launcher.PartSize)])
			want := &launcher.FileDataReceived{Path: path, Block: uint32(block)}
			switch {
			case part == parts-1:
				m.Flags = launcher.PartFinish
			case part%launcher.PartsPerBatch == launcher.PartsPerBatch-1:
				m.Flags, want.Result = launcher.PartBatch, launcher.BatchDone
			default:
				want = nil
			}
			if lose != nil && lose(block, part) {
				continue
			}
			if d.say(m); want == nil {
				continue
			}
			if got := expectMessage[*launcher.FileDataReceived](d); *got != *want {
				if lose == nil || got.Result != launcher.Failure {
					d.t.Fatalf("block %d part %d was answered %+v, want %+v", block, part, got, want)
				}
				return got.Result
			}
		}
	}
	d.say(&launcher.RequestFinishWriteFile{Path: path, Hash: launcher.HashOf([]byte(content))})
	return expectMessage[*launcher.ResponseFinishWriteFile](d).Result
}

func TestDraftWrites(t *testing.T) {
	root, o := newData(t, map[string]string{"old": "x"})
	o.dialect = launcher.Draft
	desk := greeted(t, o)
	contents := map[string]string{"old": "y", "empty": "", "a/part": strings.Repeat("p", launcher.PartSize), "a/batch": strings.Repeat("0123456", 4*launcher.PartSize),
		"blocks": strings.Repeat("abcdefghi", 10_000)}
	for path, content := range contents {
		if r := desk.draftWrite(path, content, 20_000, nil); r != launcher.Success {
			t.Errorf("%q: %v", path, r)
		}
	}
	contents["a/"] = ""
	expectDisk(t, root, contents)
	if r := desk.draftWrite("lost", contents["blocks"], 20_000, func(block, part int) bool { return block == 1 && part == 3 }); r != launcher.Failure {
		t.Errorf("a lost part: %v", r)
	}
	if r := desk.draftWrite("lost", contents["blocks"], 20_000, nil); r != launcher.Success {
		t.Errorf("again: %v", r)
	}
	desk.answers(&launcher.RequestWriteFile{Path: "wrong", FileSize: 1, BlockSize: 1, BlockCount: 1}, &launcher.ResponseWriteFile{Path: "wrong"})
	desk.answers(&launcher.SendFileData{Path: "wrong", Flags: launcher.PartFinish, Data: []byte("x")}, &launcher.FileDataReceived{Path: "wrong"})
	desk.answers(&launcher.RequestFinishWriteFile{Path: "wrong", Hash: launcher.HashOf([]byte("y"))}, &launcher.ResponseFinishWriteFile{Path: "wrong", Result: launcher.Failure})
	desk.say(&launcher.SendFileData{Path: "nowhere", Data: []byte("x")}) // no flag, no answer
	desk.answers(&launcher.SendFileData{Path: "nowhere", Part: 1, Flags: launcher.PartBatch, Data: []byte("x")}, &launcher.FileDataReceived{Path: "nowhere", Result: launcher.Failure})
	desk.answers(&launcher.RequestWriteFile{Path: "beyond", FileSize: 9, BlockSize: 9, BlockCount: 1}, &launcher.ResponseWriteFile{Path: "beyond"})
	desk.answers(&launcher.SendFileData{Path: "beyond", Part: 1, Data: []byte("x")}, &launcher.FileDataReceived{Path: "beyond", Result: launcher.Failure})
}

// TestDraftParts: parts may come in any order and twice.
func TestDraftParts(t *testing.T) {
	root, o := newData(t, nil)
	o.dialect = launcher.Draft
	desk := greeted(t, o)
	content := strings.Repeat("0123456789", 500)
	part := func(i int, flags uint8) *launcher.SendFileData {
		return &launcher.SendFileData{Path: "f", Part: uint32(i), Flags: flags, Data: []byte(content[i*launcher.PartSize : min(len(content), (i+1)*launcher.PartSize)])}
	}
	desk.answers(&launcher.RequestWriteFile{Path: "f", FileSize: 5000, BlockSize: 5000, BlockCount: 1}, &launcher.ResponseWriteFile{Path: "f"})
	desk.say(part(2, 0), part(0, 0), part(0, 0))
	desk.answers(part(2, launcher.PartBatch), &launcher.FileDataReceived{Path: "f", Result: launcher.Failure}) // 1 is missing
	desk.answers(part(1, launcher.PartBatch), &launcher.FileDataReceived{Path: "f", Result: launcher.BatchDone})
	desk.answers(part(3, launcher.PartFinish), &launcher.FileDataReceived{Path: "f"})
	desk.answers(&launcher.RequestFinishWriteFile{Path: "f", Hash: launcher.HashOf([]byte(content))}, &launcher.ResponseFinishWriteFile{Path: "f"})
	expectDisk(t, root, map[string]string{"f": content})
}

// TestDraftAnswers: one message for each file and for each block, with flags.
func TestDraftAnswers(t *testing.T) {
	root, o := newData(t, nil)
	o.dialect = launcher.Draft
	desk := greeted(t, o)
	desk.answers(&launcher.RequestFileLayout{}, &launcher.DraftFileLayout{Flags: launcher.DraftLast | launcher.DraftEmpty})
	plant(t, root, map[string]string{"a": "1", "b/c": "22"})
	desk.say(&launcher.RequestFileLayout{})
	want := listing(map[string]string{"a": "1", "b/c": "22"})
	for i, flags := range []uint8{0, launcher.DraftLast} {
		if m := expectMessage[*launcher.DraftFileLayout](desk); m.Flags != flags || m.File != want[i] {
			t.Errorf("file %d is %+v", i, m)
		}
	}
	desk.say(&launcher.RequestFileBlockHashes{Path: "b/c", BlockSize: 1})
	for i, flags := range []uint8{0, launcher.DraftLast} {
		if m := expectMessage[*launcher.DraftFileBlockHash](desk); m.Flags != flags || m.Index != uint32(i) || m.Hash != launcher.HashOf([]byte("2")) || m.Path != "b/c" {
			t.Errorf("block %d is %+v", i, m)
		}
	}
	desk.answers(&launcher.RequestFileBlockHashes{Path: "gone", BlockSize: 1}, &launcher.DraftFileBlockHash{Path: "gone", Flags: launcher.DraftLast | launcher.DraftEmpty})
	desk.conn.toDevice <- []byte{launcher.CodeRequestSystemProperty, 1, 'x'} // not in this dialect
	if m := desk.hearAny(200 * time.Millisecond); m != nil {
		t.Errorf("a message of the other dialect is answered by %T", m)
	}
}
