package desk

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"collet/netproto/launcher/wire"
	"collet/platform/testlevel"
)

const ownUnit = 64 << 10 // bytes of a block of small trees in our own mode

// ownLab is a lab in our own mode.
func ownLab(t *testing.T, ours, theirs map[string][]byte) (*lab, *ownModel) {
	l := newLab(t, Options{}, ours)
	m := newOwnModel(theirs)
	l.connect(m, true)
	if !l.session.own {
		t.Fatal("our own mode was not agreed")
	}
	return l, m
}

func (m *ownModel) check(t *testing.T, ours map[string][]byte) {
	t.Helper()
	sameFiles(t, m.files, ours)
	for _, b := range m.broken {
		t.Error(b)
	}
}

// TestOwnSynchronises is every case of the comparison in our own mode.
func TestOwnSynchronises(t *testing.T) {
	big := noise(1, 3*ownUnit+100)
	cases := []struct {
		name         string
		ours, theirs map[string][]byte
		bytes        int // of files
		batches      int
		opened       int
	}{
		{"nothing anywhere", nil, nil, 0, 0, 0},
		{"small files share a message", map[string][]byte{"a": noise(2, 10), "b": {}, "c/d": noise(3, 9)}, nil, 19, 1, 0},
		{"large files don't", map[string][]byte{"a": big, "b": {1}}, nil, len(big) + 1, 1, 1},
		{"the same", map[string][]byte{"a": big}, map[string][]byte{"a": big}, 0, 0, 0},
		{"one block", map[string][]byte{"a": big}, map[string][]byte{"a": with(big, ownUnit)}, ownUnit, 0, 1},
		{"one byte at the end", map[string][]byte{"a": big}, map[string][]byte{"a": with(big, len(big)-1)}, 100, 0, 1},
		{"what was added", map[string][]byte{"a": append(bytes.Clone(big), noise(4, 50)...)}, map[string][]byte{"a": big}, 150, 0, 1},
		{"what was cut off", map[string][]byte{"a": big[:2*ownUnit]}, map[string][]byte{"a": big}, ownUnit, 0, 1},
		{"renamed", map[string][]byte{"new": big}, map[string][]byte{"old": big}, 0, 0, 1},
		{"copied", map[string][]byte{"old": big, "new": big}, map[string][]byte{"old": big}, 0, 0, 1},
		{"two that changed names", map[string][]byte{"a": big, "b": noise(5, len(big))}, map[string][]byte{"b": big, "a": noise(5, len(big))}, 2 * len(big), 0, 2},
		{"a file where a folder was", map[string][]byte{"a": {9}}, map[string][]byte{"a/b/c": {1}, "a/d": {2}}, 1, 1, 0},
		{"a folder where a file was", map[string][]byte{"a/b": {9}}, map[string][]byte{"a": {1}}, 1, 1, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l, m := ownLab(t, c.ours, c.theirs)
			if _, err := l.push(PushOptions{}); err != nil {
				t.Fatal(err)
			}
			m.check(t, c.ours)
			if m.bytes != c.bytes || m.got[wire.CodePutFiles] != c.batches || m.got[wire.CodeOpenFile] != c.opened {
				t.Errorf("%d bytes, %d batches, %d files opened, want %d, %d, %d", m.bytes, m.got[wire.CodePutFiles], m.got[wire.CodeOpenFile], c.bytes, c.batches, c.opened)
			}
			if p := l.session.info.Push; p.Phase != PushDone || p.Files != p.FilesTotal || p.Bytes != p.BytesTotal {
				t.Errorf("progress %+v", p)
			}
			before := l.sent
			if _, err := l.push(PushOptions{}); err != nil {
				t.Fatal(err)
			}
			if l.sent != before+1 {
				t.Errorf("an unchanged push took %d messages", l.sent-before)
			}
		})
	}
}

// TestOwnRandomTrees throws faults, broken connections and any order of arrival at pushes in our own mode.
func TestOwnRandomTrees(t *testing.T) {
	for seed := uint64(0); seed < 120; seed += uint64(testlevel.Stride(8, 20)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 9))
			ours := randomFiles(random)
			l := newLab(t, Options{}, ours)
			m := newOwnModel(randomFiles(random))
			m.tree = 1 + random.IntN(4)
			if faults := random.IntN(MaxAttempts); faults > 0 {
				m.fail = func(string, string) bool {
					if faults == 0 || random.IntN(3) > 0 {
						return false
					}
					faults--
					return true
				}
			}
			task := newPushTask(PushOptions{}, l.now)
			for breaks := random.IntN(4); ; breaks-- {
				if l.breaks(m, task, random, breaks) {
					break
				}
				m.lost()
				if random.IntN(2) == 0 {
					ours = l.become(randomFiles(random))
				}
			}
			m.check(t, ours)
		})
	}
}

