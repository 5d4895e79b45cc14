package platform

import (
	"errors"
	"io/fs"
	"path"
)

// Walk visits the plain files below a folder, sorted by name, and what is neither a plain file nor a folder with other, which may be nil.
// It follows no links. A missing folder is empty. The error is the first of visit, or that of a folder that can't be listed.
func Walk(fsys FS, folder string, visit func(name string, e fs.DirEntry) error, other func(name string, e fs.DirEntry)) error {
	entries, err := fsys.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		switch {
		case e.IsDir():
			err = Walk(fsys, name, visit, other)
		case e.Type().IsRegular():
			err = visit(name, e)
		case other != nil:
			other(name, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// RemoveFolder removes a folder with everything in it. It follows no links. file removes or moves away one file; nil removes it. A missing
// folder is not an error. The error is the first one, after which the rest stays.
func RemoveFolder(fsys FS, folder string, file func(name string) error) error {
	entries, err := fsys.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if file == nil {
		file = fsys.Remove
	}
	for _, e := range entries {
		if name := path.Join(folder, e.Name()); e.IsDir() {
			err = RemoveFolder(fsys, name, file)
		} else {
			err = file(name)
		}
		if err != nil {
			return err
		}
	}
	return fsys.Remove(folder)
}
