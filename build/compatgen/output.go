package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// outputs are the contents of the generated files, by path.
func (t *table) outputs() (map[string][]byte, error) {
	p := t.project
	files := make(map[string][]byte)
	locked, err := t.lock.encode()
	if err != nil {
		return nil, err
	}
	files[p.path(p.Lock)] = locked
	manifest, err := encodeManifest(t)
	if err != nil {
		return nil, err
	}
	files[p.path(p.Manifest)] = manifest
	if p.Package != "" {
		if files[p.path(p.GoTable)], err = t.goTable(); err != nil {
			return nil, err
		}
	}
	if p.Header != "" {
		if files[p.path(p.Header)], err = t.header(); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// write writes what is not there as it should be, and leaves the rest untouched, so that nothing is built again for nothing. It
// returns the paths that were written.
func write(files map[string][]byte) (written []string, err error) {
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if same, err := holds(path, files[path]); err != nil {
			return written, err
		} else if same {
			continue
		}
		if err := replace(path, files[path]); err != nil {
			return written, err
		}
		written = append(written, path)
	}
	return written, nil
}

// holds reports whether a file has these bytes.
func holds(path string, data []byte) (bool, error) {
	there, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && bytes.Equal(there, data), err
}

// replace puts a file in the place of another at once, so that a stop in the middle leaves no half of one.
func replace(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".compatgen-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %q: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