// breaks runs a push over one connection, up to a random moment if breaks is left, and reports whether it ended.
func (l *lab) breaks(m *ownModel, task *pushTask, random *rand.Rand, breaks int) bool {
	l.connect(m, true)
	l.step(pushCommand{ticket: 1, task: task})
	steps := 1 << 30
	if breaks > 0 {
		steps = random.IntN(40)
	}
	for ; steps > 0 && (random.IntN(2) == 0 && l.work() || l.deliver() || l.work()); steps-- {
	}
	err, done := l.results[1]
	if err != nil {
		l.t.Fatal(err)
	}
	if !done && breaks <= 0 {
		l.t.Fatalf("the push does not end: %+v", l.session.info.Push)
	}
	l.session.abandon()
	l.posted = nil
	return done
}

// TestOwnGoesOn: what an interrupted push left is not sent again.
func TestOwnGoesOn(t *testing.T) {
	big := noise(1, 10*ownUnit+5)
	l, m := ownLab(t, map[string][]byte{"big": big}, nil)
	l.session.abandon()
	hash := wire.HashOf(big)
	m.parts[hash] = ownPart{data: bytes.Clone(big[:4*ownUnit+7]), size: uint64(len(big))}
	l.connect(m, true)
	if _, err := l.push(PushOptions{}); err != nil {
		t.Fatal(err)
	}
	m.check(t, map[string][]byte{"big": big})
	if m.bytes != len(big)-4*ownUnit || m.starts != 1 {
		t.Errorf("%d bytes were sent, %d starts", m.bytes, m.starts)
	}
}

// TestOwnFileChangesWhileSent: in a batch and in blocks.
func TestOwnFileChangesWhileSent(t *testing.T) {
	for _, size := range []int{100, 3 * ownUnit} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			l, m := ownLab(t, map[string][]byte{"a": noise(1, size), "b": {1}}, nil)
			reads, content := 0, noise(2, size+1)
			l.changed = func() {
				if reads++; reads == 1 {
					writeFiles(t, l.root, map[string][]byte{"a": content})
				}
			}
			if _, err := l.push(PushOptions{}); err != nil {
				t.Fatal(err)
			}
			m.check(t, map[string][]byte{"a": content, "b": {1}})
		})
	}
}

// TestOwnNamesWhatFails: the others arrive, and the words of the device reach the user.
func TestOwnNamesWhatFails(t *testing.T) {
	ours := map[string][]byte{"a": {1}, "bad": {2}, "large": noise(1, 2*ownUnit)}
	l, m := ownLab(t, ours, map[string][]byte{"held": {1}})
	m.fail = func(op, path string) bool { return path == "bad" || path == "held" || op == "open" && path == "large" }
	task, err := l.push(PushOptions{})
	if err == nil {
		t.Fatal("no error")
	}
	if got := len(err.(interface{ Unwrap() []error }).Unwrap()); got != 3 {
		t.Errorf("%d errors: %v", got, err)
	}
	var fault *DeviceError
	if !errors.As(err, &fault) || fault.Reason != "no room: make some" {
		t.Errorf("error %#v", fault)
	}
	sameFiles(t, m.files, map[string][]byte{"a": {1}, "held": {1}})
	if task.result.Written != 1 {
		t.Errorf("%d written", task.result.Written)
	}
}

// TestOwnAsksAgainWithoutABase: a device that names a base we don't know is asked again without one.
func TestOwnAsksAgainWithoutABase(t *testing.T) {
	l, m := ownLab(t, map[string][]byte{"a": {1}}, nil)
	l.step(pushCommand{ticket: 1, task: newPushTask(PushOptions{}, l.now)})
	for l.work() {
	}
	m.answers = []wire.Message{&wire.ResponseTree{Flags: wire.TreeLast, Base: wire.Hash{1}, Digest: wire.Hash{2}}}
	l.settle()
	if err, done := l.results[1]; !done || err != nil {
		t.Fatalf("%v %v", done, err)
	}
	m.check(t, map[string][]byte{"a": {1}})
}

