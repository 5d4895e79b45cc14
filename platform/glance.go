package platform

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Glancer may be implemented by an FS to examine many files at once.
type Glancer interface {
	// LstatAll is Lstat for each name, faster. The result is nil for a missing file or after an error: Lstat returns the error.
	LstatAll(names []string) []fs.FileInfo
}

// LstatAll implements Glancer. It opens each folder once, and examines folders concurrently. A lookup from the root for every file would
// cost three times as much.
func (d *Dir) LstatAll(names []string) []fs.FileInfo {
	all := bulkStat{dir: d, names: names, infos: make([]fs.FileInfo, len(names))}
	folders := map[string][]int{}
	for i, name := range names {
		if isFile(name) {
			folder := path.Dir(name)
			folders[folder] = append(folders[folder], i)
		}
	}
	order := make([]string, 0, len(folders))
	for folder := range folders {
		order = append(order, folder)
	}
	slices.Sort(order)
	var next atomic.Int64
	var looking sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(order)) {
		looking.Go(func() {
			for n := next.Add(1) - 1; int(n) < len(order); n = next.Add(1) - 1 {
				all.statFolder(order[n], folders[order[n]])
			}
		})
	}
	looking.Wait()
	return all.infos
}

// bulkStat is one call of LstatAll. Goroutines fill different infos.
type bulkStat struct {
	dir   *Dir
	names []string
	infos []fs.FileInfo // of names
}

// statFolder fills the infos of names in one folder. wanted has their indexes.
func (b bulkStat) statFolder(folder string, wanted []int) {
	local := filepath.FromSlash(folder)
	if info, err := b.dir.names.Stat(local); err != nil || !info.IsDir() {
		return // OpenRoot would wait for the other end of a pipe
	}
	sub, err := b.dir.root.OpenRoot(local)
	if err != nil {
		return
	}
	defer closeRoot(sub)
	for _, i := range wanted {
		if info, err := sub.Lstat(path.Base(b.names[i])); err == nil {
			b.infos[i] = info
		}
	}
}

// closeRoot closes a folder that was only read, and ignores the error.
func closeRoot(r *os.Root) { _ = r.Close() }
