// Package archive writes the files of a bundle.Tree as a zip or as a tar, plain or compressed.
//
// The bytes of an archive depend on the tree and the Options and on nothing else: not on the clock, the time zone, the user,
// the umask, the locale, or the order in which files are found. Entries are sorted by their path, have one time, the permissions
// of the tree, and no owner (0/0 without names in a tar). Compressed bytes also depend on the version of the compressing
// library, which go.mod pins; the toolchain's own is not used, because it would change them with the toolchain.
//
// A zip stores files unless Options.Deflate says otherwise: what is stored has the same chunks in every release, so that
// updates stay small, and it has sizes and checksums in front of the data, so that a simple reader can go through it from the
// beginning. Zip64 is used where a number needs it and nowhere else. Names are UTF-8. A tar is ustar; only entries that this can't
// say (long names, 8 GiB) have a PAX header.
//
// Files are read as they are written out, so archives of many gigabytes take little memory. An archive is written whole or
// not at all: it grows under another name beside its own, which it gets at the end, and which an error or an interrupt leaves alone.
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

// Epoch is 1 January 1980, the first moment that a zip can say. What must not differ between releases has it.
var Epoch = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// Options is what archives have beside files. The zero value is right for resource packs.
type Options struct {
	Time     time.Time   // of every entry, in whole seconds; zero is Epoch. A zip says even seconds from 1980 to 2107
	Deflate  bool        // compress in a zip
	Progress func(int64) // told how many more bytes of files were written, between other calls of the same writer; may be nil
}

func (o Options) time() time.Time {
	if o.Time.IsZero() {
		return Epoch
	}
	return o.Time.UTC().Truncate(time.Second)
}

// copyBuffer is how many bytes are read at a time: enough that the system's calls don't count.
const copyBuffer = 1 << 20

// File writes a file whole or not at all: write gets a file beside out, which takes the name out when everything went well, and
// is removed otherwise. What was called out before stays until then. Everybody may read the new file, whatever the umask.
func File(ctx context.Context, out string, write func(*os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(out), "."+filepath.Base(out)+".*.part")
	if err != nil {
		return fmt.Errorf("make %s: %w", out, err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name()) // what it holds is worth nothing, and why it does is told already
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

// copy takes exactly size bytes, and stops when the context ends.
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

// content is the number of bytes of an entry, and the bytes.
func content(e bundle.Entry) (io.ReadCloser, int64, error) {
	in, size, err := e.Open()
	if err != nil {
		return nil, 0, fmt.Errorf("open %s: %w", e.Path, err)
	}
	return in, size, nil
}
