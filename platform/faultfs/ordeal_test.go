package faultfs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// ordeal plays a script on a disk, remembers what was promised to be durable, and holds what power cuts leave against it.
// It knows nothing of how the model works: only inode numbers, and that each file is written with a byte of its own.
type ordeal struct {
	t    testing.TB
	disk *faultfs.Disk
	fsys *faultfs.FS
	said []string

	promised map[string]uint64 // by name: the inode that it has after any cut, 0 for none
	homes    map[uint64][]string
	content  map[uint64][]byte // by inode: what it holds after any cut; none: it was written to since
	mark     map[uint64]byte   // by inode: the byte that its writes consist of
	half     map[string]string // by name: the folder that has to be synced beside its own, after a rename across folders
}

func newOrdeal(t testing.TB) *ordeal {
	disk := faultfs.New(faultfs.Config{})
	o := &ordeal{t: t, disk: disk, fsys: disk.Open(faultfs.Options{}), promised: map[string]uint64{},
		homes: map[uint64][]string{}, content: map[uint64][]byte{}, mark: map[uint64]byte{}, half: map[string]string{}}
	for _, folder := range []string{"d", "e"} {
		if err := errors.Join(o.fsys.MkdirAll(folder, 0o755), o.fsys.SyncDir(".")); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

var ordealNames = []string{"a", "b", "c", "d/a", "d/b", "d/c", "e/a", "e/b"}

func inode(t testing.TB, fsys platform.FS, name string) uint64 {
	t.Helper()
	info, err := fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return platform.IdentityOf(info).Inode
}

// play takes three bytes a step.
func (o *ordeal) play(script []byte) {
	for ; len(script) >= 3; script = script[3:] {
		a, b := ordealNames[int(script[1])%len(ordealNames)], ordealNames[int(script[2])%len(ordealNames)]
		n := int(script[2]) * 37 // up to 9 kB: several pages
		switch script[0] % 10 {
		case 0, 1:
			o.write(a, n, os.O_TRUNC)
		case 2:
			o.write(a, n, 0)
		case 3:
			o.write(a, n, os.O_APPEND)
		case 4:
			o.sync(a)
		case 5, 6:
			o.syncFolder(path.Dir(a))
		case 7:
			o.rename(a, b)
		case 8:
			o.exchange(a, b)
		case 9:
			o.remove(a)
		}
	}
}

func (o *ordeal) say(words ...string) { o.said = append(o.said, strings.Join(words, " ")) }

func (o *ordeal) write(name string, n, flag int) {
	was := inode(o.t, o.fsys, name)
	f, err := o.fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|flag, 0o644)
	if err != nil {
		o.t.Fatal(err)
	}
	defer f.Close()
	id := inode(o.t, o.fsys, name)
	if was == 0 {
		o.mark[id] = byte(id)
		o.touch(name)
		o.content[id] = nil
	}
	if n > 0 || flag == os.O_TRUNC {
		delete(o.content, id)
	}
	if _, err := f.Write(bytes.Repeat([]byte{o.mark[id]}, n)); err != nil {
		o.t.Fatal(err)
	}
	o.say("write", name)
}

func (o *ordeal) sync(name string) {
	f, err := o.fsys.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		o.t.Fatal(err)
	}
	if o.content[inode(o.t, o.fsys, name)], err = io.ReadAll(f); err != nil {
		o.t.Fatal(err)
	}
	o.say("sync", name)
}

// syncFolder promises every name in the folder, except those for which another folder has to be synced, too.
func (o *ordeal) syncFolder(folder string) {
	if err := o.fsys.SyncDir(folder); err != nil {
		o.t.Fatal(err)
	}
	o.say("sync folder", folder)
	for _, name := range ordealNames {
		switch other := o.half[name]; {
		case other == folder:
			delete(o.half, name) // the sync of its own folder came before
			o.promise(name)
		case path.Dir(name) == folder && other == "":
			o.promise(name)
		}
	}
}

func (o *ordeal) promise(name string) {
	id := inode(o.t, o.fsys, name)
	o.promised[name] = id
	if id != 0 {
		o.homes[id] = []string{name}
	}
}

// touch takes back what was promised of a name.
func (o *ordeal) touch(name string) {
	delete(o.promised, name)
	delete(o.half, name)
}

func (o *ordeal) rename(a, b string) {
	moved, gone := inode(o.t, o.fsys, a), inode(o.t, o.fsys, b)
	if err := o.fsys.Rename(a, b); err != nil || a == b {
		return
	}
	o.say("rename", a, b)
	if gone != moved {
		delete(o.homes, gone)
	}
	o.moved(a, b)
}

