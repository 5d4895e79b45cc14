package pack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"collet/build/pack/archive"
)

// SumsFile lists the SHA-256 of every artefact's files in the format of sha256sum.
const SumsFile = "SHA256SUMS"

// maxSums limits reads of a SumsFile in bytes; a hundred thousand files fit.
const maxSums = 16 << 20

// sums are digests in hexadecimal, by file name.
type sums map[string]string

// takeSums reads the digests of earlier calls and removes their file until it is correct again.
func takeSums(out string) (sums, error) {
	s, name := sums{}, filepath.Join(out, SumsFile)
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(io.LimitReader(f, maxSums))
	lines.Buffer(nil, maxSums)
	for lines.Scan() {
		if hex, file, is := strings.Cut(lines.Text(), "  "); is {
			s[file] = hex
		}
	}
	if err := errors.Join(lines.Err(), f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, os.Remove(name)
}

// writeFile replaces the digests of new artefacts, drops those of missing files, and writes the file.
func (s sums) writeFile(ctx context.Context, out string, made []Artefact) error {
	for _, a := range made {
		if folder, is := strings.CutSuffix(a.Name, "/"); is {
			maps.DeleteFunc(s, func(file, _ string) bool { return strings.HasPrefix(file, folder+"/") })
		}
		for _, file := range a.files {
			hex, err := sumOf(ctx, filepath.Join(out, filepath.FromSlash(file)))
			if err != nil {
				return err
			}
			s[file] = hex
		}
	}
	maps.DeleteFunc(s, func(file, _ string) bool {
		_, err := os.Lstat(filepath.Join(out, filepath.FromSlash(file)))
		return err != nil
	})
	return archive.File(ctx, filepath.Join(out, SumsFile), func(f *os.File) error {
		w := bufio.NewWriter(f)
		for _, file := range slices.Sorted(maps.Keys(s)) {
			fmt.Fprintf(w, "%s  %s\n", s[file], file)
		}
		return w.Flush()
	})
}
