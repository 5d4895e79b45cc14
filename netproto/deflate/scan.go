package deflate

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

const (
	// maxStreams is the largest number of streams in one file.
	maxStreams = 1 << 20
	// maxDirectory is the size of the largest directory of a zip archive in bytes. It is held in memory.
	maxDirectory = 64 << 20
	// maxRatio is by how much deflate can shrink at most. A stream that claims more is not expanded.
	maxRatio = 1032
	// maxGzipHeader is the size in bytes of the largest header of a gzip file that is searched for its end.
	maxGzipHeader = 64 << 10
)

// stream is where a file claims to have a deflate stream. Only inflating it shows whether that is so.
type stream struct {
	start int64 // in the file
	size  int64 // compressed
	plain int64 // inflated
}

// scan lists the streams that a file claims to have, in the order of their places. They don't overlap. r is the file, or a form of it in
// which some streams are inflated: size is that of r, fileSize that of the file, and inflated says which streams are; nil: none. Both give
// the same result, because the claims are outside of the streams. An odd archive has no streams. Errors are those of r.
func scan(r io.ReaderAt, size, fileSize int64, inflated func(stream int) bool) ([]stream, error) {
	if inflated == nil {
		inflated = func(int) bool { return false }
	}
	if fileSize < 18 || size < 18 {
		return nil, nil
	}
	var magic [3]byte
	if err := readAt(r, magic[:], 0); err != nil {
		return nil, err
	}
	if magic == [3]byte{0x1f, 0x8b, 8} {
		return scanGzip(r, size, fileSize)
	}
	return scanZip(r, size, fileSize, inflated)
}

// readAt fills b. A reader that ends before is io.ErrUnexpectedEOF.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// Flags of a gzip header (RFC 1952).
const (
	gzipChecked = 1 << 1
	gzipExtra   = 1 << 2
	gzipName    = 1 << 3
	gzipComment = 1 << 4
)

// scanGzip finds the stream of a gzip file with one member.
func scanGzip(r io.ReaderAt, size, fileSize int64) ([]stream, error) {
	head := make([]byte, min(size, maxGzipHeader))
	if err := readAt(r, head, 0); err != nil {
		return nil, err
	}
	var trailer [8]byte
	if err := readAt(r, trailer[:], size-8); err != nil {
		return nil, err
	}
	flags, at := head[3], 10
	if flags&gzipExtra != 0 {
		at += 2 + int(binary.LittleEndian.Uint16(head[10:]))
	}
	for _, text := range []byte{gzipName, gzipComment} {
		if flags&text != 0 && at < len(head) {
			n := bytes.IndexByte(head[at:], 0)
			if n < 0 {
				return nil, nil
			}
			at += n + 1
		}
	}
	if flags&gzipChecked != 0 {
		at += 2
	}
	s := stream{int64(at), fileSize - 8 - int64(at), int64(binary.LittleEndian.Uint32(trailer[4:]))}
	if at > len(head) || !s.plausible() {
		return nil, nil
	}
	return []stream{s}, nil
}

// plausible reports whether a stream can have these sizes.
func (s stream) plausible() bool {
	return s.size > 0 && s.plain > 0 && s.plain/maxRatio <= s.size
}

// Signatures and sizes of the records of a zip archive.
const (
	zipLocal       = 0x04034b50
	zipEntry       = 0x02014b50
	zipEnd         = 0x06054b50
	zip64End       = 0x06064b50
	zip64Locator   = 0x07064b50
	zipLocalSize   = 30
	zipEntrySize   = 46
	zipEndSize     = 22
	zip64EndSize   = 56
	zip64Place     = 20
	zipComment     = 1<<16 - 1
	zipEncrypted   = 1 << 0
	zipDeflated    = 8
	zip64Extra     = 1
	zip32Saturated = 1<<32 - 1
)

// zipDirectory is where the directory of a zip archive is.
type zipDirectory struct {
	data  []byte
	start int64 // in the file
	base  int64 // what is added to the offsets in it
}

// scanZip finds the streams of a zip archive by its directory. Bytes before the archive and between its entries are fine.
func scanZip(r io.ReaderAt, size, fileSize int64, inflated func(int) bool) ([]stream, error) {
	directory, err := readDirectory(r, size, fileSize)
	if err != nil || directory == nil {
		return nil, err
	}
	var list []stream
	end, shift := int64(0), int64(0) // of the last stream; of r against the file
	for _, e := range directory.entries() {
		var local [zipLocalSize]byte
		if e.start < end || e.start > directory.start-zipLocalSize {
			continue
		}
		if err := readAt(r, local[:], e.start+shift); err != nil {
			return nil, err
		}
		if binary.LittleEndian.Uint32(local[:]) != zipLocal {
			continue
		}
		e.start += zipLocalSize + int64(binary.LittleEndian.Uint16(local[26:])) + int64(binary.LittleEndian.Uint16(local[28:]))
		if e.size > directory.start-e.start {
			continue
		}
		if inflated(len(list)) {
			shift += e.plain - e.size
		}
		if list, end = append(list, e), e.start+e.size; len(list) > maxStreams {
			return nil, nil
		}
	}
	return list, nil
}

