package platform

import "io"

// CopyRange copies n bytes of src to dst, both at offset off, and moves the positions of both files. On Linux it is
// copy_file_range(2) between two files of a Dir: file systems that can share blocks (btrfs, XFS) copy nothing then, and
// others copy within the kernel. Elsewhere, and where the system call refuses, the bytes go through memory. It is
// io.ErrUnexpectedEOF if src is shorter.
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
