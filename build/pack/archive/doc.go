// Package archive writes the files of a bundle.Tree as a zip or as a tar, plain or compressed.
//
// The bytes of an archive depend only on the tree and the Options, not on the clock, the time zone, the user, the umask, the locale, or the
// order in which files are found. Entries are sorted by path, have one time, the permissions of the tree, and no owner (0/0 without names
// in a tar). Compressed bytes of a zip are those of zlib at level 6 (package deflate), so publishers and clients of releases can make them again.
// Those of a tar also depend on the version of the compression library, which go.mod pins. The standard library's is not used, because it
// would change them with the toolchain.
//
// A zip stores files unless Options.Deflate is set: stored files have the same chunks in every release, so that updates stay small. Sizes
// and checksums of stored files precede the data, so that the zip can be read sequentially. Zip64 is used only where a number needs it.
// Names are UTF-8. A tar is ustar; only entries that do not fit (long names, 8 GiB) have a PAX header.
//
// Files are streamed, so archives of many gigabytes take little memory. An archive is written whole or not at all: it is written under a
// temporary name beside its own and renamed at the end. After an error or an interrupt the previous file remains.
package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"collet/build/pack/bundle"
)

// Epoch is 1 January 1980, the earliest time of a zip entry. It is the time of entries that must not differ between releases.
var Epoch = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// Options are the properties of an archive beside its files. The zero value is right for resource packs.
type Options struct {
	Time     time.Time   // of every entry, in whole seconds; zero is Epoch. A zip stores even seconds from 1980 to 2107
	Deflate  bool        // compress in a zip
	Progress func(int64) // called with the number of further file bytes written, by the writing goroutine; may be nil
}

func (o Options) time() time.Time {
	if o.Time.IsZero() {
		return Epoch
	}
	return o.Time.UTC().Truncate(time.Second)
}

// copyBuffer is the read size in bytes, large enough that the cost of system calls is negligible.
const copyBuffer = 1 << 20

// File writes a file whole or not at all. write gets a temporary file beside out, which is renamed to out on success and removed otherwise.
// A previous file stays until then. The new file is readable by all users, regardless of the umask.
func File(ctx context.Context, out string, write func(*os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(out), "."+filepath.Base(out)+".*.part")
	if err != nil {
		return fmt.Errorf("make %s: %w", out, err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name()) // incomplete; its error is returned already
			err = fmt.Errorf("write %s: %w", out, err)
		}
	}()
	err = write(f)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), out)
}

// copier copies the files of one archive.
type copier struct {
	ctx  context.Context
	tell func(int64)
	buf  []byte
}

func newCopier(ctx context.Context, o Options) *copier {
	c := &copier{ctx, o.Progress, make([]byte, copyBuffer)}
	if c.tell == nil {
		c.tell = func(int64) {}
	}
	return c
}

// copy copies exactly size bytes, and stops when the context ends.
func (c *copier) copy(to io.Writer, e bundle.Entry, from io.Reader, size int64) error {
	sum := int64(0)
	for {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		n, err := from.Read(c.buf)
		sum += int64(n)
		if sum > size {
			return changed(e)
		}
		if _, err := to.Write(c.buf[:n]); err != nil {
			return err
		}
		c.tell(int64(n))
		switch {
		case err == io.EOF && sum < size:
			return changed(e)
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("read %s for %s: %w", e.From, e.Path, err)
		}
	}
}

func changed(e bundle.Entry) error {
	return fmt.Errorf("%s changed while it was packed as %s; pack when nothing writes there", e.From, e.Path)
}

// content returns an entry's content and its length in bytes.
func content(e bundle.Entry) (io.ReadCloser, int64, error) {
	in, size, err := e.Open()
	if err != nil {
		return nil, 0, fmt.Errorf("open %s: %w", e.Path, err)
	}
	return in, size, nil
}
