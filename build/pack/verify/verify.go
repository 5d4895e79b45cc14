// Package verify finds the first difference of two artefacts, or of two folders of them, and says where it is: in which file,
// in which member of an archive or installer, in which section of a program, at which byte.
//
// It looks into zip, tar, gzip, zstd, deb (ar), rpm (headers by their tags, cpio payload) and programs (PE, ELF), and into what lies in
// those, up to maxDepth. What it can't look into, it compares as bytes. Members come in the order in which they stand in the
// file, but what holds digests of others comes after them. Two archives can hold the same and still differ, for example in how it was compressed; the place is then the archive's own.
//
// Nothing is changed. What is unpacked lies in a temporary folder until Compare returns.
package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxDepth is how deep archives may lie in each other: an installer, its data, a compressed tar, a pack, a program.
	maxDepth = 12
	// maxMember is the largest unpacked member in bytes that is looked at; what is larger is a bomb or no package.
	maxMember = 64 << 30
	// maxMembers is how many members of one archive are looked at.
	maxMembers = 1 << 20
	// blockSize is how many bytes are compared at a time.
	blockSize = 1 << 20
	// inMemory is up to which size a member is unpacked into memory.
	inMemory = 8 << 20
)

// Difference is where two artefacts differ first.
type Difference struct {
	Place  []string // from the outside to the inside: file, member, section
	What   string   // which property differs; empty where the bytes do
	Offset int64    // of the first other byte in the innermost place
	A, B   string   // what stands there: the byte, the property's value, or nothing where one of them ends
}

// String is the difference in one line.
func (d Difference) String() string {
	what := d.What
	if what == "" {
		what = fmt.Sprintf("byte %d (%#x)", d.Offset, d.Offset)
	}
	return fmt.Sprintf("%s: %s: %s and %s", strings.Join(d.Place, ": "), what, d.A, d.B)
}

// Compare finds the first difference of two files or two folders; nil is that there is none.
func Compare(ctx context.Context, a, b string) (d *Difference, err error) {
	dir, err := os.MkdirTemp("", "collet-verify-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c := &comparer{ctx: ctx, dir: dir}
	folders, err := bothFolders(a, b)
	if err != nil {
		return nil, err
	}
	if folders {
		return c.folders(a, b)
	}
	return c.files([]string{filepath.Base(a)}, a, b)
}

func bothFolders(a, b string) (bool, error) {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	switch {
	case errA != nil || errB != nil:
		return false, errors.Join(errA, errB)
	case x.IsDir() != y.IsDir():
		return false, fmt.Errorf("one of %s and %s is a folder; give two files or two folders", a, b)
	}
	return x.IsDir(), nil
}

type comparer struct {
	ctx context.Context
	dir string // of what is unpacked
}

// folders compares all files of two folders in the order of their names.
func (c *comparer) folders(a, b string) (*Difference, error) {
	inA, errA := list(a)
	inB, errB := list(b)
	if err := errors.Join(errA, errB); err != nil {
		return nil, err
	}
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(inA, inB))))
	for _, name := range all {
		_, there := slices.BinarySearch(inA, name)
		_, here := slices.BinarySearch(inB, name)
		if !there || !here {
			return &Difference{Place: []string{name}, What: "file", A: presence(there), B: presence(here)}, nil
		}
		d, err := c.files([]string{name}, filepath.Join(a, filepath.FromSlash(name)), filepath.Join(b, filepath.FromSlash(name)))
		if d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil
}

func presence(there bool) string {
	if there {
		return "there"
	}
	return "missing"
}

// list has the files and links below a folder, sorted.
func list(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		names = append(names, filepath.ToSlash(rel))
		return err
	})
	slices.Sort(names)
	return names, err
}

// files compares two files, or two links by where they lead.
func (c *comparer) files(place []string, a, b string) (d *Difference, err error) {
	if d, err := links(place, a, b); d != nil || err != nil {
		return d, err
	}
	x, err := open(a)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	y, err := open(b)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, y.close()) }()
	return c.contents(place, x.content, y.content)
}

func links(place []string, a, b string) (*Difference, error) {
	x, errA := os.Lstat(a)
	y, errB := os.Lstat(b)
	if err := errors.Join(errA, errB); err != nil {
		return nil, err
	}
	if x.Mode()&fs.ModeSymlink != y.Mode()&fs.ModeSymlink {
		return &Difference{Place: place, What: "kind", A: x.Mode().Type().String(), B: y.Mode().Type().String()}, nil
	}
	if x.Mode().Perm()&0o111 != y.Mode().Perm()&0o111 {
		return &Difference{Place: place, What: "permissions", A: x.Mode().Perm().String(), B: y.Mode().Perm().String()}, nil
	}
	if x.Mode()&fs.ModeSymlink == 0 {
		return nil, nil
	}
	toA, errA := os.Readlink(a)
	toB, errB := os.Readlink(b)
	if toA != toB {
		return &Difference{Place: place, What: "link", A: toA, B: toB}, nil
	}
	return nil, errors.Join(errA, errB)
}

// contents compares bytes, and looks into them where they differ.
func (c *comparer) contents(place []string, a, b content) (*Difference, error) {
	d, err := c.plain(place, a, b)
	if d == nil || err != nil || len(place) >= maxDepth {
		return d, err
	}
	deeper, err := c.inside(place, a, b)
	switch {
	case c.ctx.Err() != nil:
		return nil, c.ctx.Err()
	case deeper == nil || err != nil: // what only looks like an archive is compared as bytes
		return d, nil
	}
	return deeper, nil
}

// plain compares bytes.
func (c *comparer) plain(place []string, a, b content) (*Difference, error) {
	offset, same, err := c.firstByte(a, b)
	if same || err != nil {
		return nil, err
	}
	return &Difference{Place: place, Offset: offset, A: a.byteAt(offset), B: b.byteAt(offset)}, nil
}

// firstByte finds the first byte that differs, or the end of the shorter one.
func (c *comparer) firstByte(a, b content) (offset int64, same bool, err error) {
	x, y := make([]byte, blockSize), make([]byte, blockSize)
	for end := min(a.size, b.size); offset < end; offset += blockSize {
		if err := c.ctx.Err(); err != nil {
			return 0, false, err
		}
		n := int(min(blockSize, end-offset))
		if _, err := a.ReadAt(x[:n], offset); err != nil && err != io.EOF {
			return 0, false, err
		}
		if _, err := b.ReadAt(y[:n], offset); err != nil && err != io.EOF {
			return 0, false, err
		}
		if bytes.Equal(x[:n], y[:n]) {
			continue
		}
		for i := range n {
			if x[i] != y[i] {
				return offset + int64(i), false, nil
			}
		}
	}
	return min(a.size, b.size), a.size == b.size, nil
}
