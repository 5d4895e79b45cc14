package platform

import "io"

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
