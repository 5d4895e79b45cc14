package desk

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"collet/netproto/launcher/wire"
)

// TestNothingIsLeftOfABrokenWrite: the file was removed from the working copy before the push resumed, and the layout of
// a released device does not list it.
func TestNothingIsLeftOfABrokenWrite(t *testing.T) {
	l := newLab(t, Options{}, map[string][]byte{"new/a": noise(1, 3*block), "b": {1}})
	m := newModelDevice(wire.Released, nil)
	l.connect(m, false)
	l.step(pushCommand{ticket: 1, task: newPushTask(PushOptions{}, l.now)})
	for m.files["new/a"] == nil && (l.work() || l.deliver()) {
	}
	l.session.abandon()
	m.answers = nil
	clear(m.open)
	if err := os.RemoveAll(filepath.Join(l.root, "new")); err != nil {
		t.Fatal(err)
	}
	l.connect(m, false)
	if _, err := l.push(PushOptions{}); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, m.files, map[string][]byte{"b": {1}})
	deletes := m.got[wire.CodeRequestDeleteFile]
	if _, err := l.push(PushOptions{}); err != nil || m.got[wire.CodeRequestDeleteFile] != deletes {
		t.Errorf("it is deleted again and again: %v", err)
	}
}

// TestKilledDeskRemembers which files it had begun to write on a released device, which does not scan its disk again:
// the file equals the device's layout again, and is still written.
func TestKilledDeskRemembers(t *testing.T) {
	was, became := noise(1, 3*block), noise(2, 3*block)
	for name, size := range map[string]int{"same size": 3 * block, "longer": 3*block + 9, "shorter": block} {
		t.Run(name, func(t *testing.T) {
			o := Options{CacheFile: filepath.Join(t.TempDir(), "cache"), Root: t.TempDir()}
			l := newLab(t, o, map[string][]byte{"a": append(bytes.Clone(became), 1, 2, 3, 4, 5, 6, 7, 8, 9)[:size], "b": {1}})
			m := newModelDevice(wire.Released, map[string][]byte{"a": was})
			l.connect(m, false)
			l.step(pushCommand{ticket: 1, task: newPushTask(PushOptions{}, l.now)})
			for bytes.Equal(m.files["a"], was) && (l.work() || l.deliver()) {
			}
			m.answers = nil
			clear(m.open)

			next := newLab(t, o, map[string][]byte{"a": was, "b": {1}}) // the first desk never ends anything
			next.connect(m, false)
			if _, err := next.push(PushOptions{}); err != nil {
				t.Fatal(err)
			}
			sameFiles(t, m.files, map[string][]byte{"a": was, "b": {1}})
			if all := next.desk.registry.allDoubts(); len(all) != 0 {
				t.Errorf("still in doubt: %v", all)
			}
			last := newLab(t, o, nil)
			if all := last.desk.registry.allDoubts(); len(all) != 0 {
				t.Errorf("the next desk doubts %v", all)
			}
		})
	}
}
