package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"collet/platform"
)

// settle syncs the changes of the previous process. It may have been killed between a change and its sync, and later
// operations rely on those changes. After a clean end it does so only in the states Prepared and RollingBack.
func (d *Dir) settle(context.Context) error {
	acts := d.journal.State == Prepared || d.journal.State == RollingBack
	if d.journal.Number == 0 || !d.unclean && !acts {
		return nil
	}
	for _, name := range []string{listsName(d.journal.slot), slotName(d.journal.slot)} {
		if err := syncFile(d.fs, name); err != nil {
			return err
		}
	}
	folders := map[string]bool{".": true, StateDir: true}
	for _, e := range d.journal.lists.Files {
		addFolders(folders, e.Live, e.part(), e.backup())
	}
	for _, u := range d.journal.lists.Undo {
		aside := u.entry()
		aside.Aside = true
		addFolders(folders, u.Live, aside.part(), aside.backup())
	}
	for _, folder := range []string{d.recycled(dropped), d.recycled(somebodys)} {
		addTree(d.fs, folders, folder)
	}
	return syncDirs(d.fs, folders)
}

// addTree adds a folder, its subfolders and its parents. It skips a folder that can't be listed: it holds no file of this
// program.
func addTree(fsys platform.FS, folders map[string]bool, folder string) {
	entries, err := fsys.ReadDir(folder)
	if err != nil {
		return
	}
	addFolders(folders, path.Join(folder, "x"))
	for _, e := range entries {
		if e.IsDir() {
			addTree(fsys, folders, path.Join(folder, e.Name()))
		}
	}
}

// addFolders adds the folders of names and their parents.
func addFolders(folders map[string]bool, names ...string) {
	for _, name := range names {
		for folder := path.Dir(name); !folders[folder]; folder = path.Dir(folder) {
			folders[folder] = true
		}
	}
}

// syncFile syncs a file of an earlier process. It ignores a missing file, and one without write permission: no later
// write relies on it.
func syncFile(fsys platform.FS, name string) error {
	f, err := fsys.OpenFile(name, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || platform.IsReadOnly(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
