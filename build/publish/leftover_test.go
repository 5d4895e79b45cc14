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
)

// isPlain reports whether a name is that of a plain file.
func isPlain(name string) bool {
	return strings.HasPrefix(name, "Resources/") || strings.HasPrefix(name, "PlatformBinaries/")
}

// TestPlainFilesAreNamedTogether: when the first plain file gets its name all of them are on the disk, so that a publisher that is
// killed while it unpacks leaves the old set.
func TestPlainFilesAreNamedTogether(t *testing.T) {
	t.Parallel()
	const packs = 70 // more than are synced together
	c, two := newCrashStage(t), tiny(2)
	for i := range packs {
		two[fmt.Sprintf("Resources/Pack%d.zip", i)] = prose(uint64(i), 100)
	}
	c.two = game(t, two)
	fsys := c.disk.Clone().Open(faultfs.Options{})
	must(t, c.try(context.Background(), fsys, nil))
	named := 0
	for _, op := range fsys.Ops() {
		switch {
		case op.Verb == faultfs.Rename && isPlain(op.To):
			named++
		case named > 0 && named < packs+2 && (op.Verb == faultfs.Write || op.Verb == faultfs.Sync):
			t.Errorf("between the names: %s", op.Label())
		case op.Verb == faultfs.Write && isPlain(op.Name):
			t.Errorf("written in place: %s", op.Label())
		}
	}
	if named != packs+2 {
		t.Errorf("%d plain files got their names", named)
	}
}

// TestPlainFilesStoppedAnywhere kills the publisher at every third operation: the old set stays until names change, and the same command
// brings the new one.
func TestPlainFilesStoppedAnywhere(t *testing.T) {
	t.Parallel()
	c := newCrashStage(t)
	for k := 1; ; k += 3 {
		disk := c.disk.Clone()
		fsys := disk.Open(faultfs.Options{})
		fsys.StopBefore(k)
		err := c.try(context.Background(), fsys, nil)
		touched := false
		for _, op := range fsys.Ops() {
			touched = touched || op.Verb == faultfs.Rename && isPlain(op.To) && op.Err == nil
		}
		fsys.Kill()
		after := disk.Open(faultfs.Options{})
		got := (&stage{t: t, fs: after}).plainFiles()
		if !touched {
			must(t, same(got, tiny(1).with(nil, "notes/en.md")))
		}
		if err == nil {
			must(t, same(got, tiny(2).with(nil, "notes/en.md")))
			return
		}
		if k%10 == 0 || touched {
			must(t, c.try(context.Background(), after, nil))
			must(t, same((&stage{t: t, fs: after}).plainFiles(), tiny(2).with(nil, "notes/en.md")))
		}
		after.Kill()
	}
}

// TestLeftoversAreSwept: what a killed publisher left under temporary names goes with the next publication, in the release folder and
// on the web server.
func TestLeftoversAreSwept(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(game(t, small(1)), publish.Request{})
	web := openDir(t, t.TempDir())
	out := publish.FolderOutput(web)
	s.mirror(out, false)
	half := []byte("half of one")
	must(t, s.fs.MkdirAll("sequels", 0o755))
	must(t, platform.WriteFile(s.fs, "metadata/7.snapshot.json.new", half))
	must(t, platform.WriteFile(s.fs, "sequels/left.sequel.new", half))
	for _, name := range []string{"metadata/timestamp.json.12.new", "metadata/3.targets.json.new", "sequels/left.sequel.4.new", "objects/00/left.1.new", "releases/left.2.new"} {
		must(t, web.MkdirAll(name[:strings.LastIndexByte(name, '/')], 0o755))
		must(t, platform.WriteFile(web, name, half))
	}
	s.publish(game(t, small(2)), publish.Request{})
	if sum := s.mirror(out, false); sum.Removed != 5 {
		t.Errorf("%+v", sum)
	}
	for _, fsys := range []platform.FS{s.fs, web} {
		for _, folder := range []string{"metadata", "sequels", "objects", "releases"} {
			must(t, leftovers(fsys, folder))
		}
	}
}

// leftovers is an error for a temporary name below a folder.
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
