package desk

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"sync"

	"collet/platform"
)

// doubts are the files on one released device that may not be what its layout says, with the size of the write that has
// not ended well. Such a device keeps its layout in memory over a break, and does not look at its disk again (Remote
// launcher protocol, section 3.6). Safe for concurrent use, because a device can come back while its old connection has
// not ended yet.
type doubts struct {
	mu    sync.Mutex
	paths map[string]uint64
}

// begin says that these files are going to be written.
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

// end says that files are whole.
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

// maxDoubts is the longest file of doubts that is read, in bytes: MaxFiles paths of usual length for a few devices.
const maxDoubts = 64 << 20

// doubtsSuffix is what the name of the file of doubts has beyond Options.CacheFile.
const doubtsSuffix = ".unfinished"

// saveDoubts keeps the doubts about all devices for the next desk, should this one not see the end of its push.
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

// loadDoubts takes over what an earlier desk did not see the end of.
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
