package install_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkCleanOpen compares the recovery of a clean install with a listing of its folder like `ls -lR`: pairs of both,
// one right after the other, and their medians.
func BenchmarkCleanOpen(b *testing.B) {
	for _, files := range []int{10, 10_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			f := newFolder(b)
			var blobs []blob
			for i := range files {
				name := fmt.Sprintf("f%d/%d.zip", i%10, i)
				blobs = append(blobs, packs(name, "x")...)
				f.write("Resources/"+name, "x")
			}
			blobs[0].content = "changed" // causes a transaction and a list of the set
			start{blobs: blobs}.confirmed().must(f)
			start{blobs: blobs}.must(f)
			var opens, lists []time.Duration
			for b.Loop() {
				begin := time.Now()
				ls(b, f.dir)
				listed := time.Now()
				d, err := open(f.open(), false)
				if err != nil {
					b.Fatal(err)
				}
				opens, lists = append(opens, time.Since(listed)), append(lists, listed.Sub(begin))
				if err := d.Close(); err != nil {
					b.Fatal(err)
				}
			}
			opened, listed := median(opens), median(lists)
			b.ReportMetric(float64(opened)/float64(listed), "x-ls")
			b.ReportMetric(float64(opened)/1e6, "ms")
			if len(opens) > 20 && opened > 20*time.Millisecond {
				b.Errorf("opening takes %s, want at most 20 ms", opened)
			}
		})
	}
}

// ls reads every folder and the info of every file.
func ls(b *testing.B, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if _, err := os.Lstat(name); err != nil {
			b.Fatal(err)
		}
		if e.IsDir() {
			ls(b, name)
		}
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
