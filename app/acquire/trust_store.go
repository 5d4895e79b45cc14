package acquire

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/rs/zerolog"

	"collet/netproto/release/trust"
	"collet/platform"
)

// trustStore keeps what was verified in a folder of the install, each file replaced atomically and synced. In a folder that
// can't be written, or on a full disk, it keeps it for as long as the process lives: a game that can't be updated there can still be played,
// and the next process knows no less than this one did at its start.
type trustStore struct {
	fs     platform.FS
	folder string
	log    zerolog.Logger
	loose  trust.MemoryStore
	came   func() // is told of each document that was verified; may be nil
	told   bool
}

var _ trust.Store = (*trustStore)(nil)

// Load implements trust.Store.
func (s *trustStore) Load(name string, limit int64) ([]byte, error) {
	if data, err := s.loose.Load(name, limit); err == nil {
		return data, nil
	}
	data, err := platform.ReadFile(s.fs, path.Join(s.folder, name), limit)
	if errors.Is(err, platform.ErrTooLong) {
		err = fmt.Errorf("load %s: %w", name, trust.ErrTooLong)
	}
	return data, err
}

// Save implements trust.Store.
func (s *trustStore) Save(name string, data []byte) error {
	if s.came != nil {
		s.came()
	}
	err := s.fs.MkdirAll(s.folder, 0o755)
	if err == nil {
		err = platform.WriteFile(s.fs, path.Join(s.folder, name), data)
	}
	if errors.Is(err, fs.ErrPermission) || platform.IsReadOnly(err) || platform.IsDiskFull(err) {
		if !s.told {
			s.log.Warn().Err(err).Msg("what was verified is remembered only while this program runs")
		}
		s.told = true
		return s.loose.Save(name, data)
	}
	return err
}
