package catalogue

import (
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"collet/platform"
)

// maxHandles is how many files of one catalogue are kept open. Others are opened for each portion. With the catalogue
// before it, which its last client still uses, that is a quarter of the 8192 descriptors that small systems allow.
const maxHandles = 1024

// keepsHandles is false where an open file can't be replaced, which would keep releases from being published.
const keepsHandles = runtime.GOOS != "windows"

// holders counts who uses a catalogue: the server that offers it, and every connection that was greeted with it. The last
// one to let go closes the files.
type holders struct {
	count   atomic.Int64
	retired atomic.Bool // the server offers another one
}

// Hold counts one more holder. It fails if the last one has let go.
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

// Release is a holder's end.
func (c *Catalogue) Release() {
	if c.held.count.Add(-1) == 0 {
		c.close()
	}
}

// Close ends the hold of the owner. The files are closed when the last holder has let go.
func (c *Catalogue) Close() {
	if !c.held.retired.Swap(true) {
		c.Release()
	}
}

// close closes all files.
func (c *Catalogue) close() {
	c.closeFiles()
	c.folder.close()
}

// closeFiles closes the offered files, and gives up those that were unpacked for this catalogue.
func (c *Catalogue) closeFiles() {
	for _, f := range c.files {
		if f.in != nil {
			f.in.Close()
		}
		if f.unpacked {
			c.folder.trust.cache.drop(f.plain)
		}
	}
}

// keep leaves in open for the portions to come, if there is room for it, and reports whether it did.
func (f *File) keep(in *os.File, position int) bool {
	if !keepsHandles || f.InMemory || position >= maxHandles {
		return false
	}
	f.in = in
	return true
}

// closeAll is for files that no catalogue came to hold.
func closeAll(files []*File) { (&Catalogue{files: files}).close() }

// Check makes sure that in, of which a portion has just been read, is the file that was announced. What lies under its name
// by now does not matter: a publisher renames the next release's files into place before the server is told, and clients of
// this catalogue go on with what is open.
func (f *File) Check(in *os.File) error {
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

// Handles is how many files the catalogue keeps open at most.
func (c *Catalogue) Handles() int {
	if !keepsHandles || c.storage != "disk" {
		return 0
	}
	return min(len(c.files), maxHandles)
}
