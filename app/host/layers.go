package host

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"collet/app/install"
	"collet/app/update"
	"collet/platform"
)

// openRoots opens the writable root, and the install folder where it is another one; base is nil otherwise.
func (s *setup) openRoots() (data *platform.Dir, base platform.FS, err error) {
	if data, err = platform.OpenDir(s.roots.data); err != nil || s.roots.portable() {
		return data, nil, err
	}
	below, err := platform.OpenDir(s.roots.install)
	if err != nil {
		data.Close()
		return nil, nil, err
	}
	return data, below, nil
}

// closeBase closes what openRoots may not have opened.
func closeBase(base platform.FS) error {
	if base == nil {
		return nil
	}
	return base.Close()
}

// noteRoots tells the player that the folder for the player's own data can't be used.
func (s *setup) noteRoots(f front) {
	if s.roots.refused != nil {
		f.Note(s.texts.Get("note.portable", "path", s.roots.install))
	}
}

// notOpened is the end of an attempt that could not open the install. The player may want what is in it all the same.
func (a *attempts) notOpened(ctx context.Context, f front, err error) ended {
	e := failed(err)
	if e.fault == nil {
		return e
	}
	if _, err := a.startChild(ctx, f); err != nil {
		a.log.Warn().Err(err).Msg("nothing to play from an install that can't be opened")
		return e
	}
	a.loaded = true
	return e
}

// remedy is how a player whom the install folder refuses starts the game so that all is written elsewhere: a step that needs no
// permission. It is empty where another folder was asked for already.
func (s *setup) remedy(f *update.Fault) string {
	if f == nil || f.Cause != update.NoPermission || !s.roots.portable() || s.roots.refused != nil {
		return ""
	}
	return strconv.Quote(filepath.Base(s.exe)) + ` "--UserWritablePath=*"`
}

// packFolders are the folders of the packs, the delivered one first.
func (s *setup) packFolders() []string {
	folders := []string{filepath.Join(s.roots.install, s.settings.Baking.ClientResources)}
	if !s.roots.portable() {
		folders = append(folders, filepath.Join(s.roots.data, s.settings.Baking.ClientResources))
	}
	return folders
}

// hasPacks reports whether there is any pack.
func (s *setup) hasPacks() bool {
	return slices.ContainsFunc(s.packFolders(), func(folder string) bool {
		entries, err := os.ReadDir(folder)
		return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool {
			return !strings.HasPrefix(e.Name(), install.PartPrefix)
		})
	})
}

// packArgs tells the game where its packs are: docs/ABI.md, "Packs".
func (d *disk) packArgs() []string {
	folders := d.packFolders()
	args := []string{"--ClientResources", folders[0]}
	if len(folders) == 1 {
		return args
	}
	args = append(args, "--ClientResourcesPatched", folders[1])
	if d.dir == nil {
		return args
	}
	list, err := d.dir.PacksList()
	if err != nil {
		d.log.Warn().Err(err).Msg("all delivered packs count")
	}
	if list != "" {
		args = append(args, "--ClientResourcesList", list)
	}
	return args
}
