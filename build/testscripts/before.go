package testscripts

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// before unpacks an archive of the package whose test runs. Files keep their modes and times, which caches of digests compare.
func before(ts *testscript.TestScript, _ bool, args []string) {
	archive, err := os.Open(filepath.Join("testdata", "before", args[0]+".tar.gz"))
	Check(ts, err)
	defer archive.Close()
	unzipped, err := gzip.NewReader(archive)
	Check(ts, err)
	for entries := tar.NewReader(unzipped); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		Check(ts, err)
		name, mode := filepath.Join(ts.MkAbs(args[0]), filepath.FromSlash(entry.Name)), fs.FileMode(entry.Mode).Perm()
		if entry.FileInfo().IsDir() {
			Check(ts, os.MkdirAll(name, mode))
			continue
		}
		data, err := io.ReadAll(entries)
		Check(ts, err)
		Check(ts, os.WriteFile(name, data, mode))
		Check(ts, os.Chtimes(name, entry.ModTime, entry.ModTime))
	}
}
