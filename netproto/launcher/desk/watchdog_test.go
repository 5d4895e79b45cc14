package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
)

// silent is a device that does not answer some messages.
type silent struct {
	*modelDevice
	code  uint8
	times int
}

func (s *silent) take(m wire.Message, size int) {
	if m.Code() == s.code && s.times > 0 {
		s.times--
		return
	}
	s.modelDevice.take(m, size)
}

// TestWatchdogs: each answer that never comes is noticed, named, and another attempt made; a second one ends the push.
func TestWatchdogs(t *testing.T) {
	big := noise(1, 2*block)
	for code, name := range map[uint8]string{wire.CodeRequestFileLayout: "file layout", wire.CodeRequestFileBlockHashes: "block hashes",
		wire.CodeRequestDeleteFile: "answer to a deletion", wire.CodeRequestWriteFile: "answer to a write",
		wire.CodeSendFileData: "confirmation of a block", wire.CodeRequestFinishWriteFile: "answer to the end of a file"} {
		for _, times := range []int{1, 1000} {
			t.Run(fmt.Sprint(name, times), func(t *testing.T) {
				ours := map[string][]byte{"a": big}
				l := newLab(t, Options{Times: Times{Layout: 20 * time.Second}}, ours)
				m := &silent{newModelDevice(wire.Released, map[string][]byte{"a": with(big, 1)}), code, times}
				if code == wire.CodeRequestDeleteFile {
					m.files["old"] = []byte{1}
				}
				l.connect(m, false)
				begin := l.now
				_, err := l.push(PushOptions{})
				if times == 1 && code != wire.CodeRequestFileLayout {
					if err != nil {
						t.Fatal(err)
					}
					sameFiles(t, m.files, ours)
					return
				}
				var wait *WaitError
				if !errors.As(err, &wait) || wait.For != name {
					t.Fatalf("after %v: %v", l.now.Sub(begin), err)
				}
			})
		}
	}
}

// TestPushIsGivenUp: queued effects are dropped, and the next push works.
func TestPushIsGivenUp(t *testing.T) {
	ours := map[string][]byte{"a": noise(1, 5*block), "b": {1}}
	l := newLab(t, Options{}, ours)
	m := newModelDevice(wire.Released, nil)
	l.connect(m, false)
	l.step(pushCommand{ticket: 1, task: newPushTask(PushOptions{}, l.now)})
	for range 6 {
		_ = l.work() || l.deliver()
	}
	l.step(cancelCommand{1})
	if !errors.Is(l.results[1], context.Canceled) || l.session.push != nil {
		t.Fatalf("%v", l.results[1])
	}
	delete(l.results, 1)
	l.settle()
	if _, err := l.push(PushOptions{}); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, m.files, ours)
}

// TestBrokenLayoutEndsThePush at once: nothing else will come.
func TestBrokenLayoutEndsThePush(t *testing.T) {
	l := newLab(t, Options{}, nil)
	m := newModelDevice(wire.Released, nil)
	l.connect(m, false)
	l.step(pushCommand{ticket: 1, task: newPushTask(PushOptions{}, l.now)})
	for l.work() {
	}
	l.step(brokenEvent{&wire.FormatError{Code: wire.CodeResponseFileLayout, Err: errors.New("count")}})
	var fault *DeviceError
	if !errors.As(l.results[1], &fault) || fault.Op != "layout" {
		t.Errorf("%v", l.results[1])
	}
}

// TestHostileAnswers: false sizes, counts and paths of a device have no effect.
func TestHostileAnswers(t *testing.T) {
	ours := map[string][]byte{"a": noise(1, 3*block)}
	l := newLab(t, Options{}, ours)
	m := newModelDevice(wire.Released, map[string][]byte{"a": noise(2, 3*block)})
	l.connect(m, false)
	l.step(pushCommand{ticket: 1, task: newPushTask(PushOptions{}, l.now)})
	lies := []wire.Message{
		&wire.ResponseFileBlockHashes{Path: "a", Hashes: make([]wire.Hash, 5000)}, &wire.ResponseFileBlockHashes{Path: "a"},
		&wire.FileDataReceived{Path: "a", Block: 1 << 31}, &wire.FileDataReceived{Path: "a", Block: 2}, &wire.FileDataReceived{Path: "../a"},
		&wire.ResponseWriteFile{Path: "a"}, &wire.ResponseWriteFile{Path: "a"}, &wire.ResponseFinishWriteFile{Path: "a"}, &wire.ResponseDeleteFile{Path: ""},
		&wire.ResponseFileLayout{Files: []wire.File{{Path: "a"}}}, &wire.DraftFileLayout{}, &wire.DraftFileBlockHash{Path: "a", Index: 1 << 31},
		&wire.BlocksWritten{Count: 1 << 31}, &wire.BatchReport{Batch: 1}, &wire.ResponseTree{}, &wire.ResponseBlocks{Path: "a"},
	}
	for n := 0; l.work() || l.deliver(); n++ {
		if p := l.session.push; p != nil && p.doing != nil {
			l.step(messageEvent{lies[n%len(lies)]})
			if s := l.session.push; s != nil && s.doing != nil && s.doing.(*syncer).under < 0 {
				t.Fatal("less than nothing is under way")
			}
		}
	}
	if _, done := l.results[1]; !done && l.session.wake().IsZero() {
		t.Error("the push neither ends nor waits")
	}
}

// TestEndWaitsForTheOpening: a device ignores the end of a file before it has answered the write request.
func TestEndWaitsForTheOpening(t *testing.T) {
	w := fileWrite{file: wire.File{Path: "a", Size: 3}, block: block}
	s, out := newSyncer(1, false, plan{writes: []fileWrite{w}}, Times{}.withDefaults())
	if got := sentCodes(out); !slices.Equal(got, []uint8{wire.CodeRequestWriteFile}) || len(out) != 2 {
		t.Fatalf("begins with %v", out)
	}
	if out, heard := s.handleAnswer(&wire.FileDataReceived{Path: "a"}); len(out) != 0 || !heard {
		t.Errorf("after the block: %v", out)
	}
	if out, _ := s.handleAnswer(&wire.ResponseWriteFile{Path: "a"}); !slices.Equal(sentCodes(out), []uint8{wire.CodeRequestFinishWriteFile}) {
		t.Errorf("after the opening: %v", out)
	}
}

// TestSenderSeesAChange between the first block of a file and the last, and sends nothing more of it.
func TestSenderSeesAChange(t *testing.T) {
	content := noise(1, 3*block)
	l := newLab(t, Options{}, map[string][]byte{"a": content})
	m := newModelDevice(wire.Released, nil)
	l.connect(m, false)
	w := fileWrite{file: wire.File{Path: "a", Size: 3 * block, Hash: wire.HashOf(content)}, block: block}
	m.take(&wire.RequestFileLayout{}, 1)
	m.take(&wire.RequestWriteFile{Path: "a", FileSize: 3 * block, BlockSize: block, BlockCount: 3}, 1)
	for index := range uint32(3) {
		l.must(l.sender.execute(t.Context(), blockEffect{run: 1, write: w, index: index, last: index == 2}))
		writeFiles(t, l.root, map[string][]byte{"a": with(content, 7)})
	}
	if want := []any{readEvent{run: 1, path: "a", index: 2, err: tree.ErrKeepsChanging}}; m.blocks != 2 || !slices.Equal(l.posted, want) {
		t.Errorf("%d blocks were sent, then %v", m.blocks, l.posted)
	}
}
