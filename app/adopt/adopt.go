// Package adopt makes an install of a folder that already holds the game: unpacked from an archive, installed by another updater or by a
// store. The next update compares what is there with the release, and fetches only what differs.
//
// A portable client keeps everything in its own folder. So the game's folder becomes that folder:
//
//	Lathe/game, Lathe/data/…    before
//	Lathe.collet/Lathe          1  the client and its files are copied into a folder beside it; collet-adopting is the first of them
//	Lathe.collet/Resources/…    2  the game's folder is renamed into it
//	Lathe/Lathe, …/Resources/…  3  that folder takes the game's name, and collet-adopting goes
//
// Any other client writes to a folder of its own, its writable root. It stays where it is, and the game goes there:
//
//	Root/collet-adopting        1
//	Root/Resources/…            2  the game's folder is renamed; from another volume it is copied and stays
//	Root/Lathe.program          3  the client's files are copied, and collet-adopting goes
//
// Resources is what the client's settings call it, which may be a folder in a folder.
//
// No file of the game is changed or removed, also none that no release has. Each step is synced before the next one. After a stop
// at any point, the same call finishes: it finds out from the names how far it came. Between 2 and 3 of a portable client there is no
// folder of the game's name; everything is in the other one, and the message of the stopped call named it.
package adopt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"collet/platform"
)

// Names in folders.
const (
	Suffix  = ".collet"         // of the folder beside the game's
	marker  = "collet-adopting" // in it, until everything is done
	partial = ".part"           // suffix of a file that is being copied
)

// File is one file of the client to place.
type File struct {
	Name string // in the install
	Open func() (io.ReadCloser, error)
	Mode fs.FileMode
}

// Plan is what Adopt will do, for people.
type Plan struct {
	Name      string // of the game's folder in its parent
	Resources string // where the install has the game's files, with slashes
	Files     int    // in the game's folder
	Bytes     int64
	Resumed   bool // an earlier call was stopped
}

// ErrInstalled means that the folder is an install already.
var ErrInstalled = errors.New("is an install of this client already: start it there")

// Look finds out what Adopt will do with the folder called name. client is the name of the client's program, resources the folder of an
// install for the game's files, with slashes, and description the path of the file that describes the game, which need not be there. It changes
// nothing.
func Look(parent platform.FS, name, client, resources, description string) (Plan, error) {
	p := Plan{Name: name, Resources: path.Clean(resources)}
	beside := name + Suffix
	_, err := parent.Lstat(path.Join(beside, marker))
	p.Resumed = err == nil
	if !p.Resumed && !isFree(parent, beside) {
		return p, fmt.Errorf("%s is in the way; move it elsewhere", parent.Path(beside))
	}
	info, err := parent.Lstat(name)
	switch fault := checkFolder(parent, name, info, err); {
	case p.Resumed && errors.Is(err, fs.ErrNotExist):
		return p, p.count(parent, path.Join(beside, p.Resources))
	case fault != nil:
		return p, fault
	case exists(parent, path.Join(name, marker)):
		p.Resumed = true
		return p, p.count(parent, path.Join(name, p.Resources))
	case exists(parent, path.Join(name, client)) && exists(parent, path.Join(name, p.Resources)):
		return p, fmt.Errorf("%s %w", parent.Path(name), ErrInstalled)
	}
	return p, p.look(parent, description)
}

// isFree reports whether a name is not taken, or is that of a folder in which only our marker was begun.
func isFree(fsys platform.FS, name string) bool {
	entries, err := fsys.ReadDir(name)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !strings.HasPrefix(e.Name(), marker) })
}

func exists(fsys platform.FS, name string) bool {
	_, err := fsys.Lstat(name)
	return err == nil
}

// count counts the files of a folder.
func (p *Plan) count(fsys platform.FS, folder string) error {
	entries, err := fsys.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := p.count(fsys, path.Join(folder, e.Name())); err != nil {
				return err
			}
			continue
		}
		p.Files++
		if info, err := e.Info(); err == nil {
			p.Bytes += info.Size()
		}
	}
	return nil
}

// Adopt does what Look has planned. files[0] is the client's program. After an error, the game's folder is as it was, or the
// error says where its files are; another call continues.
func Adopt(parent platform.FS, p Plan, files []File) error {
	if exists(parent, path.Join(p.Name, marker)) {
		return finish(parent, p.Name)
	}
	if exists(parent, path.Join(p.Name, files[0].Name)) && exists(parent, path.Join(p.Name, p.Resources)) { // meanwhile, by another client
		return fmt.Errorf("%s %w", parent.Path(p.Name), ErrInstalled)
	}
	beside := p.Name + Suffix
	inside := path.Join(beside, p.Resources)
	if err := place(parent, beside, files, path.Dir(inside)); err != nil {
		return fmt.Errorf("place the client in %s, for which the folder above the game's must be writable and have room: %w", parent.Path(beside), err)
	}
	if !exists(parent, inside) {
		if err := parent.Rename(p.Name, inside); err != nil {
			return fmt.Errorf("move the game's folder, which needs that no program uses it: %w", err)
		}
	}
	if err := errors.Join(parent.SyncDir(path.Dir(inside)), parent.SyncDir(".")); err != nil {
		return fmt.Errorf("the game is in %s; run this again: %w", parent.Path(inside), err)
	}
	if err := parent.Rename(beside, p.Name); err != nil {
		return fmt.Errorf("the game is in %s; run this again: %w", parent.Path(inside), err)
	}
	return finish(parent, p.Name)
}

// finish removes the marker of a folder that has its name.
func finish(parent platform.FS, name string) error {
	if err := parent.SyncDir("."); err != nil {
		return err
	}
	if err := parent.Remove(path.Join(name, marker)); err != nil {
		return err
	}
	return parent.SyncDir(name)
}

// place copies the client into the folder beside the game, the marker first, so that the folder is known for ours. It also makes the folder in
// which the game's will be.
func place(parent platform.FS, beside string, files []File, above string) error {
	if !exists(parent, path.Join(beside, marker)) {
		if err := parent.MkdirAll(beside, 0o755); err != nil {
			return err
		}
		if err := platform.WriteFile(parent, path.Join(beside, marker), nil); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := f.copyTo(parent, path.Join(beside, f.Name)); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if err := parent.MkdirAll(above, 0o755); err != nil {
		return err
	}
	for ; above != "."; above = path.Dir(above) {
		if err := parent.SyncDir(above); err != nil {
			return err
		}
	}
	return parent.SyncDir(".")
}

// copyTo writes the file under another name first, so that one of its name is whole.
func (f File) copyTo(fsys platform.FS, name string) error {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	if err := platform.WriteFrom(fsys, name+partial, in, f.Mode); err != nil {
		return err
	}
	return fsys.Rename(name+partial, name)
}
