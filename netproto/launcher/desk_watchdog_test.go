package launcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// silent is a device that does not answer some messages.
type silent struct {
	*modelDevice
	code  uint8
	times int
}

func (s *silent) take(m Message, size int) {
	if m.Code() == s.code && s.times > 0 {
		s.times--
		return
	}
	s.modelDevice.take(m, size)
}

// TestWatchdogs: each answer that never comes is noticed, named, and another attempt made; a second one ends the push.
func TestWatchdogs(t *testing.T) {
	big := noise(1, 2*block)
	for code, name := range map[uint8]string{CodeRequestFileLayout: "file layout", CodeRequestFileBlockHashes: "block hashes",
		CodeRequestDeleteFile: "answer to a deletion", CodeRequestWriteFile: "answer to a write",
		CodeSendFileData: "confirmation of a block", CodeRequestFinishWriteFile: "answer to the end of a file"} {
		for _, times := range []int{1, 1000} {
			t.Run(fmt.Sprint(name, times), func(t *testing.T) {
				ours := map[string][]byte{"a": big}
				l := newLab(t, DeskOptions{Times: DeskTimes{Layout: 20 * time.Second}}, ours)
				m := &silent{newModelDevice(Released, map[string][]byte{"a": with(big, 1)}), code, times}
				if code == CodeRequestDeleteFile {
					m.files["old"] = []byte{1}
				}
				l.connect(m, false)
				begin := l.now
				_, err := l.push(PushOptions{})
				if times == 1 && code != CodeRequestFileLayout {
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

// TestPushIsGivenUp: what was handed out and not sent is dropped, and the next push works.
func TestPushIsGivenUp(t *testing.T) {
	ours := map[string][]byte{"a": noise(1, 5*block), "b": {1}}
	l := newLab(t, DeskOptions{}, ours)
	m := newModelDevice(Released, nil)
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
	l := newLab(t, DeskOptions{}, nil)
	m := newModelDevice(Released, nil)
	l.connect(m, false)
	l.step(pushCommand{ticket: 1, task: newPushTask(PushOptions{}, l.now)})
	for l.work() {
	}
	l.step(brokenEvent{&FormatError{Code: CodeResponseFileLayout, Err: errors.New("count")}})
	var fault *DeviceError
	if !errors.As(l.results[1], &fault) || fault.Op != "layout" {
		t.Errorf("%v", l.results[1])
	}
}

// TestHostileAnswers: sizes, counts and paths of a device that lies lead nowhere.
func TestHostileAnswers(t *testing.T) {
	ours := map[string][]byte{"a": noise(1, 3*block)}
	l := newLab(t, DeskOptions{}, ours)
	m := newModelDevice(Released, map[string][]byte{"a": noise(2, 3*block)})
	l.connect(m, false)
	l.step(pushCommand{ticket: 1, task: newPushTask(PushOptions{}, l.now)})
	lies := []Message{
		&ResponseFileBlockHashes{Path: "a", Hashes: make([]Hash, 5000)}, &ResponseFileBlockHashes{Path: "a"},
		&FileDataReceived{Path: "a", Block: 1 << 31}, &FileDataReceived{Path: "a", Block: 2}, &FileDataReceived{Path: "../a"},
		&ResponseWriteFile{Path: "a"}, &ResponseWriteFile{Path: "a"}, &ResponseFinishWriteFile{Path: "a"}, &ResponseDeleteFile{Path: ""},
		&ResponseFileLayout{Files: []File{{Path: "a"}}}, &DraftFileLayout{}, &DraftFileBlockHash{Path: "a", Index: 1 << 31},
		&BlocksWritten{Count: 1 << 31}, &BatchReport{Batch: 1}, &ResponseTree{}, &ResponseBlocks{Path: "a"},
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
	w := fileWrite{file: File{Path: "a", Size: 3}, block: block}
	s, out := newSyncer(1, false, plan{writes: []fileWrite{w}}, DeskTimes{}.withDefaults())
	if got := sentCodes(out); !slices.Equal(got, []uint8{CodeRequestWriteFile}) || len(out) != 2 {
		t.Fatalf("begins with %v", out)
	}
	if out, heard := s.take(&FileDataReceived{Path: "a"}); len(out) != 0 || !heard {
		t.Errorf("after the block: %v", out)
	}
	if out, _ := s.take(&ResponseWriteFile{Path: "a"}); !slices.Equal(sentCodes(out), []uint8{CodeRequestFinishWriteFile}) {
		t.Errorf("after the opening: %v", out)
	}
}

// TestSenderSeesAChange between the first block of a file and the last, and sends nothing more of it.
func TestSenderSeesAChange(t *testing.T) {
	content := noise(1, 3*block)
	l := newLab(t, DeskOptions{}, map[string][]byte{"a": content})
	m := newModelDevice(Released, nil)
	l.connect(m, false)
	w := fileWrite{file: File{Path: "a", Size: 3 * block, Hash: HashOf(content)}, block: block}
	m.take(&RequestFileLayout{}, 1)
	m.take(&RequestWriteFile{Path: "a", FileSize: 3 * block, BlockSize: block, BlockCount: 3}, 1)
	for index := range uint32(3) {
		l.must(l.sender.do(t.Context(), blockEffect{run: 1, write: w, index: index, last: index == 2}))
		writeFiles(t, l.root, map[string][]byte{"a": with(content, 7)})
	}
	if want := []any{readEvent{run: 1, path: "a", index: 2, err: ErrKeepsChanging}}; m.blocks != 2 || !slices.Equal(l.posted, want) {
		t.Errorf("%d blocks were sent, then %v", m.blocks, l.posted)
	}
}
