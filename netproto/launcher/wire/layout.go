package wire

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/minio/sha256-simd"
)

// Layout is the content of a tree at one moment. It is immutable and safe for concurrent use. The zero value is the
// layout of an empty folder.
type Layout struct {
	files  []File // sorted by path, each path once
	once   sync.Once
	digest Hash
}

// NewLayout makes a layout of files in any order. It takes ownership of the slice. The last of several files with the same path counts.
func NewLayout(files []File) *Layout {
	slices.SortStableFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	kept := files[:0]
	for i, f := range files {
		if i+1 == len(files) || files[i+1].Path != f.Path {
			kept = append(kept, f)
		}
	}
	return &Layout{files: kept}
}

// Files returns the files sorted by path. The slice must not be changed.
func (l *Layout) Files() []File { return l.files }

// Bytes is the size of all files together.
func (l *Layout) Bytes() (sum uint64) {
	for _, f := range l.files {
		sum += f.Size
	}
	return sum
}

// Find returns the file of a path.
func (l *Layout) Find(path string) (File, bool) {
	i, found := slices.BinarySearchFunc(l.files, path, func(f File, path string) int { return strings.Compare(f.Path, path) })
	if !found {
		return File{}, false
	}
	return l.files[i], true
}

// Digest is the SHA-256 over all files in order: path, a zero byte, size as 8 bytes little endian, hash. Equal digests mean equal layouts.
func (l *Layout) Digest() Hash {
	l.once.Do(func() {
		d := sha256.New()
		var buf []byte
		for _, f := range l.files {
			buf = append(append(buf[:0], f.Path...), 0)
			buf = binary.LittleEndian.AppendUint64(buf, f.Size)
			d.Write(append(buf, f.Hash[:]...))
		}
		d.Sum(l.digest[:0])
	})
	return l.digest
}

// Since returns the difference from base to this layout: the paths that were removed, and the files that are new or
// changed. Both are sorted.
func (l *Layout) Since(base *Layout) (removed []string, changed []File) {
	old := base.files
	for _, f := range l.files {
		for len(old) > 0 && old[0].Path < f.Path {
			removed = append(removed, old[0].Path)
			old = old[1:]
		}
		same := len(old) > 0 && old[0].Path == f.Path
		if !same || old[0] != f {
			changed = append(changed, f)
		}
		if same {
			old = old[1:]
		}
	}
	for _, f := range old {
		removed = append(removed, f.Path)
	}
	return removed, changed
}

// With returns the layout without the removed paths, and with files added or replaced by path.
func (l *Layout) With(removed []string, files []File) *Layout {
	gone := make(map[string]bool, len(removed))
	for _, path := range removed {
		gone[path] = true
	}
	all := make([]File, 0, len(l.files)+len(files))
	for _, f := range l.files {
		if !gone[f.Path] {
			all = append(all, f)
		}
	}
	return NewLayout(append(all, files...))
}

// BlockCount is how many blocks a file of size bytes has. An empty file has one, of no bytes.
func BlockCount(size uint64, blockSize uint64) uint64 {
	if size == 0 {
		return 1
	}
	return (size-1)/blockSize + 1
}
