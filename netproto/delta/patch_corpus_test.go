package delta

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// peers are the smallest patches of other tools for published releases, in bytes, as docs/QA.md measures them.
var peers = []struct {
	name, old, fresh string
	tool             string
	bytes            int64
}{
	{"esbuild 0.28.1", "native/esbuild/0.28.0", "native/esbuild/0.28.1", "hdm", 709_732},
	{"esbuild 0.28.2", "native/esbuild/0.28.1", "native/esbuild/0.28.2", "hdm", 454_505},
	{"libvips 1.3.3", "native/libvips/1.2.4", "native/libvips/1.3.3", "zpf", 5_183_957},
	{"libvips 1.3.4", "native/libvips/1.3.3", "native/libvips/1.3.4", "hdm", 791_562},
	{"nextswc 16.4.5", "native/nextswc/16.3.8", "native/nextswc/16.4.5", "hdm", 18_720_053},
	{"nextswc 16.4.6", "native/nextswc/16.4.5", "native/nextswc/16.4.6", "bsdiff", 1_934_478},
	{"swc 1.16.22", "native/swc/1.16.21", "native/swc/1.16.22", "hdm", 10_032_162},
	{"esbuildwin 0.28.2", "native/esbuildwin/0.28.1", "native/esbuildwin/0.28.2", "hdm", 509_497},
	{"nextswcwin 16.4.5", "native/nextswcwin/16.4.3", "native/nextswcwin/16.4.5", "hdm", 3_356_475},
	{"loose three 0.186.1", "packs/three/0.186.0", "packs/three/0.186.1", "hdm", 431},
	{"loose three 0.187.0", "packs/three/0.186.1", "packs/three/0.187.0", "zpf", 206_927},
	{"loose babylon 9.34.0", "packs/babylon/9.33.2", "packs/babylon/9.34.0", "hdm", 29_919},
	{"loose cesium 1.145.0", "packs/cesium/1.143.0", "packs/cesium/1.145.0", "hdm", 1_469_065},
	{"loose emoji 16.0.0", "packs/emoji/15.1.2", "packs/emoji/16.0.0", "zpf", 36_517_208},
	{"zips three 0.187.0", "zips/three/0.186.1.zip", "zips/three/0.187.0.zip", "zpf", 210_366},
	{"zips babylon 9.34.0", "zips/babylon/9.33.2.zip", "zips/babylon/9.34.0.zip", "hdm", 42_019},
	{"zips cesium 1.145.0", "zips/cesium/1.143.0.zip", "zips/cesium/1.145.0.zip", "hdm", 1_472_638},
	{"zips emoji 16.0.0", "zips/emoji/15.1.2.zip", "zips/emoji/16.0.0.zip", "zpf", 36_520_393},
}

// BenchmarkCorpus makes and applies patches between published releases that lie in the folder COLLET_CORPUS, and prints
// their size beside the best of other tools. For a folder, identical files cost nothing and are left out first.
func BenchmarkCorpus(b *testing.B) {
	corpus := os.Getenv("COLLET_CORPUS")
	if corpus == "" {
		b.Skip("COLLET_CORPUS names no folder of release pairs")
	}
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) {
			old, fresh := side(b, filepath.Join(corpus, p.old)), side(b, filepath.Join(corpus, p.fresh))
			old, fresh = without(old, fresh), unique(without(fresh, old))
			for b.Loop() {
				measure(b, old, fresh, p.tool, p.bytes)
			}
		})
	}
}

// piece is one file of a corpus.
type piece struct {
	name string
	data []byte
	sum  [32]byte
}

// side reads a file or a folder, ordered by extension and name as a publisher orders a group.
func side(b *testing.B, at string) []piece {
	var list []piece
	err := filepath.WalkDir(at, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return nil
		}
		data, err := os.ReadFile(name)
		list = append(list, piece{name: strings.TrimPrefix(name, at), data: data, sum: sha256.Sum256(data)})
		return err
	})
	if err != nil {
		b.Skip(err)
	}
	slices.SortFunc(list, func(a, b piece) int {
		return cmp.Or(cmp.Compare(filepath.Ext(a.name), filepath.Ext(b.name)), cmp.Compare(a.name, b.name))
	})
	return list
}

// without leaves out the contents that the other side has, if they stand under the same name or, for new ones, at all.
func without(list, other []piece) []piece {
	has := map[[32]byte]bool{}
	for _, p := range other {
		has[p.sum] = true
	}
	var kept []piece
	for _, p := range list {
		if !has[p.sum] {
			kept = append(kept, p)
		}
	}
	return kept
}

// unique keeps the first of equal contents.
func unique(list []piece) []piece {
	has := map[[32]byte]bool{}
	var kept []piece
	for _, p := range list {
		if !has[p.sum] {
			kept = append(kept, p)
			has[p.sum] = true
		}
	}
	return kept
}

// measure makes and applies one patch and reports it.
func measure(b *testing.B, old, fresh []piece, tool string, peer int64) {
	var from []Old
	var to []New
	var sizes []int64
	for _, p := range old {
		from = append(from, Old{ReaderAt: bytes.NewReader(p.data), Size: int64(len(p.data))})
	}
	for _, p := range fresh {
		to = append(to, New{ReaderAt: bytes.NewReader(p.data), Size: int64(len(p.data)), Name: p.name})
		sizes = append(sizes, int64(len(p.data)))
	}
	debug.FreeOSMemory()
	resetPeak()
	before, start := peak(), time.Now()
	var patch bytes.Buffer
	stats, err := MakePatch(context.Background(), &patch, from, to, PatchOptions{})
	if err != nil {
		b.Fatal(err)
	}
	made, top := time.Since(start), peak()
	start = time.Now()
	got := make([]bytes.Buffer, len(fresh))
	for i := range got {
		got[i].Grow(len(fresh[i].data))
	}
	if err := ApplyPatch(context.Background(), &patch, from, sizes, func(i int) (io.Writer, error) { return &got[i], nil }); err != nil {
		b.Fatal(err)
	}
	took := time.Since(start)
	for i := range got {
		if !bytes.Equal(got[i].Bytes(), fresh[i].data) {
			b.Fatalf("%s differs", fresh[i].name)
		}
	}
	b.ReportMetric(float64(stats.PatchBytes), "bytes")
	b.ReportMetric(float64(stats.PatchBytes)/float64(peer), tool+"-ratio")
	b.ReportMetric(made.Seconds(), "make-s")
	b.ReportMetric(float64(top-before)/1e6, "make-MB")
	b.ReportMetric(float64(stats.NewBytes)/1e6/took.Seconds(), "apply-MB/s")
	b.ReportMetric(0, "ns/op")
	b.Logf("%s: %+v", tool, stats)
}

// peak is the largest memory that the process had since resetPeak, in bytes; 0 where the system does not say.
func peak() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	line, _, _ := bytes.Cut(rest, []byte("kB"))
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	return n << 10
}

func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }
