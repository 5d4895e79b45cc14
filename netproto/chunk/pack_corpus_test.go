package chunk

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// TestCorpus measures published releases: the folder that bench/corpus.sh made is named by COLLET_CORPUS, and
// COLLET_STEPS is an expression for the steps to take. For each it says what chunks cost that come from anywhere.
func TestCorpus(t *testing.T) {
	root := os.Getenv("COLLET_CORPUS")
	if root == "" {
		t.Skip("COLLET_CORPUS names no folder")
	}
	steps, err := os.Open(filepath.Join(root, "STEPS"))
	if err != nil {
		t.Fatal(err)
	}
	defer steps.Close()
	wanted := regexp.MustCompile(os.Getenv("COLLET_STEPS"))
	for lines := bufio.NewScanner(steps); lines.Scan(); {
		if f := strings.Fields(lines.Text()); len(f) == 3 && wanted.MatchString(f[0]) {
			measureChunks(t, f[0], contentsOf(t, filepath.Join(root, f[1])), contentsOf(t, filepath.Join(root, f[2])))
		}
	}
}

// contentsOf returns the distinct contents of a file or a folder, in the order of their paths.
func contentsOf(t *testing.T, path string) (contents [][]byte) {
	seen := map[[32]byte]bool{}
	err := filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		if sum := sha256.Sum256(data); !seen[sum] {
			seen[sum] = true
			contents = append(contents, data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return contents
}

// TestCorpusObjects measures whole objects of the files of the steps: all encodings, whatever PackObject would try.
func TestCorpusObjects(t *testing.T) {
	for _, path := range strings.Fields(os.Getenv("COLLET_OBJECTS")) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		packed, err := new(ObjectPacker).zstdObject(context.Background(), io.Discard, bytes.NewReader(data), int64(len(data)), zstd.SpeedBestCompression)
		if err != nil {
			t.Fatal(err)
		}
		byZstd := time.Since(began)
		began = time.Now()
		brotli, err := brotliOf(data, int64(len(data)), brotliSegment)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s: %d bytes, zstd %d in %.1fs, brotli %d in %.1fs\n", path, len(data), packed, byZstd.Seconds(), len(brotli), time.Since(began).Seconds())
	}
}

func measureChunks(t *testing.T, name string, old, new [][]byte) {
	have := map[[32]byte]bool{}
	for _, o := range old {
		have[sha256.Sum256(o)] = true
	}
	var changed [][]byte
	for _, n := range new {
		if !have[sha256.Sum256(n)] {
			changed = append(changed, n)
		}
	}
	s := newShelf()
	began := time.Now()
	indexes, refs := s.publish(t, PackOptions{}, changed...)
	packed, made := int64(0), time.Since(began)
	for _, r := range refs {
		packed += r.Size
	}
	metadata := 0
	for _, ix := range indexes {
		b, err := EncodeIndex(ix)
		if err != nil {
			t.Fatal(err)
		}
		metadata += len(b)
	}
	whole := int64(0)
	for _, c := range changed {
		n, err := (&ObjectPacker{}).zstdObject(context.Background(), io.Discard, bytes.NewReader(c), int64(len(c)), zstd.SpeedBestCompression)
		if err != nil {
			t.Fatal(err)
		}
		whole += min(n, int64(len(c)))
	}
	for _, gap := range []int64{0, 2 << 10, GapFor(20*time.Millisecond, 6.25e6, 5)} {
		began = time.Now()
		l := rebuild(t, s, old, indexes, changed, gap)
		fmt.Printf("%-22s %4d files, gap %5d: index %7d + packs %9d = %9d in %5d ranges, applied in %.1fs (all packs %9d in %.1fs; whole objects by zstd %9d)\n",
			name, len(changed), gap, metadata, l.bytes, int64(metadata)+l.bytes, len(l.opened), time.Since(began).Seconds(), packed, made.Seconds(), whole)
	}
}
