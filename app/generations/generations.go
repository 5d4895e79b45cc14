// Package generations remembers which generation of the engine's protocol a server speaks, where finding out costs a connection: one file in
// the folder of the cache, with a line for each server, "host:port generation", the most recent first. It only saves time: an entry that
// can't be read or written counts as unknown.
package generations

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/platform"
)

const (
	// FileName is the name of the file, in the folder of the cache.
	FileName = "servers"
	// maxServers is how many servers are remembered. Players use one or two, developers a few more.
	maxServers = 16
	// maxServersFile is the largest such file in bytes: host names have at most 253.
	maxServersFile = maxServers * 300
)

// File is the file of remembered servers. It is for one goroutine at a time.
type File struct {
	FS   platform.FS
	Name string // below FS
	Log  zerolog.Logger
}

// lines returns the well-formed lines of the file, at most maxServers.
func (f *File) lines() []string {
	data, err := platform.ReadFile(f.FS, f.Name, maxServersFile)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			f.Log.Debug().Err(err).Msg("cache of server generations not readable")
		}
		return nil
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); len(strings.Fields(line)) == 2 && len(lines) < maxServers {
			lines = append(lines, line)
		}
	}
	return lines
}

// Recall is the last known engine generation of a server, 0 if unknown.
func (f *File) Recall(addr string) netproto.Generation {
	for _, line := range f.lines() {
		if word, found := strings.CutPrefix(line, addr+" "); found {
			g, err := netproto.ParseGeneration(word)
			if err != nil || !g.Engine() {
				return 0
			}
			return g
		}
	}
	return 0
}

// Remember records a server's generation. Only G1 and G2b get a line: the others are detected with the first connection, and remove
// an existing line.
func (f *File) Remember(addr string, g netproto.Generation) {
	if f.Recall(addr) == g || len(strings.Fields(addr)) != 1 {
		return
	}
	var kept []string
	if g == netproto.G1 || g == netproto.G2b {
		kept = []string{addr + " " + g.String()}
	}
	before := f.lines()
	for _, line := range before {
		if !strings.HasPrefix(line, addr+" ") && len(kept) < maxServers {
			kept = append(kept, line)
		}
	}
	if slices.Equal(kept, before) {
		return
	}
	err := f.FS.MkdirAll(path.Dir(f.Name), 0o755)
	if err == nil {
		err = platform.WriteFile(f.FS, f.Name, []byte(strings.Join(append(kept, ""), "\n")))
	}
	if err != nil {
		f.Log.Debug().Err(err).Msg("cache of server generations not written")
	}
}
