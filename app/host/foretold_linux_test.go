package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"collet/app/install/inspect"
	"collet/assets"
	"collet/build/qa/doctor"
	"collet/netproto/compat"
	"collet/platform/testlevel"
)

// TestDoctorForetellsTheNextStart compares what the doctor says of the next start with that start, for all that a disk can refuse. The
// disk is real: a small file system in memory, which not every user may mount.
func TestDoctorForetellsTheNextStart(t *testing.T) {
	testlevel.Slow(t)
	f := newForetold(t)
	replaced := func(name string) func() {
		return func() {
			f.must(os.RemoveAll(filepath.Join(f.dir, name)), os.WriteFile(filepath.Join(f.dir, name), []byte("x"), 0o644))
		}
	}
	inodes := func(spare int64) func() { return func() { f.spare(spare) } }
	tests := []foretoldRow{
		{"fine", 0, 0, false, func() {}},
		{"no bytes", 0, 22, true, f.fill},
		{"no inodes", 0, 22, true, inodes(0)},
		{"too few inodes", 0, 22, true, inodes(7)},
		{"enough inodes", 0, 0, true, inodes(20)},
		{"read-only", 0, 23, true, func() { f.must(syscall.Mount("", f.mount, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")) }},
		{"folder in a pack's place", 28, 28, true, func() {
			pack := filepath.Join(f.dir, "Resources", "Core.zip")
			f.must(os.Remove(pack))
			putFile(f.t, filepath.Join(pack, "mine"), nil)
		}},
		{"linked Resources", 28, 28, true, func() {
			f.must(os.Rename(filepath.Join(f.dir, "Resources"), filepath.Join(f.mount, "elsewhere")),
				os.Symlink("../elsewhere", filepath.Join(f.dir, "Resources")))
		}},
		{"Resources linked inside", 0, 0, false, func() {
			f.must(os.Rename(filepath.Join(f.dir, "Resources"), filepath.Join(f.dir, "Packs")), os.Symlink("Packs", filepath.Join(f.dir, "Resources")))
		}},
		{"Resources a file", 28, 28, false, replaced("Resources")},
		{"Cache a file", 0, 0, true, replaced("Cache")},
		{".collet a file", 28, 28, true, replaced(".collet")},
	}
	for n := range int64(20) {
		tests = append(tests, foretoldRow{fmt.Sprintf("%d inodes", n), 0, asForetold, false, inodes(n)})
	}
	for _, test := range tests {
		if !test.always && !testlevel.Full() {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			f.t = t
			f.compare(test.spoil, inspect.Unchanged, test.unchanged)
			f.compare(test.spoil, inspect.Updated, test.updated)
		})
	}
}

// foretoldRow is one thing that a disk can have.
type foretoldRow struct {
	name      string
	unchanged int  // exit code of a start whose server has nothing new
	updated   int  // and of one with an update
	always    bool // not only where everything is tried
	spoil     func()
}

// asForetold is an exit code that nothing but the doctor knows, if it does.
const asForetold = -1

// foretold compares words with deeds, in an install on a disk of its own.
type foretold struct {
	t          *testing.T
	mount, dir string
	copy       string // of dir, as it was after the first start
	servers    map[inspect.When]*judging
	changed    int64 // files in which the releases of the servers differ
}

func newForetold(t *testing.T) *foretold {
	t.Helper()
	f := &foretold{t: t, mount: filepath.Join(t.TempDir(), "disk"), copy: filepath.Join(t.TempDir(), "copy"), changed: 4}
	f.dir = filepath.Join(f.mount, "game")
	f.must(os.Mkdir(f.mount, 0o755))
	if err := syscall.Mount("tmpfs", f.mount, "tmpfs", 0, f.options(1000)); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(f.mount, syscall.MNT_DETACH) })
	large := strings.Repeat("level ", 1<<16) // it has sums of its blocks
	f.servers = map[inspect.When]*judging{
		inspect.Unchanged: newJudging(t, production(), map[string]string{"Lathe.so": "module", "Core.zip": "pack", "Art.zip": "art", "Levels.zip": large}),
		inspect.Updated: newJudging(t, with(production(), func(s *compat.Snapshot) { s.Revision++ }), map[string]string{
			"Lathe.so": "another module", "Core.zip": "another pack", "Art.zip": "art", "Levels.zip": large + "another", "Voices.zip": "voices",
		}),
	}
	if code, said := f.start(inspect.Unchanged); code != 0 {
		t.Fatalf("the first start ends with %d: %s", code, said)
	}
	f.must(os.CopyFS(f.copy, os.DirFS(f.dir)))
	return f
}

func (f *foretold) must(errs ...error) {
	f.t.Helper()
	if err := errors.Join(errs...); err != nil {
		f.t.Fatal(err)
	}
}

func (f *foretold) options(inodes int64) string { return fmt.Sprintf("size=32m,nr_inodes=%d", inodes) }

// spare leaves so many inodes.
func (f *foretold) spare(inodes int64) {
	var stat syscall.Statfs_t
	f.must(syscall.Statfs(f.mount, &stat))
	f.must(syscall.Mount("", f.mount, "", syscall.MS_REMOUNT, f.options(int64(stat.Files-stat.Ffree)+inodes)))
}

// fill leaves no byte.
func (f *foretold) fill() {
	ballast, err := os.Create(filepath.Join(f.mount, "ballast"))
	for err == nil {
		_, err = ballast.Write(make([]byte, 1<<20))
	}
	_ = ballast.Close()
	if !errors.Is(err, syscall.ENOSPC) {
		f.t.Fatal(err)
	}
}

// pristine lays the install out as it was after its first start.
func (f *foretold) pristine() {
	f.must(syscall.Mount("", f.mount, "", syscall.MS_REMOUNT, f.options(1000)))
	entries, err := os.ReadDir(f.mount)
	f.must(err)
	for _, e := range entries {
		f.must(os.RemoveAll(filepath.Join(f.mount, e.Name())))
	}
	f.must(os.CopyFS(f.dir, os.DirFS(f.copy)))
}

// start is a start, and after an update another one, which makes the new module live.
func (f *foretold) start(when inspect.When) (code int, said string) {
	f.t.Helper()
	server := f.servers[when]
	runs := []func() start{func() start { return server.sync(f.dir, version7) }}
	if when == inspect.Updated {
		runs = []func() start{
			func() start { return server.sync(f.dir, "L5-0000000000000005") }, func() start { return server.sync(f.dir, "", offline) },
		}
	}
	for _, run := range runs {
		s := run()
		if code, said = s.code, s.end.Text+"\n"+s.end.Error; code != 0 {
			break
		}
	}
	return code, said
}

// diagnosed is what the doctor says of the next start. It is not sure where it only says for how many files there is room.
func (f *foretold) diagnosed(when inspect.When) (found inspect.Ending, sure bool) {
	f.t.Helper()
	said, err := doctor.Diagnose(f.t.Context(), doctor.Options{Dir: f.dir, Name: "Lathe"})
	f.must(err)
	for _, e := range said.Endings {
		if e.When == inspect.Always || e.When == when || when == inspect.Updated && e.When == inspect.Larger && f.changed > e.Files {
			found = e
		}
	}
	return found, found.When != inspect.Updated || found.Exit != 0 || found.Files < 0 || f.changed <= found.Files
}

func (f *foretold) compare(spoil func(), when inspect.When, want int) {
	f.t.Helper()
	f.pristine()
	spoil()
	told, sure := f.diagnosed(when)
	code, said := f.start(when)
	if want == asForetold {
		want = code
		if !sure {
			return
		}
	}
	if !sure || told.Exit != want || code != want {
		f.t.Errorf("%s: foretold %+v, came %d, want %d: %s", when, told, code, want, said)
	}
	if headline := assets.TextsFor("en").Get(told.Key + ".title"); want != 0 && !(strings.HasPrefix(said, headline) && strings.Contains(said, told.Subject)) {
		f.t.Errorf("%s: foretold %q about %s, came: %s", when, headline, told.Subject, said)
	}
	if _, reason, _ := strings.Cut(said, "\n"); strings.Contains(reason, "removeat") {
		f.t.Errorf("%s: the reason is not only the first error: %s", when, reason)
	}
}
