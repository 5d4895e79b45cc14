package platform

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// CopyRange copies n bytes of src to dst, both at offset off, and moves the positions of both files. On Linux it uses
// copy_file_range(2) between two files of a Dir: file systems with shared blocks (btrfs, XFS) copy no data then, others copy within the
// kernel. On other systems, or if the call is refused, the bytes are copied through memory. The error is io.ErrUnexpectedEOF if src is
// shorter.
func CopyRange(dst, src File, off, n int64) error {
	if _, err := src.Seek(off, io.SeekStart); err != nil {
		return err
	}
	if _, err := dst.Seek(off, io.SeekStart); err != nil {
		return err
	}
	copied, err := io.CopyN(dst, src, n)
	if err == io.EOF && copied < n {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// WriteFrom writes all bytes of a reader to a new file, or over an old one, and syncs it. perm is for a new file. It does not sync the name,
// and an error leaves an incomplete file: callers write under a temporary name and rename it.
func WriteFrom(fsys FS, name string, from io.Reader, perm fs.FileMode) error {
	out, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}
