package doctor

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/build/qa/fileset"
	"collet/netproto/release"
	"collet/platform"
)

// step is one action on the install of a test.
type step = func(context.Context, *updater) error

// fixture makes a real folder with a client's settings and log, a file of the player, and an install that went through steps.
func fixture(t *testing.T, steps ...step) (dir, module string) {
	t.Helper()
	dir, module = t.TempDir(), "Lathe"+map[bool]string{true: ".dll", false: ".so"}[filepath.Separator == '\\']
	for name, content := range map[string]string{"Lathe.toml": "[Client]\nTitle = \"x\"\n", "Lathe.log": "first line\nlast line\n", "mine.txt": "of the player"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fsys, err := platform.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer fsys.Close()
	for _, do := range steps {
		if err := do(t.Context(), &updater{fsys: fsys, module: module}); err != nil {
			t.Fatal(err)
		}
	}
	return dir, module
}

// installs is a whole update to the release "old" or "new".
func installs(which string) step {
	return func(ctx context.Context, u *updater) error {
		err := u.open(ctx)
		if err == nil {
			err = u.fetch(ctx, which)
		}
		if err == nil {
			err = u.dir.Promote(ctx)
		}
		if err == nil {
			err = u.dir.Confirm()
		}
		return errors.Join(err, u.dir.Close())
	}
}

// stops is an update to the release "new" that ends "prepared", "pending" or "failed".
func stops(how string) step {
	return func(ctx context.Context, u *updater) error {
		err := u.open(ctx)
		if err == nil {
			err = u.fetch(ctx, "new")
		}
		if err == nil && how != "prepared" {
			err = u.dir.Promote(ctx)
		}
		for range map[string]int{"failed": 2}[how] {
			if err == nil {
				err = u.dir.Starting()
			}
			if err == nil {
				_, err = u.dir.FailedStart(ctx, "the test says so")
			}
		}
		return errors.Join(err, u.dir.Close())
	}
}

// spoils replaces the content of a file.
func spoils(name, content string) step {
	return func(_ context.Context, u *updater) error {
		return os.WriteFile(u.fsys.Path(name), []byte(content), 0o644)
	}
}

// updater updates an install like a client.
type updater struct {
	fsys   platform.FS
	module string // file name
	dir    *install.Dir
}

// open opens the install with a clock that is later than all its files, so that their times are trusted.
func (u *updater) open(ctx context.Context) (err error) {
	ext := filepath.Ext(u.module)
	u.dir, err = install.Open(ctx, install.Config{
		FS: u.fsys, Names: install.Names{Runtime: strings.TrimSuffix(u.module, ext), Ext: ext, Resources: "Resources", Cache: "Cache"},
		Trust: install.TrustSHA256, Log: zerolog.Nop(), Now: func() time.Time { return time.Now().AddDate(1, 0, 0) },
	})
	return err
}

// fetch downloads a release and commits it.
func (u *updater) fetch(ctx context.Context, which string) error {
	contents := map[string]map[string]string{
		"old": {u.module: "module one\n", "Resources/A.zip": "A one\n"},
		"new": {u.module: "module two\n", "Resources/A.zip": "A two\n", "Resources/B.zip": "B\n"},
	}[which]
	var offer []release.File
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		digest, err := release.SHA256.DigestOf(strings.NewReader(contents[name]))
		if err != nil {
			return err
		}
		f := release.File{Path: name, Size: int64(len(contents[name])), Digest: digest, Role: release.Binary, Index: uint32(len(offer))}
		if below, is := strings.CutPrefix(name, "Resources/"); is {
			f.Path, f.Role = below, release.Resource
		}
		offer = append(offer, f)
	}
	plan, err := u.dir.Plan(ctx, update.Binaries, offer, func(string, int64, int64) {})
	if err != nil {
		return err
	}
	for i, want := range plan.Wants {
		name := want.File.Path
		if want.File.Role == release.Resource {
			name = "Resources/" + name
		}
		if err := fileset.Fill(ctx, u.dir, i, want, contents[name], 64<<10); err != nil {
			return err
		}
	}
	return u.dir.Commit(ctx)
}