// TestOwnPushIsGivenUp at every moment: the next push over the same connection works, and goes on with parts.
func TestOwnPushIsGivenUp(t *testing.T) {
	ours := map[string][]byte{"a": noise(1, 8*ownUnit), "b": {1}, "c": noise(2, 8*ownUnit), "d": noise(3, 3*ownUnit)}
	for moment := 0; moment < 60; moment += testlevel.Stride(4, 20) {
		l, m := ownLab(t, ours, map[string][]byte{"old": {1}, "d": with(ours["d"], 7)})
		l.step(pushCommand{ticket: 1, task: newPushTask(PushOptions{}, l.now)})
		for n := range moment {
			_ = n%3 == 0 && l.deliver() || l.work() || l.deliver()
		}
		l.step(cancelCommand{1})
		delete(l.results, 1)
		if _, err := l.push(PushOptions{}); err != nil {
			t.Fatalf("given up at %d: %v", moment, err)
		}
		m.check(t, ours)
	}
}

// silentOwn is a device of our own mode that does not answer one kind of message.
type silentOwn struct {
	*ownModel
	code  uint8
	times int
}

func (s *silentOwn) take(m wire.Message, size int) {
	if m.Code() == s.code && s.times > 0 {
		s.times--
		return
	}
	s.ownModel.take(m, size)
}

// TestOwnWatchdogs: each answer that never comes is noticed and another attempt made; a second one ends the push.
func TestOwnWatchdogs(t *testing.T) {
	ours := map[string][]byte{"a": noise(1, 3*ownUnit), "b": {1}}
	for code, name := range map[uint8]string{wire.CodeRequestTree: "file layout", wire.CodePutFiles: "report about a batch",
		wire.CodeDeleteFiles: "report about a batch", wire.CodeRequestBlocks: "block hashes", wire.CodeCloseFile: "end of a file"} {
		for _, times := range []int{1, 1000} {
			l := newLab(t, Options{Times: Times{Layout: 20 * time.Second}}, ours)
			m := &silentOwn{newOwnModel(map[string][]byte{"a": with(ours["a"], 5), "old": {1}}), code, times}
			l.connect(m, true)
			_, err := l.push(PushOptions{})
			var wait *WaitError
			switch {
			case times == 1 && code != wire.CodeRequestTree:
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				m.check(t, ours)
			case !errors.As(err, &wait) || wait.For != name:
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestOwnHostileAnswers: counts, handles and batches of a device that lies lead nowhere, at any moment.
func TestOwnHostileAnswers(t *testing.T) {
	ours := map[string][]byte{"a": noise(1, 3*ownUnit), "b": noise(2, 5*ownUnit), "c": {1}}
	lies := []wire.Message{
		&wire.BlocksWritten{File: 0, Count: 1 << 31}, &wire.BlocksWritten{File: 0, Count: 2}, &wire.BlocksWritten{File: 99, Count: 1},
		&wire.BatchReport{Batch: 1, Failures: []wire.BatchFailure{{Index: 1 << 31}, {Index: 0}, {Index: 0}}}, &wire.BatchReport{Batch: 77},
		&wire.FileClosed{File: 1}, &wire.FileClosed{File: 1 << 31, Result: wire.Failure}, &wire.ResponseBlocks{Path: "a", BlockSize: ownUnit, First: 1 << 31},
		&wire.ResponseBlocks{Path: "a", BlockSize: 1, Hashes: make([]wire.Hash, 9)}, &wire.ResponseBlocks{Path: "a", BlockSize: ownUnit, Hashes: make([]wire.Hash, 5000), Flags: wire.BlocksLast},
		&wire.ResponseTree{Flags: wire.TreeLast}, &wire.ResponseFileLayout{}, &wire.ResponseWriteFile{Path: "a", Result: wire.Failure},
	}
	for n := range lies {
		l, m := ownLab(t, ours, map[string][]byte{"a": with(ours["a"], 1), "old": {1}})
		l.step(pushCommand{ticket: 1, task: newPushTask(PushOptions{}, l.now)})
		for l.work() || l.deliver() {
			if p := l.session.push; p != nil && p.doing != nil {
				l.step(messageEvent{lies[n]})
			}
			if p := l.session.push; p != nil && p.doing != nil && p.doing.(*bulker).under < 0 {
				t.Fatalf("%+v: less than nothing is under way", lies[n])
			}
		}
		if _, done := l.results[1]; !done && l.session.wake().IsZero() {
			t.Errorf("%+v: the push neither ends nor waits", lies[n])
		}
		for _, b := range m.broken {
			t.Errorf("%+v: %s", lies[n], b)
		}
	}
}
