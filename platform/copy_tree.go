package platform

import (
	"context"
	"io/fs"
	"os"
	"path"
)

// CopyTree copies a folder with all its regular files and folders to a new name, over what is there. Permissions are kept, and the owner may
// write to each copy. All files and all names in the new folder are on the disk when it returns; the folder's own name is not. The error is
// that of ctx, or of the first file that can't be copied.
func CopyTree(ctx context.Context, from FS, name string, to FS, newName string) error {
	entries, err := from.ReadDir(name)
	if err == nil {
		err = to.MkdirAll(newName, 0o755)
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		old, fresh := path.Join(name, e.Name()), path.Join(newName, e.Name())
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case e.IsDir():
			err = CopyTree(ctx, from, old, to, fresh)
		case e.Type().IsRegular():
			err = CopyFile(from, old, to, fresh)
		}
		if err != nil {
			return err
		}
	}
	return to.SyncDir(newName)
}

// CopyFile copies a file with its permissions, as WriteFrom does. The owner may write to the copy.
func CopyFile(from FS, name string, to FS, newName string) error {
	in, err := from.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	return WriteFrom(to, newName, in, info.Mode().Perm()|fs.FileMode(0o200))
}
