package operator

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// bbolt trusts its file. It reads all pages while it opens one, in a goroutine whose panics no caller can recover: invalid or
// circular page references end the process or fill the memory (docs/ARCHITECTURE.md has the measurement). So the tree of pages is
// checked before the file is opened, by the layout of version 2 of the format:
//
//	page    u64 id, u16 flags, u16 count, u32 pages that follow, then elements
//	branch  u32 where the key is, u32 its size, u64 page
//	leaf    u32 flags, u32 where key and value are, u32 and u32 their sizes; flag 1: the value is a bucket
//	bucket  u64 root page, u64 sequence; root 0: a page follows in place
//	meta    u32 magic, u32 version, u32 page size, u32 flags, bucket, u64 free list, u64 pages, u64 transaction, u64 FNV-1a of it
const (
	walkHead    = 16
	walkElement = 16
	walkMeta    = 64
	walkMagic   = 0xED0CDAED
	walkVersion = 2
	walkBranch  = 0x01
	walkLeaf    = 0x02
	walkBucket  = 0x01
	// leastPage and maxPage are the smallest and largest page size on any system.
	leastPage = 1 << 10
	maxPage   = 64 << 10
	// maxRun is the largest size of one node's pages in bytes, far above a document with its record.
	maxRun = 64 << 20
)

// walker walks the pages of one file.
type walker struct {
	in    io.ReaderAt
	size  int64 // of a page
	pages uint64
	seen  map[uint64]bool
}

// walkFile returns an error for a file that bbolt can't read. A missing or empty one is no error.
func walkFile(path string) error {
	in, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	w, root, err := newWalker(in, info.Size())
	if err != nil {
		return err
	}
	return w.checkNode(root)
}

// newWalker reads the newest valid meta page. There are two; the second follows the first page, whose size is not known yet.
func newWalker(in io.ReaderAt, size int64) (w *walker, root uint64, err error) {
	newest := uint64(0)
	head := make([]byte, walkHead+walkMeta)
	for at := int64(0); at <= maxPage; at = max(2*at, leastPage) {
		if _, err := in.ReadAt(head, at); err != nil {
			break // the file ends here
		}
		m := head[walkHead:]
		page, txid := int64(binary.LittleEndian.Uint32(m[8:])), binary.LittleEndian.Uint64(m[48:])
		if !goodMeta(m) || at != 0 && at != page || w != nil && txid <= newest {
			continue
		}
		newest, root = txid, binary.LittleEndian.Uint64(m[16:])
		w = &walker{in: in, size: page, pages: binary.LittleEndian.Uint64(m[40:]), seen: map[uint64]bool{}}
	}
	switch {
	case w == nil:
		return nil, 0, errors.New("is no store, or its beginning is damaged")
	case w.size < leastPage || w.size > maxPage || w.pages > uint64(size/w.size):
		return nil, 0, fmt.Errorf("has %d bytes where there should be %d pages of %d", size, w.pages, w.size)
	}
	return w, root, nil
}

// goodMeta reports whether a meta page is valid.
func goodMeta(m []byte) bool {
	sum := fnv.New64a()
	sum.Write(m[:walkMeta-8])
	return binary.LittleEndian.Uint32(m) == walkMagic && binary.LittleEndian.Uint32(m[4:]) == walkVersion && sum.Sum64() == binary.LittleEndian.Uint64(m[walkMeta-8:])
}

// checkNode checks a page with its overflow pages, and everything below.
func (w *walker) checkNode(id uint64) error {
	head := make([]byte, walkHead)
	if err := w.claimPage(id, 0); err != nil {
		return err
	}
	if _, err := w.in.ReadAt(head, int64(id)*w.size); err != nil {
		return err
	}
	more := uint64(binary.LittleEndian.Uint32(head[12:]))
	if binary.LittleEndian.Uint64(head) != id || int64(more+1)*w.size > maxRun || id+more >= w.pages {
		return fmt.Errorf("page %d is damaged", id)
	}
	for n := uint64(1); n <= more; n++ {
		if err := w.claimPage(id+n, id); err != nil {
			return err
		}
	}
	run := make([]byte, int64(more+1)*w.size)
	if _, err := w.in.ReadAt(run, int64(id)*w.size); err != nil {
		return err
	}
	return w.checkElements(run, id)
}

// claimPage marks a page as used; a second use is an error.
func (w *walker) claimPage(id, by uint64) error {
	if id < 2 || id >= w.pages || w.seen[id] {
		return fmt.Errorf("page %d is used twice or is none, as seen from page %d", id, by)
	}
	w.seen[id] = true
	return nil
}

// checkElements checks the elements of a node, or of an inline bucket.
func (w *walker) checkElements(run []byte, id uint64) error {
	if len(run) < walkHead {
		return fmt.Errorf("page %d has a bucket that is cut short", id)
	}
	flags, count := binary.LittleEndian.Uint16(run[8:]), int(binary.LittleEndian.Uint16(run[10:]))
	if flags != walkBranch && flags != walkLeaf || walkHead+count*walkElement > len(run) || flags == walkBranch && count == 0 {
		return fmt.Errorf("page %d is neither a branch nor a leaf", id)
	}
	var before []byte
	for i := range count {
		at := walkHead + i*walkElement
		e := run[at : at+walkElement]
		pos, keySize, valueSize := uint64(binary.LittleEndian.Uint32(e)), uint64(binary.LittleEndian.Uint32(e[4:])), uint64(0)
		if flags == walkLeaf {
			pos, keySize, valueSize = keySize, uint64(binary.LittleEndian.Uint32(e[8:])), uint64(binary.LittleEndian.Uint32(e[12:]))
		}
		from := uint64(at) + pos
		if from+keySize+valueSize > uint64(len(run)) || keySize == 0 {
			return fmt.Errorf("page %d has an element that is elsewhere", id)
		}
		key := run[from : from+keySize]
		if before != nil && bytes.Compare(before, key) >= 0 {
			return fmt.Errorf("page %d is out of order", id)
		}
		before = key
		if err := w.checkBelow(flags, e, run[from+keySize:from+keySize+valueSize], id); err != nil {
			return err
		}
	}
	return nil
}

// checkBelow checks the page or bucket of an element.
func (w *walker) checkBelow(flags uint16, e, value []byte, id uint64) error {
	switch {
	case flags == walkBranch:
		return w.checkNode(binary.LittleEndian.Uint64(e[8:]))
	case binary.LittleEndian.Uint32(e)&walkBucket == 0:
		return nil
	case len(value) < 16:
		return fmt.Errorf("page %d has a bucket that is cut short", id)
	}
	if root := binary.LittleEndian.Uint64(value); root != 0 {
		return w.checkNode(root)
	}
	return w.checkElements(value[16:], id)
}
