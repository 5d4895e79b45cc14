package desk

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
	"collet/platform/testlevel"
)

// noise is data that compares as different for different seeds.
func noise(seed uint64, size int) []byte {
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	data := make([]byte, size)
	_, _ = random.Read(data)
	return data
}

// with is data with one byte changed.
func with(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[at] ^= 1
	return data
}

const block = BlockReleased

// TestSynchronises is every case of the comparison, in both dialects.
func TestSynchronises(t *testing.T) {
	big := noise(1, 3*block+100)
	cases := []struct {
		name         string
		ours, theirs map[string][]byte
		blocks       int // that are sent
		hashes       int // questions for block hashes
		deletes      int
	}{
		{"nothing anywhere", nil, nil, 0, 0, 0},
		{"everything is new", map[string][]byte{"a": noise(2, 10), "b/c/d": big}, nil, 1 + 4, 0, 0},
		{"an empty file is one block", map[string][]byte{"empty": {}}, nil, 1, 0, 0},
		{"a file becomes empty", map[string][]byte{"a": {}}, map[string][]byte{"a": big}, 1, 0, 0},
		{"an empty file grows", map[string][]byte{"a": big}, map[string][]byte{"a": {}}, 4, 0, 0},
		{"the same", map[string][]byte{"a": big}, map[string][]byte{"a": big}, 0, 0, 0},
		{"one block of a size is sent without a question", map[string][]byte{"a": noise(3, 50)}, map[string][]byte{"a": noise(4, 50)}, 1, 0, 0},
		{"only the changed block", map[string][]byte{"a": big}, map[string][]byte{"a": with(big, block)}, 1, 1, 0},
		{"the first and the last block", map[string][]byte{"a": big}, map[string][]byte{"a": with(with(big, 0), 3*block+99)}, 2, 1, 0},
		{"another size wants all blocks", map[string][]byte{"a": big}, map[string][]byte{"a": big[:2*block]}, 4, 0, 0},
		{"exactly full blocks", map[string][]byte{"a": big[:2*block]}, map[string][]byte{"a": with(big, 5)[:2*block]}, 1, 1, 0},
		{"what we don't have goes", map[string][]byte{"a": big}, map[string][]byte{"a": big, "b": {1}, "c/d": {2}}, 0, 0, 2},
		{"a file where a folder was", map[string][]byte{"a": {9}}, map[string][]byte{"a/b/c": {1}, "a/d": {2}}, 1, 0, 2 + 2},
		{"a folder where a file was", map[string][]byte{"a/b": {9}}, map[string][]byte{"a": {1}}, 1, 0, 1},
		{"only case differs", map[string][]byte{"Readme": {9}}, map[string][]byte{"README": {9}}, 1, 0, 1},
	}
	for _, dialect := range []wire.Dialect{wire.Released, wire.Draft} {
		for _, c := range cases {
			t.Run(fmt.Sprint(dialect, "/", c.name), func(t *testing.T) {
				l := newLab(t, Options{Dialect: dialect}, c.ours)
				m := newModelDevice(dialect, c.theirs)
				l.connect(m, false)
				task, err := l.push(PushOptions{})
				if err != nil {
					t.Fatal(err)
				}
				sameFiles(t, m.files, c.ours)
				for _, b := range m.broken {
					t.Error(b)
				}
				if m.blocks != c.blocks || task.result.Blocks != c.blocks {
					t.Errorf("%d blocks arrived, %d counted, want %d", m.blocks, task.result.Blocks, c.blocks)
				}
				if got := m.got[wire.CodeRequestFileBlockHashes]; got != c.hashes {
					t.Errorf("%d questions for block hashes, want %d", got, c.hashes)
				}
				if got := m.got[wire.CodeRequestDeleteFile]; got != c.deletes {
					t.Errorf("%d deletes, want %d", got, c.deletes)
				}
				if got := m.got[wire.CodeRequestFileLayout]; got != 1 {
					t.Errorf("%d questions for the layout, want 1", got)
				}
				if p := l.session.info.Push; p.Phase != PushDone || p.Files != p.FilesTotal || p.Bytes != p.BytesTotal {
					t.Errorf("progress %+v", p)
				}
			})
		}
	}
}

