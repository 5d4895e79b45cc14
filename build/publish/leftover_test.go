package publish_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"collet/build/publish"
	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// unusedPlain reports whether a name is that of plain files that are not in use, or of one of them.
func unusedPlain(name string) bool { return strings.HasPrefix(name, ".collet/plain-") }

// manners are disks on which folders can change places in one step, and those on which they can't.
var manners = map[string]faultfs.Config{"exchange": {}, "no exchange": {NoExchange: true}}

// TestPlainFilesAreNamedTogether: nothing below the folder of plain files changes but its own name, and by then all new files and their
// names are durable.
func TestPlainFilesAreNamedTogether(t *testing.T) {
	t.Parallel()
	for manner, config := range manners {
		t.Run(manner, func(t *testing.T) {
			const packs = 70 // more than are synced together
			c, two := newCrashFixture(t, config), tiny(2)
			for i := range packs {
				two[fmt.Sprintf("Resources/Pack%d.zip", i)] = prose(uint64(i), 100)
			}
			c.two = game(t, two)
			fsys := c.disk.Clone().Open(faultfs.Options{})
			must(t, c.try(context.Background(), fsys, nil))
			folders, files, named := map[string]bool{}, map[string]bool{}, 0
			for _, op := range fsys.Ops() {
				switch {
				case op.Err != nil:
				case strings.HasPrefix(op.Name, "plain/") && op.Verb != faultfs.Link || strings.HasPrefix(op.To, "plain/"):
					t.Errorf("in the folder that is read: %s", op.Label())
				case unusedPlain(op.Name) && op.Verb == faultfs.Create:
					files[op.Name], folders[op.Name[:strings.LastIndexByte(op.Name, '/')]] = true, true
				case op.Verb == faultfs.Sync:
					delete(files, op.Name)
				case op.Verb == faultfs.SyncFolder:
					delete(folders, op.Name)
				case op.Verb == faultfs.Exchange, op.Verb == faultfs.Rename && op.To == "plain":
					if named++; len(files)+len(folders) > 0 {
						t.Errorf("named before all is durable: %v, %v", files, folders)
					}
				}
			}
			if named != 1 {
				t.Errorf("named %d times", named)
			}
		})
	}
}

// TestPlainFilesStoppedAnywhere kills the publisher, or cuts the power, wherever plain files are made and named, and now and then before:
// readers see the old pair of folders or the new one, whole. Where folders can't change places in one step they may also see no plain
// files at all, until the next command. The same command then brings the new pair and leaves nothing else.
func TestPlainFilesStoppedAnywhere(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	pairs := [2]tree{tiny(1).with(nil, "notes/en.md"), tiny(2).with(nil, "notes/en.md")}
	for manner, config := range manners {
		t.Run(manner, func(t *testing.T) {
			t.Parallel()
			c := newCrashFixture(t, config)
			// look is which pair the readers of a disk see; 0 for none.
			look := func(disk *faultfs.Disk, when string) int {
				t.Helper()
				fsys := disk.Open(faultfs.Options{})
				defer fsys.Kill()
				got := (&fixture{t: t, fs: fsys}).plainFiles()
				for i, pair := range pairs {
					if same(got, pair) == nil {
						return i + 1
					}
				}
				if len(got) > 0 || !config.NoExchange {
					t.Errorf("%s: readers see %d files, neither the old pair nor the new one", when, len(got))
				}
				return 0
			}
			// again runs the same command.
			again := func(disk *faultfs.Disk, when string) {
				t.Helper()
				fsys := disk.Open(faultfs.Options{})
				defer fsys.Kill()
				f, err := publish.Open(fsys, c.options())
				must(t, err)
				must(t, f.Close())
				if look(disk, when+", opened again") == 0 {
					t.Errorf("%s: no plain files after the next command", when)
				}
				must(t, c.try(context.Background(), fsys, nil))
				if n := look(disk.Crash(faultfs.Keep(0, 1)), when+", published again, power cut"); n != 2 {
					t.Errorf("%s: published again, and readers see pair %d", when, n)
				}
				for name := range disk.Files() {
					if unusedPlain(name) {
						t.Errorf("%s: published again, and %s is left", when, name)
					}
				}
			}
			counter := c.disk.Clone().Open(faultfs.Options{})
			must(t, c.try(context.Background(), counter, nil))
			made, seen, every := 0, map[int]int{}, testlevel.Stride(7, 21)
			for _, op := range counter.Ops() {
				if made == 0 && unusedPlain(op.Name) {
					made = op.Number
				}
			}
			if made == 0 {
				t.Fatal("no plain files were made")
			}
			for k := 1; k <= counter.Count(); k++ {
				if k < made && k%10 != 0 || k%every != 0 {
					continue
				}
				disk := c.disk.Clone()
				fsys := disk.Open(faultfs.Options{})
				fsys.StopInside(k)
				_ = c.try(context.Background(), fsys, nil)
				fsys.Kill()
				when := counter.Ops()[k-1].String()
				for _, cut := range []faultfs.Cut{faultfs.Keep(0, 1), faultfs.Keep(50, uint64(k)), {Names: 50, Data: 0, Seed: uint64(k), Unordered: true}} {
					after := disk.Crash(cut)
					seen[look(after, when+", power cut at "+cut.String())]++
					if cut.Unordered && k%5 == 0 {
						again(after, when+", power cut at "+cut.String())
					}
				}
				n := look(disk, when+", killed")
				if seen[n]++; n == 0 || k%5 == 2 {
					again(disk, when+", killed")
				}
			}
			if seen[1] == 0 || seen[2] == 0 || config.NoExchange != (seen[0] > 0) && every == 1 {
				t.Errorf("seen %v", seen)
			}
		})
	}
}

