// Package verify finds the first difference of two artefacts, or of two folders of them, and reports its place: the file, the member of an
// archive or installer, the section of a program, the byte.
//
// It looks into zip, tar, gzip, zstd, deb (ar), rpm (headers by their tags, cpio payload) and programs (PE, ELF), and into nested ones, up
// to maxDepth. Other content is compared as bytes. Members are compared in the file's order, but members with digests of others come last.
// Two archives with equal content can still differ, for example in compression; the place is then the archive itself.
//
// Files are not changed. Unpacked members lie in a temporary folder until Compare returns.
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
	// maxDepth limits the nesting of archives: an installer, its data, a compressed tar, a pack, a program.
	maxDepth = 12
	// maxMember limits an unpacked member in bytes; a larger one is a decompression bomb or not a package.
	maxMember = 64 << 30
	// maxMembers limits the members of one archive.
	maxMembers = 1 << 20
	// blockSize is how many bytes are compared at a time.
	blockSize = 1 << 20
	// inMemory is the largest member in bytes that is unpacked into memory.
	inMemory = 8 << 20
)

// Difference is the first difference of two artefacts.
type Difference struct {
	Place  []string // from the outside to the inside: file, member, section
	What   string   // the differing property; empty if the content differs
	Offset int64    // of the first differing byte in the innermost place
	A, B   string   // the values: the byte or the property's value; empty at the end of the shorter one
}

// String formats the difference on one line.
func (d Difference) String() string {
	what := d.What
	if what == "" {
		what = fmt.Sprintf("byte %d (%#x)", d.Offset, d.Offset)
	}
	return fmt.Sprintf("%s: %s: %s and %s", strings.Join(d.Place, ": "), what, d.A, d.B)
}

// Compare finds the first difference of two files or two folders; nil if they are equal.
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
	dir string // folder of unpacked members
}

// folders compares all files of two folders in order of name.
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

// list returns the files and links below a folder, sorted.
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

// files compares two files, or the targets of two links.
func (c *comparer) files(place []string, a, b string) (d *Difference, err error) {
	if d, err := links(place, a, b); d != nil || err != nil {
		return d, err
	}
	x, err := openContent(a)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	y, err := openContent(b)
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

// contents compares bytes, and looks into them if they differ.
func (c *comparer) contents(place []string, a, b content) (*Difference, error) {
	d, err := c.plain(place, a, b)
	if d == nil || err != nil || len(place) >= maxDepth {
		return d, err
	}
	deeper, err := c.inside(place, a, b)
	switch {
	case c.ctx.Err() != nil:
		return nil, c.ctx.Err()
	case deeper == nil || err != nil: // content that only resembles an archive is compared as bytes
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

// firstByte finds the first differing byte, or the end of the shorter content.
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
