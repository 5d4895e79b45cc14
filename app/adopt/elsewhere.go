package adopt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"

	"collet/platform"
)

// Elsewhere are the folders of an adoption by a client that keeps the game in a writable root of its own. Close them.
type Elsewhere struct {
	Parent platform.FS // the folder above the game's
	Root   platform.FS // the writable root
	Above  platform.FS // a folder above both, in which the game's can be renamed; nil for folders on two drives
	Game   string      // the game's folder in Above, with slashes
	Own    string      // the writable root in Above
	busy   io.Closer   // the lock of the writable root; nil for none
}

// OpenElsewhere opens the folders of an adoption, from the absolute paths of the game's folder and the writable root. The error is ErrBusy
// while the client is open.
func OpenElsewhere(game, root string) (e *Elsewhere, err error) {
	parent, err := filepath.EvalSymlinks(filepath.Dir(game))
	if err != nil {
		return nil, err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	game = filepath.Join(parent, filepath.Base(game))
	if _, inside := platform.Below(game, root); inside {
		return nil, fmt.Errorf("%s is where this client keeps the game, and lies in that folder: %w", root, ErrNotAGame)
	}
	e = &Elsewhere{}
	defer func(opened *Elsewhere) {
		if err != nil {
			err = errors.Join(err, opened.Close())
		}
	}(e)
	if e.busy, err = lock(root); err != nil {
		return nil, err
	}
	if e.Parent, err = open(parent); err != nil {
		return nil, err
	}
	if e.Root, err = open(root); err != nil {
		return nil, err
	}
	for above := parent; ; above = filepath.Dir(above) {
		var inside bool
		if e.Own, inside = platform.Below(above, root); inside {
			e.Game, _ = platform.Below(above, game)
			e.Above, _ = open(above) // without it the game is copied
			return e, nil
		}
		if above == filepath.Dir(above) {
			return e, nil
		}
	}
}

// open is platform.OpenDir, whose result after an error is no interface with a nil in it.
func open(name string) (platform.FS, error) {
	dir, err := platform.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return dir, nil
}

// Close closes what is open of the folders.
func (e *Elsewhere) Close() error {
	var all []error
	for _, one := range []io.Closer{e.Parent, e.Root, e.Above, e.busy} {
		if one != nil {
			all = append(all, one.Close())
		}
	}
	return errors.Join(all...)
}

// Look finds out what Adopt will do with the game's folder called name; see the function Look. It changes nothing.
func (e *Elsewhere) Look(name, resources, description string) (Plan, error) {
	p := Plan{Name: name, Resources: path.Clean(resources)}
	taken := !isEmpty(e.Root, p.Resources)
	info, err := e.Parent.Lstat(name)
	switch fault := checkFolder(e.Parent, name, info, err); {
	case e.Above != nil && e.Game == path.Join(e.Own, p.Resources):
		return p, fmt.Errorf("%s %w", e.Parent.Path(name), ErrInstalled)
	case taken: // also if the folder is not there any more, because an earlier call has moved it
		return p, fmt.Errorf("this client has files of the game already, in %s; start it, or move that folder elsewhere first", e.Root.Path(p.Resources))
	case fault != nil:
		return p, fault
	}
	p.Resumed = exists(e.Root, p.Resources+partial)
	return p, p.look(e.Parent, description)
}

// isEmpty reports whether a folder is not there, or has nothing in it.
func isEmpty(fsys platform.FS, name string) bool {
	entries, err := fsys.ReadDir(name)
	return errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0
}

// Adopt does what Look has planned. files are those of the client that the writable root needs. After an error the game's folder is as it
// was; or all its files are in the writable root, and the client starts with them.
func (e *Elsewhere) Adopt(ctx context.Context, p Plan, files []File) error {
	above := path.Dir(p.Resources)
	if err := e.Root.MkdirAll(above, 0o755); err != nil {
		return err
	}
	if err := e.move(p); errors.Is(err, errOtherVolume) {
		if err := e.copy(ctx, p); err != nil {
			return fmt.Errorf("copy the game's folder: %w", err)
		}
	} else if err != nil {
		return fmt.Errorf("move the game's folder, which needs that no program uses it: %w", err)
	}
	for ; ; above = path.Dir(above) {
		if err := e.Root.SyncDir(above); err != nil {
			return err
		}
		if above == "." {
			break
		}
	}
	for _, f := range files {
		if err := f.copyTo(e.Root, f.Name); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return e.Root.SyncDir(".")
}

var errOtherVolume = errors.New("on another volume")

// move renames the game's folder. The error is errOtherVolume if it can't, and nothing has changed.
func (e *Elsewhere) move(p Plan) error {
	if e.Above == nil {
		return errOtherVolume
	}
	if err := platform.RemoveIfThere(e.Root, p.Resources); err != nil { // it is empty
		return err
	}
	err := e.Above.Rename(e.Game, path.Join(e.Own, p.Resources))
	if platform.IsCrossDevice(err) {
		return errOtherVolume
	}
	if err == nil {
		err = e.Parent.SyncDir(".")
	}
	return err
}

// copy copies the game's folder under another name first, so that one of its name is whole. A folder that a stop left there is filled.
func (e *Elsewhere) copy(ctx context.Context, p Plan) error {
	if free, err := e.Root.Free(); err == nil && free < uint64(p.Bytes) {
		return fmt.Errorf("%s has room for %d MB, and the game has %d MB", e.Root.Path("."), free/1e6, p.Bytes/1e6)
	}
	part := p.Resources + partial
	if err := platform.CopyTree(ctx, e.Parent, p.Name, e.Root, part); err != nil {
		return err
	}
	if err := platform.RemoveIfThere(e.Root, p.Resources); err != nil { // it is empty
		return err
	}
	return e.Root.Rename(part, p.Resources)
}