func (o *ordeal) exchange(a, b string) {
	if err := o.fsys.Exchange(a, b); err != nil || a == b {
		return
	}
	o.say("exchange", a, b)
	o.moved(a, b)
}

// moved notes that names changed. Between two folders the promise is made only when both were synced; nothing is
// promised then, to keep this simple, before another change of the name.
func (o *ordeal) moved(a, b string) {
	o.touch(a)
	o.touch(b)
	for _, name := range []string{a, b} {
		if id := inode(o.t, o.fsys, name); id != 0 && o.homes[id] != nil {
			o.homes[id] = append(o.homes[id], name)
		}
		if path.Dir(a) != path.Dir(b) {
			o.half[name] = "both"
		}
	}
}

func (o *ordeal) remove(name string) {
	id := inode(o.t, o.fsys, name)
	if err := o.fsys.Remove(name); err != nil {
		return
	}
	o.say("remove", name)
	delete(o.homes, id)
	o.touch(name)
}

// cut looks at what one power cut leaves.
func (o *ordeal) cut(c faultfs.Cut) {
	o.t.Helper()
	found := o.disk.Crash(c)
	fsys, at := found.Open(faultfs.Options{}), map[uint64]string{}
	fail := func(format string, args ...any) {
		o.t.Helper()
		o.t.Logf("%s\n%s", c, strings.Join(o.said, "\n"))
		o.t.Fatalf(format, args...)
	}
	for name, content := range found.Files() {
		id := inode(o.t, fsys, name)
		if strings.HasSuffix(name, "/") {
			continue
		}
		if other, twice := at[id]; twice {
			fail("%s and %s are one file", other, name)
		}
		at[id] = name
		for _, b := range []byte(content) {
			if b != 0 && b != o.mark[id] {
				fail("%s has bytes of another file", name)
			}
		}
		if want, synced := o.content[id]; synced && content != string(want) {
			fail("%s has %d bytes, synced were %d", name, len(content), len(want))
		}
	}
	for name, id := range o.promised {
		if got := inode(o.t, fsys, name); got != id {
			fail("%s is inode %d, synced was %d", name, got, id)
		}
	}
	for id, homes := range o.homes {
		if !slices.Contains(homes, at[id]) {
			fail("inode %d is called %q, want one of %q", id, at[id], homes)
		}
	}
	if again := found.Crash(c); !maps.Equal(again.Files(), found.Files()) {
		fail("a second cut changed something")
	}
}

// cuts are all shares with some seeds.
func (o *ordeal) cuts(seeds uint64) {
	o.t.Helper()
	for seed := range seeds {
		for _, percent := range []int{0, 10, 50, 90, 100} {
			o.cut(faultfs.Keep(percent, seed))
			o.cut(faultfs.Cut{Names: percent, Data: 100 - percent, Seed: seed})
			o.cut(faultfs.Cut{Names: percent, Data: percent, Seed: seed, Unordered: true})
		}
	}
	for name, disk := range map[string]*faultfs.Disk{"all kept": o.disk.Crash(faultfs.Keep(100, 7)), "a clone": o.disk.Clone()} {
		if !maps.Equal(disk.Files(), o.disk.Files()) {
			o.t.Errorf("%s differs", name)
		}
	}
}

func FuzzCrash(f *testing.F) {
	f.Add([]byte{0, 0, 100, 4, 0, 0, 5, 0, 0, 0, 1, 90, 7, 1, 0}, uint8(3))
	f.Add([]byte{0, 3, 100, 4, 3, 0, 5, 3, 0, 7, 3, 6, 5, 6, 0, 2, 6, 9}, uint8(3))
	f.Add([]byte{0, 3, 9, 0, 0, 9, 5, 0, 0, 8, 0, 3, 9, 3, 0, 0, 3, 1, 5, 3, 0, 5, 0, 0}, uint8(3))
	f.Fuzz(func(t *testing.T, script []byte, seeds uint8) {
		o := newOrdeal(t)
		o.play(script[:min(len(script), 300)])
		o.cuts(uint64(seeds % 8))
	})
}

// TestCrashKeepsItsPromises plays random scripts.
func TestCrashKeepsItsPromises(t *testing.T) {
	for seed := 0; seed < 600; seed += testlevel.Stride(3, 15) {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		script := make([]byte, 3*(1+r.IntN(40)))
		for i := range script {
			script[i] = byte(r.Uint32())
		}
		o := newOrdeal(t)
		o.play(script)
		o.cuts(2)
	}
}
