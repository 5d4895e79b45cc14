package pack

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"collet/build/pack/archive"
	"collet/build/pack/bundle"
	"collet/platform/interrupt"
)

// packExt is the extension of packs in packages.
const packExt = ".zip"

// ignoredNames are files and folders that never get into a pack, in any folder and any case: leftovers of version control and systems.
// Files that begin with "._", which macOS creates, are ignored, too. All other names are packed, including those that begin with a dot.
var ignoredNames = []string{
	".git", ".gitignore", ".gitattributes", ".gitmodules", ".gitkeep", ".hg", ".hgignore", ".svn", ".bzr", "CVS",
	".DS_Store", ".Spotlight-V100", ".Trashes", ".fseventsd", "__MACOSX", "Thumbs.db", "ehthumbs.db", "desktop.ini", ".directory",
}

func ignoredInPacks(name string) bool {
	for _, ignored := range ignoredNames {
		if strings.EqualFold(name, ignored) {
			return true
		}
	}
	return strings.HasPrefix(name, "._")
}

// Write writes the zip of a pack. Equal files give equal bytes on any machine, because all entries get one time and one mode. A finished
// zip is copied, if it is readable.
func (p Pack) Write(ctx context.Context, out string, progress func(int64)) error {
	info, err := os.Stat(p.From)
	if err != nil {
		return fmt.Errorf("resource pack %s: %w; name a folder or a zip in resources.pack.from", p.Name, err)
	}
	if !info.IsDir() {
		return p.copyZip(ctx, out, progress)
	}
	tree, err := resourceTree(ctx, p.From)
	if err == nil && len(tree) == 0 {
		err = fmt.Errorf("%s has no files; fill it, or leave the pack out", p.From)
	}
	if err == nil {
		err = archive.Zip(ctx, tree, out, archive.Options{Deflate: p.Deflate, Progress: progress})
	}
	if err != nil {
		return fmt.Errorf("resource pack %s: %w", p.Name, err)
	}
	return nil
}

// copyZip copies a finished pack.
func (p Pack) copyZip(ctx context.Context, out string, progress func(int64)) error {
	r, err := zip.OpenReader(p.From)
	if err != nil {
		return fmt.Errorf("resource pack %s: %s is neither a folder nor a zip that can be read: %w", p.Name, p.From, err)
	}
	if err := r.Close(); err != nil {
		return err
	}
	return copyFile(ctx, out, p.From, bundle.Plain, progress)
}

// resourceTree lists a folder's files for a pack. It refuses links, sockets and devices, which are not portable, and paths that some system
// can't have.
func resourceTree(ctx context.Context, folder string) (bundle.Tree, error) {
	var entries []bundle.Entry
	err := filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case name == folder:
			return nil
		case ignoredInPacks(e.Name()) && e.IsDir():
			return fs.SkipDir
		case ignoredInPacks(e.Name()) || e.IsDir():
			return nil
		case !e.Type().IsRegular():
			return fmt.Errorf("%s is %s; packs hold files alone, so put one in its place, or remove it", name, unfitKind(e.Type()))
		}
		rel, err := filepath.Rel(folder, name)
		entries = append(entries, bundle.Entry{Path: filepath.ToSlash(rel), Mode: bundle.Plain, From: name})
		return err
	})
	if err != nil {
		return nil, err
	}
	tree, err := bundle.NewTree(entries...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; rename it, so that every system can have it", folder, err)
	}
	return tree, nil
}

// unfitKind names the type of an entry that is neither a file nor a folder.
func unfitKind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeDevice != 0:
		return "a device"
	default:
		return "no regular file"
	}
}

// copyFile copies a file whole or not at all, with the given mode.
func copyFile(ctx context.Context, to, from string, mode fs.FileMode, progress func(int64)) error {
	in, size, err := bundle.Entry{From: from}.Open()
	if err != nil {
		return err
	}
	err = archive.File(ctx, to, func(out *os.File) error {
		n, err := io.Copy(out, counted{interrupt.Reader(ctx, in), progress})
		if err == nil && n != size {
			err = fmt.Errorf("%s changed while it was copied; pack when nothing writes there", from)
		}
		return err
	})
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	return os.Chmod(to, mode)
}

// counted reports the bytes read.
type counted struct {
	r        io.Reader
	progress func(int64)
}

func (c counted) Read(buf []byte) (int, error) {
	n, err := c.r.Read(buf)
	if c.progress != nil {
		c.progress(int64(n))
	}
	return n, err
}

// Folders of packages, as the server's defaults and the source have them.
const (
	resourcesFolder       = "Resources"       // packs for clients
	serverResourcesFolder = "ServerResources" // packs for servers only
	binariesFolder        = "PlatformBinaries"
)

// path returns a pack's path in packages.
func (p Pack) path() string {
	if p.ServerOnly {
		return path.Join(serverResourcesFolder, p.Name+packExt)
	}
	return path.Join(resourcesFolder, p.Name+packExt)
}
