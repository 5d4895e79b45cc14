package catalogue

import (
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"collet/platform"
)

// maxHandles is how many files of one catalogue stay open. Others are opened for each portion. Together with the previous
// catalogue, which old connections still use, that is a quarter of the 8192 descriptors that small systems allow.
const maxHandles = 1024

// keepsHandles is false on systems on which an open file can't be replaced, because open files would prevent publishing.
const keepsHandles = runtime.GOOS != "windows"

// holders counts the users of a catalogue: the server that offers it, and every connection that was greeted with it. The last
// Release closes the files.
type holders struct {
	count   atomic.Int64
	retired atomic.Bool // the owner has released it
}

// Hold adds a holder. It fails if the files are already closed.
func (c *Catalogue) Hold() bool {
	for {
		n := c.held.count.Load()
		if n == 0 {
			return false
		}
		if c.held.count.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release removes a holder.
func (c *Catalogue) Release() {
	if c.held.count.Add(-1) == 0 {
		closeFiles(c.files, c.folder)
		c.folder.close()
	}
}

// Close removes the owner as a holder. The files are closed after the last Release.
func (c *Catalogue) Close() {
	if !c.held.retired.Swap(true) {
		c.Release()
	}
}

// keepOpen keeps in open for later portions, if there is room, and reports whether it did.
func (f *File) keepOpen(in *os.File, position int) bool {
	if !keepsHandles || f.InMemory || position >= maxHandles {
		return false
	}
	f.in = in
	return true
}

// closeFiles closes files, and drops those that were unpacked from the cache of their release folder.
func closeFiles(files []*File, folder *Folder) {
	for _, f := range files {
		if f.in != nil {
			f.in.Close()
		}
		if f.unpacked {
			folder.trust.cache.dropBlob(f.plain)
		}
	}
}

// CheckUnchanged verifies that in, of which a portion has just been read, is the hashed file. The file now at its path does not matter: a
// publisher renames the next release's files into place before a reload, and clients of this catalogue continue with the open
// ones.
func (f *File) CheckUnchanged(in *os.File) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if now := platform.IdentityOf(info); !sameFile(f.identity, now) {
		return &ChangedError{path: f.Path, was: f.identity, is: now}
	}
	f.seen.Store(time.Now().UnixNano())
	return nil
}

// Handles is the largest number of files that the catalogue keeps open.
func (c *Catalogue) Handles() int {
	if !keepsHandles || c.storage != "disk" {
		return 0
	}
	return min(len(c.files), maxHandles)
}
