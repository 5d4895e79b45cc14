package catalogue

import (
	"collet/netproto/server/config"
	"collet/platform"
	"encoding/binary"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
)

// Stamp is a hash that changes when a configured pack or platform binary is added, removed, replaced or written. For a release
// folder it changes with timestamp.json, which makes a publication visible. It reads only folders and file attributes, so it may
// be called often. Unreadable files are part of the stamp.
func Stamp(set config.Settings) uint64 {
	sum := fnv.New64a()
	note := func(path string, info fs.FileInfo, err error) {
		sum.Write([]byte(path))
		if err != nil {
			sum.Write([]byte{0})
			return
		}
		id := platform.IdentityOf(info)
		for _, n := range []uint64{uint64(id.Size), uint64(id.Modified.UnixNano()), id.Inode} {
			sum.Write(binary.LittleEndian.AppendUint64(nil, n))
		}
	}
	for _, path := range watchedPaths(set) {
		info, err := os.Stat(path)
		note(path, info, err)
	}
	return sum.Sum64()
}

// watchedPaths are the paths that Open reads.
func watchedPaths(s config.Settings) []string {
	older := watchedCompat(s.Compat)
	if r := s.Release; r.Folder != "" {
		return append(older, filepath.Join(r.Folder, "metadata", "timestamp.json"), rootName(r))
	}
	paths := older
	entries := s.Baking.ClientResourceEntries
	if s.Baking.ClientResourceEntries == nil {
		entries, _ = packsIn(s.Baking.ClientResources)
	}
	for _, entry := range entries {
		paths = append(paths, filepath.Join(s.Baking.ClientResources, filepath.FromSlash(entry)+config.PackExt))
	}
	targets, _ := os.ReadDir(s.Baking.PlatformBinaries)
	for _, target := range targets[:min(len(targets), maxTargets)] {
		folder := filepath.Join(s.Baking.PlatformBinaries, target.Name())
		files, _ := os.ReadDir(folder)
		for _, file := range files {
			paths = append(paths, filepath.Join(folder, file.Name()))
		}
	}
	return paths
}

// watchedCompat are the paths of the compatibility files.
func watchedCompat(c config.Compat) (paths []string) {
	if c.Manifest != "" {
		paths = append(paths, c.Manifest)
	}
	if c.Baselines != "" {
		files, _ := os.ReadDir(c.Baselines)
		for _, file := range files[:min(len(files), maxBaselines)] {
			paths = append(paths, filepath.Join(c.Baselines, file.Name()))
		}
	}
	if c.Payloads != "" {
		files, _ := filepath.Glob(filepath.Join(escapeGlob(c.Payloads), "*", "*", "*"))
		paths = append(paths, files...)
	}
	return paths
}
