package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Lay writes the tree into a folder, for tools that read folders. Files have the tree's permissions and folders 0755, regardless of the
// umask. Existing files are an error.
func (t Tree) Lay(ctx context.Context, folder string) error {
	for _, e := range t {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.lay(folder); err != nil {
			return fmt.Errorf("write %s: %w", e.Path, err)
		}
	}
	return nil
}

// lay writes one entry.
func (e Entry) lay(folder string) error {
	name := filepath.Join(folder, filepath.FromSlash(e.Path))
	if err := makeFolders(folder, filepath.Dir(name)); err != nil {
		return err
	}
	if e.Link != "" {
		return os.Symlink(filepath.FromSlash(e.Link), name)
	}
	in, _, err := e.Open()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, e.Mode)
	if err != nil {
		return errors.Join(err, in.Close())
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, in.Close(), out.Close(), os.Chmod(name, e.Mode))
}

// makeFolders creates a folder and its parents below top.
func makeFolders(top, folder string) error {
	if folder == top {
		return os.MkdirAll(top, Program)
	}
	if err := makeFolders(top, filepath.Dir(folder)); err != nil {
		return err
	}
	err := os.Mkdir(folder, Program)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return errors.Join(err, os.Chmod(folder, Program))
}

// Gather is the inverse of Lay: it returns the tree of a folder's files. Entries refer to these files, so the folder must exist as long as
// the tree is used. Of the permissions only the executable bits count.
func Gather(folder string) (Tree, error) {
	var entries []Entry
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		e, err := gathered(folder, name, d)
		entries = append(entries, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return NewTree(entries...)
}

func gathered(folder, name string, d fs.DirEntry) (Entry, error) {
	rel, err := filepath.Rel(folder, name)
	if err != nil {
		return Entry{}, err
	}
	info, err := d.Info()
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Path: filepath.ToSlash(rel), Mode: Plain}
	if info.Mode()&fs.ModeSymlink != 0 {
		e.Link, err = os.Readlink(name)
		e.Link = filepath.ToSlash(e.Link)
		return e, err
	}
	if e.From = name; info.Mode()&0o111 != 0 {
		e.Mode = Program
	}
	return e, nil
}
