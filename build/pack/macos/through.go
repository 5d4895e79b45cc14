package macos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"collet/build/pack/bundle"
)

// Through writes a tree to a folder, which must be empty, hands the .app's path to a hook that signs it, and gives what is
// there then: files that the hook changed and added, by their paths in that folder. So the folder has to stay as long as the
// tree is used.
func Through(ctx context.Context, app bundle.Tree, folder string, hook func(ctx context.Context, app string) error) (bundle.Tree, error) {
	fail := func(err error) (bundle.Tree, error) { return nil, fmt.Errorf("sign an .app in %s: %w", folder, err) }
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		return fail(errors.Join(err, fmt.Errorf("%d files are there already; give an empty folder", len(left))))
	}
	for _, e := range app {
		if err := errors.Join(ctx.Err(), lay(folder, e)); err != nil {
			return fail(err)
		}
	}
	top, err := os.ReadDir(folder)
	if err == nil && len(top) != 1 {
		err = fmt.Errorf("want one .app, got %d folders", len(top))
	}
	if err == nil {
		err = hook(ctx, filepath.Join(folder, top[0].Name()))
	}
	if err != nil {
		return fail(err)
	}
	tree, err := gather(folder)
	if err != nil {
		return fail(err)
	}
	return tree, nil
}

// lay writes one entry.
func lay(folder string, e bundle.Entry) error {
	name := filepath.Join(folder, filepath.FromSlash(e.Path))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
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

// gather is lay's opposite. Of permissions only whether anybody may run a file counts.
func gather(folder string) (bundle.Tree, error) {
	var entries []bundle.Entry
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		e := bundle.Entry{Path: filepath.ToSlash(rel), Mode: bundle.Plain, From: name}
		info, err := d.Info()
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			e.From = ""
			e.Link, err = os.Readlink(name)
		}
		if err == nil && e.Link == "" && info.Mode()&0o111 != 0 {
			e.Mode = bundle.Program
		}
		entries = append(entries, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return bundle.NewTree(entries...)
}
