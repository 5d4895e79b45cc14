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

// trustStore keeps verified documents in a folder of the install. Each file is replaced atomically and synced. If the folder is not
// writable or the disk is full, documents are kept in memory: the game can still be played, and the next process has the documents that
// this one had at its start.
type trustStore struct {
	fs         platform.FS
	folder     string
	log        zerolog.Logger
	loose      trust.MemoryStore
	onVerified func() // called for each verified document; may be nil
	warned     bool   // that documents are kept in memory
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
	if s.onVerified != nil {
		s.onVerified()
	}
	err := s.fs.MkdirAll(s.folder, 0o755)
	if err == nil {
		err = platform.WriteFile(s.fs, path.Join(s.folder, name), data)
	}
	if errors.Is(err, fs.ErrPermission) || platform.IsReadOnly(err) || platform.IsDiskFull(err) {
		if !s.warned {
			s.log.Warn().Err(err).Msg("what was verified is remembered only while this program runs")
		}
		s.warned = true
		return s.loose.Save(name, data)
	}
	return err
}
