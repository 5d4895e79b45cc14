package desk

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"sync"

	"collet/platform"
)

// doubts are the files on one released device whose bytes may differ from its layout, with the size of the write that was
// interrupted. Such a device keeps its layout in memory after a disconnect and does not scan its disk again.
// Safe for concurrent use, because a device can reconnect while its old connection still ends.
type doubts struct {
	mu    sync.Mutex
	paths map[string]uint64
}

// begin records that these files are about to be written.
func (d *doubts) begin(writes []fileWrite) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.paths == nil {
		d.paths = make(map[string]uint64)
	}
	for _, w := range writes {
		d.paths[w.file.Path] = w.file.Size
	}
}

// end records that files are complete.
func (d *doubts) end(paths []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, path := range paths {
		delete(d.paths, path)
	}
}

func (d *doubts) of() map[string]uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.paths)
}

// maxDoubts is the size of the largest doubts file that is read, in bytes: wire.MaxFiles paths of usual length for a few devices.
const maxDoubts = 64 << 20

// doubtsSuffix follows Options.CacheFile in the name of the doubts file.
const doubtsSuffix = ".unfinished"

// saveDoubts saves the doubts about all devices for the next process, in case this one is killed during a push.
func (d *Desk) saveDoubts() {
	if d.cache == nil {
		return
	}
	data, err := json.Marshal(d.registry.allDoubts())
	if err == nil {
		err = platform.WriteFile(d.cache, d.doubtsName, data)
	}
	if err != nil {
		d.options.Log.Warn().Err(err).Msg("unfinished files are not remembered")
	}
}

// loadDoubts loads the doubts that an earlier process saved.
func (d *Desk) loadDoubts() {
	data, err := platform.ReadFile(d.cache, d.doubtsName, maxDoubts)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var all map[string]map[string]uint64
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		d.options.Log.Warn().Err(err).Msg("unfinished files are not known")
	}
	for base, paths := range all {
		d.registry.doubts[base] = &doubts{paths: paths}
	}
}
