package server

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"collet/netproto/server/config"
	"collet/platform"
)

// Stamp is a number that changes when a pack or a platform binary of the settings is added, removed, replaced or written
// to; of a release folder, when its timestamp is, with which a publication becomes visible. It reads folders and what they say about files, no content, so that it may be taken often. What can't be read is
// part of the stamp.
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

// watchedPaths are the paths of everything that Open looks at.
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

// watchedCompat are the paths of everything that a catalogue reads about compatibility.
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
		files, _ := filepath.Glob(filepath.Join(globbed(c.Payloads), "*", "*", "*"))
		paths = append(paths, files...)
	}
	return paths
}

// maxRetry is the longest time between two attempts to load a release folder that was not complete.
const maxRetry = 10 * time.Minute

// Watch reloads whenever something was published, until ctx ends: every period it takes the stamp, and when that has
// changed and then stayed the same for a whole period, publishing is taken to be finished. What failed to load is not
// tried again before it changes; only a release folder is, after longer and longer times, because what it lacks may be
// copied without a change of its timestamp. Offered is the stamp of what is offered, taken before it was opened; settings gives the
// settings as they are now.
func Watch(ctx context.Context, period time.Duration, offered uint64, settings func() (config.Settings, error), reload func(context.Context) error) {
	folder := false
	stamp := func(last uint64) uint64 {
		set, err := settings()
		if err != nil {
			return last // a settings file that is being written; SIGHUP tells of one that is wrong
		}
		folder = set.Release.Folder != ""
		return Stamp(set)
	}
	var again time.Time
	wait := period
	seen := offered
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := stamp(seen)
		switch {
		case now != seen:
		case now != offered:
			again, wait = time.Time{}, period
			fallthrough
		case !again.IsZero() && !time.Now().Before(again):
			offered, again = now, time.Time{}
			if reload(ctx) != nil && folder { // which tells of its failure
				wait = min(2*wait, maxRetry)
				again = time.Now().Add(wait)
			}
		}
		seen = now
	}
}
