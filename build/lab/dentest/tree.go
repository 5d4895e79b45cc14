package dentest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"collet/netproto/launcher/wire"
)

// Scan lists and hashes all regular files below root, hidden ones too, links followed, sorted by path.
func Scan(root string) (all []wire.File, err error) {
	err = scan(root, "", func(name string, data io.Reader, size int64) error {
		sum := sha256.New()
		if _, err := io.Copy(sum, data); err != nil {
			return err
		}
		all = append(all, wire.File{Path: name, Size: uint64(size), Hash: wire.Hash(sum.Sum(nil))})
		return nil
	})
	slices.SortFunc(all, func(a, b wire.File) int { return strings.Compare(a.Path, b.Path) })
	return all, err
}

func scan(root, below string, visit func(name string, data io.Reader, size int64) error) error {
	entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(below)))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(below, entry.Name())
		full := filepath.Join(root, filepath.FromSlash(name))
		info, err := os.Stat(full)
		switch {
		case err != nil:
			return err
		case info.IsDir():
			err = scan(root, name, visit)
		case info.Mode().IsRegular():
			err = visitFile(full, name, info.Size(), visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func visitFile(full, name string, size int64, visit func(string, io.Reader, int64) error) error {
	f, err := os.Open(full)
	if err != nil {
		return err
	}
	defer f.Close()
	return visit(name, f, size)
}

// BlockHashes are the hashes of the blocks in order; an empty file has one block of nothing.
func BlockHashes(data []byte, blockSize int) (all []wire.Hash) {
	for block := range slices.Chunk(data, blockSize) {
		all = append(all, wire.HashOf(block))
	}
	if len(data) == 0 {
		all = append(all, wire.HashOf(nil))
	}
	return all
}

// safePath reports whether a path is a clean relative one.
func safePath(p string) bool {
	return fs.ValidPath(p) && p != "." && !strings.ContainsAny(p, "\\\x00") && !(len(p) > 1 && p[1] == ':')
}

// SameTrees compares two folders byte by byte and names the first few differences. Empty folders don't count, the
// protocol doesn't know them. What lies in a top-level folder of one of the names in except doesn't count either.
func SameTrees(want, got string, except ...string) error {
	a, err := contents(want, except)
	if err != nil {
		return err
	}
	b, err := contents(got, except)
	if err != nil {
		return err
	}
	var faults []string
	for name, sum := range a {
		if other, there := b[name]; !there {
			faults = append(faults, fmt.Sprintf("%q is missing", name))
		} else if other != sum {
			faults = append(faults, fmt.Sprintf("%q differs", name))
		}
	}
	for name := range b {
		if _, there := a[name]; !there {
			faults = append(faults, fmt.Sprintf("%q is too much", name))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	slices.Sort(faults)
	return fmt.Errorf("%d differences: %s", len(faults), strings.Join(faults[:min(len(faults), 8)], ", "))
}

func contents(root string, except []string) (map[string]wire.Hash, error) {
	all, err := Scan(root)
	byName := map[string]wire.Hash{}
	for _, f := range all {
		if top, _, below := strings.Cut(f.Path, "/"); !below || !slices.Contains(except, top) {
			byName[f.Path] = f.Hash
		}
	}
	return byName, err
}

// WriteTree writes files by their slash paths below root.
func WriteTree(root string, tree map[string][]byte) error {
	for name, data := range tree {
		full := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(full, data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// Noise is n bytes that don't compress, the same for the same seed.
func Noise(seed uint64, n int) []byte {
	var key [32]byte
	copy(key[:], fmt.Sprint("noise ", seed))
	data := make([]byte, n)
	_, _ = rand.NewChaCha8(key).Read(data) // never fails
	return data
}

// RecordedTree is a tree like the one of the recorded acceptance run: 50 files, 24,629,927 bytes, one file of 20 MiB.
// The other sizes are spread, one is empty.
func RecordedTree() map[string][]byte {
	const total, big, files = 24_629_927, 20 << 20, 50
	tree := map[string][]byte{"data/big.pak": Noise(1, big), "empty.dat": {}}
	left := total - big
	for i := 2; i < files; i++ {
		size := left / (files - i)
		if i%2 == 0 && i < files-1 {
			size /= 1 + i%7
		}
		tree[fmt.Sprintf("part %d/file-%02d.bin", i%5, i)] = Noise(uint64(i), size)
		left -= size
	}
	return tree
}

// SmallTree has n files of size bytes in folders of a hundred.
func SmallTree(n, size int) map[string][]byte {
	all := Noise(99, n*size)
	tree := map[string][]byte{}
	for i := range n {
		tree[fmt.Sprintf("d%03d/f%05d.txt", i/100, i)] = bytes.Clone(all[i*size : (i+1)*size])
	}
	return tree
}