// TestRandomTrees throws faults, broken connections and any order of arrival at pushes: trees are the same in the end, and no
// rule of the protocol is broken.
func TestRandomTrees(t *testing.T) {
	for _, dialect := range []wire.Dialect{wire.Released, wire.Draft} {
		for seed := uint64(0); seed < 100; seed += uint64(testlevel.Stride(10, 25)) {
			t.Run(fmt.Sprint(dialect, "/", seed), func(t *testing.T) {
				t.Parallel()
				randomTree(t, dialect, seed)
			})
		}
	}
}

func randomFiles(random *rand.Rand) map[string][]byte {
	files := map[string][]byte{}
	for range random.IntN(12) {
		var parts []string
		for range 1 + random.IntN(3) {
			parts = append(parts, string('a'+rune(random.IntN(3))))
		}
		size := []int{0, 1, 100, block, 2*block + 5}[random.IntN(5)]
		files[strings.Join(parts, "/")] = noise(uint64(random.IntN(3)), size)
	}
	for path := range files { // a folder can't be a file
		for other := range files {
			if strings.HasPrefix(other, path+"/") {
				delete(files, path)
			}
		}
	}
	return files
}

func randomTree(t *testing.T, dialect wire.Dialect, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	ours := randomFiles(random)
	l := newLab(t, Options{Dialect: dialect}, ours)
	m := newModelDevice(dialect, randomFiles(random))
	faults := random.IntN(3)
	m.fail = func(op, path string) bool {
		if faults == 0 || random.IntN(4) > 0 {
			return false
		}
		faults--
		return true
	}
	task := newPushTask(PushOptions{}, l.now)
	for breaks := random.IntN(4); ; breaks-- {
		l.connect(m, false)
		l.step(pushCommand{ticket: 1, task: task})
		steps := 1 << 30
		if breaks > 0 {
			steps = random.IntN(60)
		}
		for ; steps > 0; steps-- {
			if random.IntN(2) == 0 && l.work() || l.deliver() || l.work() {
				continue
			}
			break
		}
		if err, done := l.results[1]; done {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if breaks <= 0 {
			t.Fatalf("the push does not end: %+v", l.session.info.Push)
		}
		l.session.abandon()
		m.answers, m.parts = nil, map[string][]byte{}
		clear(m.open)
		l.posted = nil
		if random.IntN(2) == 0 {
			ours = l.become(randomFiles(random))
		}
	}
	sameFiles(t, m.files, ours)
	for _, b := range m.broken {
		t.Error(b)
	}
}

// become changes the working copy to other files.
func (l *lab) become(files map[string][]byte) map[string][]byte {
	for _, name := range []string{"a", "b", "c"} {
		l.must(os.RemoveAll(filepath.Join(l.root, name)))
	}
	writeFiles(l.t, l.root, files)
	return files
}

// TestFailuresAreTriedAgain: each kind of failure asks for the layout again and goes on.
func TestFailuresAreTriedAgain(t *testing.T) {
	for _, op := range []string{"delete", "write", "data", "finish"} {
		t.Run(op, func(t *testing.T) {
			ours := map[string][]byte{"a": noise(1, 10), "b": noise(2, 2*block)}
			l := newLab(t, Options{}, ours)
			m := newModelDevice(wire.Released, map[string][]byte{"old": {1}, "b": noise(3, 2*block)})
			failures := 2
			m.fail = func(what, _ string) bool {
				if what != op || failures == 0 {
					return false
				}
				failures--
				return true
			}
			l.connect(m, false)
			task, err := l.push(PushOptions{})
			if err != nil {
				t.Fatal(err)
			}
			sameFiles(t, m.files, ours)
			if task.attempt < 2 || m.got[wire.CodeRequestFileLayout] != task.attempt {
				t.Errorf("%d attempts, %d questions for the layout", task.attempt, m.got[wire.CodeRequestFileLayout])
			}
		})
	}
}

// TestOneBadFileDoesNotStopTheOthers: it is named, and everything else arrives.
func TestOneBadFileDoesNotStopTheOthers(t *testing.T) {
	ours := map[string][]byte{"a": {1}, "bad": {2}, "c": {3}, "d": {4}}
	l := newLab(t, Options{}, ours)
	m := newModelDevice(wire.Released, map[string][]byte{"bad": {9}})
	m.fail = func(op, path string) bool { return op == "finish" && path == "bad" }
	l.connect(m, false)
	task, err := l.push(PushOptions{})
	var fault *DeviceError
	if !errors.As(err, &fault) || fault.Path != "bad" || fault.Op != "finish" {
		t.Errorf("error %v", err)
	}
	if task.strikes["bad"] != MaxAttempts {
		t.Errorf("tried %d times, want %d", task.strikes["bad"], MaxAttempts)
	}
	for _, path := range []string{"a", "c", "d"} {
		if !bytes.Equal(m.files[path], ours[path]) {
			t.Errorf("%q did not arrive", path)
		}
	}
}

// TestAnswersInFlightAreDrained: among many files that are under way at once one can't be written, in each way in which that
// happens. It alone is named, however the device orders its answers, and everything else arrives.
func TestAnswersInFlightAreDrained(t *testing.T) {
	for _, op := range []string{"write", "data", "finish", "delete"} {
		for _, hasty := range []bool{false, true} {
			for seed := uint64(0); seed < 9; seed += uint64(testlevel.Stride(4, 9)) {
				t.Run(fmt.Sprint(op, "/", hasty, "/", seed), func(t *testing.T) {
					t.Parallel()
					random := rand.New(rand.NewPCG(seed, 1))
					ours, theirs := map[string][]byte{}, map[string][]byte{}
					for n := range 50 {
						path := fmt.Sprintf("f%02d", n)
						ours[path] = noise(uint64(n), []int{0, 100, 3 * block}[n%3])
						theirs[path] = noise(uint64(n)+100, []int{1, 100, 3 * block}[n%3])
					}
					bad := fmt.Sprintf("f%02d", random.IntN(50))
					if op == "delete" {
						theirs["gone"], bad = []byte{1}, "gone"
					}
					l := newLab(t, Options{}, ours)
					m := newModelDevice(wire.Released, theirs)
					m.hasty = hasty
					m.fail = func(what, path string) bool { return what == op && path == bad }
					l.connect(m, false)
					task := newPushTask(PushOptions{}, l.now)
					l.step(pushCommand{ticket: 1, task: task})
					for random.IntN(3) > 0 && l.work() || l.deliver() || l.work() {
					}
					err, ended := l.results[1]
					var fault *DeviceError
					want := op
					if op == "data" {
						want = "write"
					}
					if !ended || !errors.As(err, &fault) || fault.Path != bad || fault.Op != want || strings.Contains(err.Error(), "\n") {
						t.Errorf("ended %v with %v, want %s of %s", ended, err, want, bad)
					}
					for path := range ours {
						if path != bad && !bytes.Equal(m.files[path], ours[path]) {
							t.Errorf("%q did not arrive", path)
						}
					}
					if task.attempt > MaxAttempts+2 {
						t.Errorf("%d attempts", task.attempt)
					}
					for _, b := range m.broken {
						t.Error(b)
					}
				})
			}
		}
	}
}

// TestHopelessEnds: a push to a device on which everything fails ends soon.
func TestHopelessEnds(t *testing.T) {
	ours := map[string][]byte{}
	for n := range 100 {
		ours[fmt.Sprint("f", n)] = []byte{byte(n)}
	}
	l := newLab(t, Options{}, ours)
	m := newModelDevice(wire.Released, nil)
	m.fail = func(op, _ string) bool { return op == "write" }
	l.connect(m, false)
	task, err := l.push(PushOptions{})
	if err == nil || task.attempt > MaxAttempts+1 {
		t.Errorf("error %v after %d attempts", err, task.attempt)
	}
}

// TestFileChangesWhileSent: a changing file is sent again until it stays the same; one that never does is named.
func TestFileChangesWhileSent(t *testing.T) {
	for _, times := range []int{1, 1000} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			l := newLab(t, Options{}, map[string][]byte{"a": noise(1, 3*block), "b": {1}})
			m := newModelDevice(wire.Released, nil)
			reads, content := 0, []byte(nil)
			l.changed = func() {
				if reads++; reads <= times && reads%3 == 2 || times == 1 && reads == 2 {
					content = noise(uint64(reads), 3*block)
					writeFiles(t, l.root, map[string][]byte{"a": content})
				}
			}
			l.connect(m, false)
			_, err := l.push(PushOptions{})
			if times > 1 {
				var fault *FileError
				if !errors.As(err, &fault) && err == nil {
					t.Fatalf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			sameFiles(t, m.files, map[string][]byte{"a": content, "b": {1}})
		})
	}
}

