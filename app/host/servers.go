package host

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
	// serversFile is the file of remembered servers, in the cache folder.
	serversFile = "servers"
	// maxServers is how many servers are remembered. Players use one or two, developers a few more.
	maxServers = 16
	// maxServersFile is the largest such file in bytes: host names have at most 253.
	maxServersFile = maxServers * 300
)

// servers remembers the generation of each server whose detection costs a connection. The file has a line for each server,
// "host:port generation", the most recent first. It only saves time: an entry that can't be read or written counts as unknown. It is
// for one goroutine at a time.
type servers struct {
	fs   platform.FS
	name string
	log  zerolog.Logger
}

// lines returns the well-formed lines of the file, at most maxServers.
func (s *servers) lines() []string {
	data, err := platform.ReadFile(s.fs, s.name, maxServersFile)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.log.Debug().Err(err).Msg("cache of server generations not readable")
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

// recall is the last known engine generation of a server, 0 if unknown.
func (s *servers) recall(addr string) netproto.Generation {
	for _, line := range s.lines() {
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

// remember records a server's generation. Only G1 and G2b get a line: the others are detected with the first connection, and remove
// an existing line.
func (s *servers) remember(addr string, g netproto.Generation) {
	if s.recall(addr) == g || len(strings.Fields(addr)) != 1 {
		return
	}
	var kept []string
	if g == netproto.G1 || g == netproto.G2b {
		kept = []string{addr + " " + g.String()}
	}
	before := s.lines()
	for _, line := range before {
		if !strings.HasPrefix(line, addr+" ") && len(kept) < maxServers {
			kept = append(kept, line)
		}
	}
	if slices.Equal(kept, before) {
		return
	}
	err := s.fs.MkdirAll(path.Dir(s.name), 0o755)
	if err == nil {
		err = platform.WriteFile(s.fs, s.name, []byte(strings.Join(append(kept, ""), "\n")))
	}
	if err != nil {
		s.log.Debug().Err(err).Msg("cache of server generations not written")
	}
}
