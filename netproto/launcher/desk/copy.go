package desk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"collet/netproto/launcher/tree"
	"collet/platform"
)

var (
	_ tree.Files = platform.FS(nil)
	_ tree.Files = (*workingCopy)(nil)
)

// workingCopy is the folder of a desk: whichever folder is at its path now. Developers rebuild or replace a working copy
// while it is served. Use openWorkingCopy. It is safe for concurrent use.
type workingCopy struct {
	path string

	mu  sync.RWMutex
	dir *platform.Dir
}

func openWorkingCopy(path string) (*workingCopy, error) {
	dir, err := platform.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return &workingCopy{path: dir.Path("."), dir: dir}, nil
}

// follow opens the folder anew if another one is at the path now. After an error the folder that was open stays open.
func (w *workingCopy) follow() error {
	dir, err := platform.OpenDir(w.path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the working copy %q is gone: put it back, and push again: %w", w.path, err)
	}
	if err != nil {
		return fmt.Errorf("the working copy can't be opened: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if sameFolder(w.dir, dir) {
		return dir.Close()
	}
	old := w.dir
	w.dir = dir
	return old.Close()
}

// sameFolder reports whether both are the same folder.
func sameFolder(a, b *platform.Dir) bool {
	one, errA := a.Stat(".")
	other, errB := b.Stat(".")
	return errA == nil && errB == nil && os.SameFile(one, other)
}

// now is the folder that is open. It is for comparing only; it may be closed at any time.
func (w *workingCopy) now() *platform.Dir {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.dir
}

// OpenFile implements tree.Files.
func (w *workingCopy) OpenFile(name string, flag int, perm fs.FileMode) (platform.File, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.dir.OpenFile(name, flag, perm)
}

// ReadDir implements tree.Files.
func (w *workingCopy) ReadDir(name string) ([]fs.DirEntry, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.dir.ReadDir(name)
}

// Stat implements tree.Files.
func (w *workingCopy) Stat(name string) (fs.FileInfo, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.dir.Stat(name)
}

// Lstat implements tree.Files.
func (w *workingCopy) Lstat(name string) (fs.FileInfo, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.dir.Lstat(name)
}

// readFile reads a whole file, see platform.ReadFile.
func (w *workingCopy) readFile(name string, limit int64) ([]byte, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return platform.ReadFile(w.dir, name, limit)
}

// Path is the full path of a name.
func (w *workingCopy) Path(name string) string {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.dir.Path(name)
}

// Close closes the folder.
func (w *workingCopy) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dir.Close()
}
