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

	"collet/runtime/abi"
)

// outputs are the contents of the generated files, by path.
func (t *table) outputs() (map[string][]byte, error) {
	p := t.project
	files := make(map[string][]byte)
	locked, err := t.lock.encode()
	if err != nil {
		return nil, err
	}
	files[p.pathOf(p.Lock)] = locked
	manifest, err := encodeManifest(t)
	if err != nil {
		return nil, err
	}
	files[p.pathOf(p.Manifest)] = manifest
	if p.Package != "" {
		table, err := t.goTable()
		if err != nil {
			return nil, err
		}
		library, err := p.library()
		if err != nil {
			return nil, err
		}
		maps.Copy(files, library)
		files[p.pathOf(p.GoTable)] = table
	}
	if p.Header != "" {
		if files[p.pathOf(p.Header)], err = t.cHeader(); err != nil {
			return nil, err
		}
	}
	if p.Runtime != "" {
		files[p.pathOf(p.Runtime)] = []byte(abi.Header)
	}
	return files, nil
}

// writeFiles writes changed files only, so that unchanged outputs cause no rebuild. It returns the written paths.
func writeFiles(files map[string][]byte) (written []string, err error) {
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if same, err := fileHas(path, files[path]); err != nil {
			return written, err
		} else if same {
			continue
		}
		if err := replaceFile(path, files[path]); err != nil {
			return written, err
		}
		written = append(written, path)
	}
	return written, nil
}

// fileHas reports whether a file has these bytes.
func fileHas(path string, data []byte) (bool, error) {
	there, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && bytes.Equal(there, data), err
}

// replaceFile replaces a file atomically: an interrupted run leaves no partial file.
func replaceFile(path string, data []byte) error {
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