// TestLinksAreLeftOutAndNamed: links follow the policy, and what is left out is told.
func TestLinksAreLeftOutAndNamed(t *testing.T) {
	for _, policy := range []tree.LinkPolicy{tree.LinksLeftOut, tree.LinksInside} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			root := t.TempDir()
			writeFiles(t, root, map[string][]byte{"a": {1}, "outside": {2}})
			if err := errors.Join(os.Symlink("a", filepath.Join(root, "inside")), os.Symlink("/etc/hostname", filepath.Join(root, "out"))); err != nil {
				t.Skip(err)
			}
			l := newLab(t, Options{Root: root, Links: policy}, nil)
			m := newModelDevice(wire.Released, nil)
			l.connect(m, false)
			task, err := l.push(PushOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want, problems := map[string][]byte{"a": {1}, "outside": {2}}, 2
			if policy == tree.LinksInside {
				want["inside"], problems = []byte{1}, 1
			}
			sameFiles(t, m.files, want)
			if len(task.ours.problems) != problems {
				t.Errorf("problems %v, want %d", task.ours.problems, problems)
			}
		})
	}
}

// TestIgnoredStays: what is left out here stays on the device, unless told otherwise.
func TestIgnoredStays(t *testing.T) {
	ours := map[string][]byte{"a": {1}, "tmp/x": {2}, tree.IgnoreFile: []byte("tmp/\n*.sav\n")}
	for _, remove := range []bool{false, true} {
		t.Run(fmt.Sprint(remove), func(t *testing.T) {
			l := newLab(t, Options{Ignore: []string{"more"}}, ours)
			m := newModelDevice(wire.Released, map[string][]byte{"one.sav": {3}, "tmp/y": {4}, "more": {5}, "b": {6}})
			l.connect(m, false)
			if _, err := l.push(PushOptions{DeleteIgnored: remove}); err != nil {
				t.Fatal(err)
			}
			want := map[string][]byte{"a": {1}, "one.sav": {3}, "tmp/y": {4}, "more": {5}}
			if remove {
				want = map[string][]byte{"a": {1}}
			}
			sameFiles(t, m.files, want)
		})
	}
}

// TestUnreadableStays: a file that is here and can't be read is named, and that on the device stays as it is.
func TestUnreadableStays(t *testing.T) {
	ours := map[string][]byte{"a": {1}, "dir/b": {2}, "link/c": {3}}
	l := newLab(t, Options{}, ours)
	for _, name := range []string{"a", "link"} {
		name = filepath.Join(l.root, name)
		if err := errors.Join(os.RemoveAll(name), os.Symlink("dir", name)); err != nil {
			t.Skip(err)
		}
	}
	m := newModelDevice(wire.Released, map[string][]byte{"a": {9}, "link/x": {8}, "gone": {7}})
	l.connect(m, false)
	task, err := l.push(PushOptions{DeleteIgnored: true})
	if err != nil {
		t.Fatal(err)
	}
	sameFiles(t, m.files, map[string][]byte{"a": {9}, "link/x": {8}, "dir/b": {2}})
	if len(task.ours.problems) != 2 {
		t.Errorf("%v", task.ours.problems)
	}
}
