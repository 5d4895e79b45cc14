package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"collet/platform"
)

// settle makes durable what the process before us left: it may have been killed between a change and its sync, and what
// this one goes on to do relies on what it finds. After a clean end there is nothing to do.
func (d *Dir) settle(context.Context) error {
	acts := d.journal.State == Prepared || d.journal.State == RollingBack
	if d.journal.Number == 0 || !d.unclean && !acts {
		return nil
	}
	for _, name := range []string{listsName(d.journal.slot), slotName(d.journal.slot)} {
		if err := d.settleFile(name); err != nil {
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
		d.addTree(folders, folder)
	}
	return d.syncDirs(folders)
}

// addTree adds a folder, those in it and those above it. What can't be listed is not added: it holds nothing of ours.
func (d *Dir) addTree(folders map[string]bool, folder string) {
	entries, err := d.fs.ReadDir(folder)
	if err != nil {
		return
	}
	addFolders(folders, path.Join(folder, "x"))
	for _, e := range entries {
		if e.IsDir() {
			d.addTree(folders, path.Join(folder, e.Name()))
		}
	}
}

// addFolders adds the folders of names, and those above them.
func addFolders(folders map[string]bool, names ...string) {
	for _, name := range names {
		for folder := path.Dir(name); !folders[folder]; folder = path.Dir(folder) {
			folders[folder] = true
		}
	}
}

// settleFile syncs a file that somebody else wrote. What can't be written now can't be relied upon by anything that we do.
func (d *Dir) settleFile(name string) error {
	f, err := d.fs.OpenFile(name, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || platform.IsReadOnly(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