// TestUnchangedPlainFilesAreLinked: a file that stays is the same file after a publication, and neither copied nor hashed again.
func TestUnchangedPlainFilesAreLinked(t *testing.T) {
	t.Parallel()
	disk := faultfs.New(faultfs.Config{})
	fsys := disk.Open(faultfs.Options{Reads: true})
	defer fsys.Kill()
	s := newFixtureOn(t, fsys)
	const name = "plain/Resources/Same.zip"
	var before platform.Identity
	for n := 1; n <= 4; n++ {
		count := fsys.Count()
		s.publish(game(t, small(n)), publish.Request{})
		ops := fsys.Ops()[count:]
		must(t, same(s.plainFiles(), small(n).with(nil, "notes/en.md")))
		info, err := s.fs.Lstat(name)
		must(t, err)
		now := platform.IdentityOf(info)
		if n > 1 && (now.Inode != before.Inode || !now.Modified.Equal(before.Modified)) {
			t.Errorf("release %d: another file: %+v, was %+v", n, now, before)
		}
		before = now
		if n < 3 {
			continue // it is hashed once
		}
		for _, op := range ops {
			if op.Verb == faultfs.Read && op.Name == name {
				t.Errorf("release %d: %s", n, op.Label())
			}
		}
	}
}

// TestPlainFilesWithoutLinks: where a volume has no links, what stays is written anew.
func TestPlainFilesWithoutLinks(t *testing.T) {
	t.Parallel()
	fsys := faultfs.New(faultfs.Config{NoExchange: true, NoInodes: true}).Open(faultfs.Options{})
	defer fsys.Kill()
	fsys.Inject(faultfs.Rule{Verb: faultfs.Link, Err: errors.ErrUnsupported})
	s := newFixtureOn(t, fsys)
	for n := 1; n <= 3; n++ {
		s.publish(game(t, small(n)), publish.Request{})
		must(t, same(s.plainFiles(), small(n).with(nil, "notes/en.md")))
	}
}

// TestFormerPlainFilesThatStay: files that can't be removed, because a program reads them on a network file system, are in the way of
// no publication, and a file that is in use is not written to over them.
func TestFormerPlainFilesThatStay(t *testing.T) {
	t.Parallel()
	for manner, config := range manners {
		t.Run(manner, func(t *testing.T) {
			fsys := faultfs.New(config).Open(faultfs.Options{})
			defer fsys.Kill()
			s := newFixtureOn(t, fsys)
			s.publish(game(t, small(1)), publish.Request{})
			fsys.Inject(faultfs.Rule{Verb: faultfs.Remove, Name: ".collet/plain-**", Err: faultfs.EBUSY})
			for n := 2; n <= 4; n++ {
				s.publish(game(t, small(n)), publish.Request{})
				must(t, same(s.plainFiles(), small(n).with(nil, "notes/en.md")))
			}
			fsys.Heal()
			s.publish(game(t, small(5)), publish.Request{})
			for name := range fsys.Disk().Files() {
				if unusedPlain(name) {
					t.Errorf("%s is left", name)
				}
			}
		})
	}
}

// TestPlainFilesOfEarlierVersions: the pair that earlier versions wrote into the release folder itself stays as it is, for those who
// still read it there.
func TestPlainFilesOfEarlierVersions(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.set("Plain = true", "Plain = false")
	s.publish(game(t, small(1)), publish.Request{})
	s.set("Plain = false", "Plain = true")
	earlier := small(1).with(nil, "notes/en.md")
	for name, content := range earlier {
		must(t, s.fs.MkdirAll(name[:strings.LastIndexByte(name, '/')], 0o755))
		must(t, platform.WriteFile(s.fs, name, []byte(content)))
	}
	s.publish(game(t, small(2)), publish.Request{})
	must(t, same(s.plainFiles(), small(2).with(nil, "notes/en.md")))
	left := s.filesBelow(".")
	for name, content := range earlier {
		if left[name] != content {
			t.Errorf("%s was changed", name)
		}
	}
}

// TestLeftoversAreSwept: what a killed publisher left under temporary names goes with the next publication, in the release folder and
// on the web server.
func TestLeftoversAreSwept(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish(game(t, small(1)), publish.Request{})
	web := openDir(t, t.TempDir())
	out := publish.FolderPlace(web)
	s.updatePlace(out, false)
	half := []byte("half of one")
	must(t, s.fs.MkdirAll("sequels", 0o755))
	must(t, platform.WriteFile(s.fs, "metadata/7.snapshot.json.new", half))
	must(t, platform.WriteFile(s.fs, "sequels/left.sequel.new", half))
	for _, name := range []string{"metadata/timestamp.json.12.new", "metadata/3.targets.json.new", "sequels/left.sequel.4.new", "objects/00/left.1.new", "releases/left.2.new"} {
		must(t, web.MkdirAll(name[:strings.LastIndexByte(name, '/')], 0o755))
		must(t, platform.WriteFile(web, name, half))
	}
	s.publish(game(t, small(2)), publish.Request{})
	if sum := s.updatePlace(out, false); sum.Removed != 5 {
		t.Errorf("%+v", sum)
	}
	for _, fsys := range []platform.FS{s.fs, web} {
		for _, folder := range []string{"metadata", "sequels", "objects", "releases"} {
			must(t, leftovers(fsys, folder))
		}
	}
}

// leftovers returns an error for a temporary name below a folder.
func leftovers(fsys platform.FS, folder string) error {
	entries, err := fsys.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		name := folder + "/" + e.Name()
		switch {
		case e.IsDir():
			err = errors.Join(err, leftovers(fsys, name))
		case strings.HasSuffix(name, ".new"):
			err = errors.Join(err, fmt.Errorf("%s is left", name))
		}
	}
	return err
}