// readDirectory reads the directory; nil for a file without a directory.
func readDirectory(r io.ReaderAt, size, fileSize int64) (*zipDirectory, error) {
	tail := make([]byte, min(size, zipEndSize+zipComment+zip64Place+zip64EndSize))
	if err := readAt(r, tail, size-int64(len(tail))); err != nil {
		return nil, err
	}
	at := len(tail) - zipEndSize
	for ; at >= 0; at-- {
		if binary.LittleEndian.Uint32(tail[at:]) == zipEnd && int(binary.LittleEndian.Uint16(tail[at+20:])) <= len(tail)-at-zipEndSize {
			break
		}
	}
	if at < 0 {
		return nil, nil
	}
	bytes, offset := uint64(binary.LittleEndian.Uint32(tail[at+12:])), uint64(binary.LittleEndian.Uint32(tail[at+16:]))
	if place := at - zip64Place; place >= zip64EndSize && binary.LittleEndian.Uint32(tail[place:]) == zip64Locator {
		at = place - zip64EndSize
		if binary.LittleEndian.Uint32(tail[at:]) != zip64End {
			return nil, nil
		}
		bytes, offset = binary.LittleEndian.Uint64(tail[at+40:]), binary.LittleEndian.Uint64(tail[at+48:])
	}
	behind := int64(len(tail) - at) // bytes from the end of the directory to that of the file
	if behind > fileSize || bytes > maxDirectory || int64(bytes) > fileSize-behind || int64(bytes) > size-behind {
		return nil, nil
	}
	d := &zipDirectory{data: make([]byte, bytes), start: fileSize - behind - int64(bytes)}
	if offset > uint64(d.start) {
		return nil, nil
	}
	d.base = d.start - int64(offset)
	return d, readAt(r, d.data, size-behind-int64(bytes))
}

// entries are the deflated entries, in the order of their places. Their start is that of the local header.
func (d *zipDirectory) entries() (list []stream) {
	for b := d.data; len(b) >= zipEntrySize && binary.LittleEndian.Uint32(b) == zipEntry; {
		name, extra := int(binary.LittleEndian.Uint16(b[28:])), int(binary.LittleEndian.Uint16(b[30:]))
		whole := zipEntrySize + name + extra + int(binary.LittleEndian.Uint16(b[32:]))
		if whole > len(b) {
			break
		}
		e, err := d.entry(b, b[zipEntrySize+name:zipEntrySize+name+extra])
		deflated := binary.LittleEndian.Uint16(b[10:]) == zipDeflated && binary.LittleEndian.Uint16(b[8:])&zipEncrypted == 0
		if err == nil && deflated && e.plausible() {
			list = append(list, e)
		}
		b = b[whole:]
	}
	slices.SortStableFunc(list, func(a, b stream) int { return cmp.Compare(a.start, b.start) })
	return list
}

var errEntry = errors.New("an entry of the directory is malformed")

// entry reads one entry. Numbers of 32 bits that are too small are in the extra field.
func (d *zipDirectory) entry(b, extra []byte) (stream, error) {
	compressed, plain, offset := uint64(binary.LittleEndian.Uint32(b[20:])), uint64(binary.LittleEndian.Uint32(b[24:])), uint64(binary.LittleEndian.Uint32(b[42:]))
	var wide []byte
	for len(extra) >= 4 {
		n := 4 + int(binary.LittleEndian.Uint16(extra[2:]))
		if n > len(extra) {
			break
		}
		if binary.LittleEndian.Uint16(extra) == zip64Extra {
			wide = extra[4:n]
			break
		}
		extra = extra[n:]
	}
	for _, number := range []*uint64{&plain, &compressed, &offset} {
		if *number == zip32Saturated {
			if len(wide) < 8 {
				return stream{}, errEntry
			}
			*number, wide = binary.LittleEndian.Uint64(wide), wide[8:]
		}
	}
	const most = 1 << 50 // sums of these don't overflow
	if compressed > most || plain > most || offset > most {
		return stream{}, errEntry
	}
	return stream{d.base + int64(offset), int64(compressed), int64(plain)}, nil
}
