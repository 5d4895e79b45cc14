package delta_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"collet/netproto/delta"
	"collet/netproto/release"
)

// bestPeer is the smallest patch of any peer for a step, in bytes, and the part of it that
// must hold: 0.75 for native patch releases, 1 for packs.
var bestPeer = map[string]struct {
	bytes int64
	part  float64
}{
	"native-esbuild-0.28.1":    {709_732, 0.75},
	"native-esbuild-0.28.2":    {454_505, 0.75},
	"native-esbuildwin-0.28.2": {509_497, 0.75},
	"native-libvips-1.3.3":     {5_183_957, 1},
	"native-libvips-1.3.4":     {791_562, 0.75},
	"native-nextswc-16.4.5":    {18_720_053, 1},
	"native-nextswc-16.4.6":    {1_934_478, 0.75},
	"native-nextswcwin-16.4.5": {3_356_475, 0.75},
	"native-swc-1.16.22":       {10_032_162, 1.03}, // packed inside: the whole file is taken
	"loose-three-0.186.1":      {431, 1},
	"loose-three-0.187.0":      {206_927, 1},
	"zips-three-0.187.0":       {210_366, 1},
	"loose-babylon-9.34.0":     {29_919, 1},
	"zips-babylon-9.34.0":      {42_019, 1},
	"loose-cesium-1.145.0":     {1_469_065, 1},
	"zips-cesium-1.145.0":      {1_472_638, 1},
	"loose-emoji-16.0.0":       {36_517_208, 1},
	"zips-emoji-16.0.0":        {36_520_393, 1},
	"synth-64k":                {21_497_724, 1.001},
	"synth-4k":                 {21_491_516, 1.001},
	"synth-shift":              {14_354_187, 1.001},
}

// diskSide reads a folder, or a file as a set of one file.
func diskSide(t *testing.T, root string) delta.SetSide {
	t.Helper()
	s := folderSource{}
	var files []release.ListedFile
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if rel == "." {
			rel = "pack.zip"
		}
		f := release.ListedFile{Path: filepath.ToSlash(rel), Use: release.UseResource, Mode: release.PlainMode}
		if f.Path == "module.so" {
			f.Use, f.Mode = release.UseRuntime, release.ProgramMode
		}
		in, err := os.Open(name)
		if err != nil {
			return err
		}
		defer in.Close()
		if f.Sum, err = release.SHA256.DigestOf(in); err != nil {
			return err
		}
		f.Size, err = in.Seek(0, io.SeekEnd)
		files = append(files, f)
		s.names = append(s.names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	l := release.NewListing(files)
	byPath := map[string]string{}
	for i, f := range files {
		byPath[f.Path] = s.names[i]
	}
	for i, f := range l {
		s.names[i] = byPath[f.Path]
	}
	return delta.SetSide{Listing: l, Source: s}
}

type folderSource struct{ names []string }

func (s folderSource) Open(i int) (delta.SetFile, error) { return os.Open(s.names[i]) }

// discard takes contents whose digests were checked by Apply, and looks at the heap now and then.
type discard struct {
	bytes, looked int64
	peak          uint64
}

func (d *discard) Begin(int) (io.Writer, error) { return d, nil }
func (d *discard) End(int) error                { return nil }

func (d *discard) Write(b []byte) (int, error) {
	if d.bytes += int64(len(b)); d.bytes >= d.looked {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		d.peak, d.looked = max(d.peak, m.HeapAlloc), d.bytes+4<<20
	}
	return len(b), nil
}

// corpusSteps are the steps of a corpus, which may have been fetched in parts: name, old, new.
func corpusSteps(t *testing.T, root string) (steps [][]string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, "STEPS*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s holds no corpus: %v", root, err)
	}
	seen := map[string]bool{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if step := strings.Fields(line); len(step) == 3 && !seen[step[0]] {
				seen[step[0]] = true
				steps = append(steps, step)
			}
		}
	}
	return steps
}

// TestSetPatchCorpus makes and applies the set patch of every step of a corpus that has a peer's figure. COLLET_CORPUS is
// its folder; COLLET_STEPS chooses steps by a part of their names.
func TestSetPatchCorpus(t *testing.T) {
	root := os.Getenv("COLLET_CORPUS")
	if root == "" {
		t.Skip("COLLET_CORPUS does not name the folder of a corpus")
	}
	list := corpusSteps(t, root)
	fmt.Println("step                          set patch   best peer  ratio  bound   make s  apply MB/s  apply heap MB")
	for _, step := range list {
		peer, known := bestPeer[step[0]]
		if !known || !strings.Contains(step[0], os.Getenv("COLLET_STEPS")) {
			continue
		}
		t.Run(step[0], func(t *testing.T) {
			old, fresh := diskSide(t, filepath.Join(root, step[1])), diskSide(t, filepath.Join(root, step[2]))
			var patch bytes.Buffer
			started := time.Now()
			if _, err := delta.MakeSetPatch(context.Background(), &patch, old, fresh, delta.SetPatchOptions{}); err != nil {
				t.Fatal(err)
			}
			made := time.Since(started)
			rate, heap := applied(t, patch.Bytes(), old, fresh)
			ratio := float64(patch.Len()) / float64(peer.bytes)
			fmt.Printf("%-28s %10d  %10d  %5.3f  %5.3f  %7.1f  %10.0f  %13.1f\n", step[0], patch.Len(), peer.bytes, ratio, peer.part, made.Seconds(), rate, heap)
			if ratio > peer.part {
				t.Errorf("%d bytes are %.3f of the best peer's %d, want %.3f", patch.Len(), ratio, peer.bytes, peer.part)
			}
		})
	}
}

// applied applies a patch from a file and returns MB of new contents a second and the heap that it took at most, with what is
// garbage already, in MB of 10^6 bytes.
func applied(t *testing.T, patch []byte, old, fresh delta.SetSide) (rate, heap float64) {
	t.Helper()
	to, err := fresh.Listing.Digest()
	if err != nil {
		t.Fatal(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	debug.FreeOSMemory()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	started := time.Now()
	p, err := delta.OpenSetPatch(bytes.NewReader(patch), old.Listing, to)
	if err != nil {
		t.Fatal(err)
	}
	d := &discard{}
	if err := p.Apply(context.Background(), old.Source, d); err != nil {
		t.Fatal(err)
	}
	took := time.Since(started).Seconds()
	if heap = (float64(d.peak) - float64(before.HeapAlloc)) / 1e6; heap > 64 {
		t.Errorf("%.1f MB of heap, want at most 64", heap)
	}
	return float64(d.bytes) / 1e6 / took, heap
}
