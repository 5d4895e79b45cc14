package trust

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
)

// Store is a folder of small files with names such as "timestamp.json" or "metadata/3.root.json". The client's store
// keeps what it has verified, the publisher's is the release folder. Its methods are not called concurrently.
type Store interface {
	// Load returns the whole file. For a missing file errors.Is(err, fs.ErrNotExist) holds; for one of more than limit
	// bytes errors.Is(err, ErrTooLong) does.
	Load(name string, limit int64) ([]byte, error)
	// Save replaces the file, creating parent folders, and returns when it is durable. An interruption at any moment
	// leaves the old or the new content.
	Save(name string, data []byte) error
}

// MemoryStore is a Store in memory. The zero value is empty and ready. It is safe for concurrent use.
type MemoryStore struct {
	mu    sync.Mutex
	files map[string][]byte
}

var _ Store = (*MemoryStore)(nil)

// Load implements Store.
func (m *MemoryStore) Load(name string, limit int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, found := m.files[name]
	switch {
	case !found:
		return nil, &fs.PathError{Op: "load", Path: name, Err: fs.ErrNotExist}
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("load %s: %w", name, ErrTooLong)
	default:
		return slices.Clone(data), nil
	}
}

// Save implements Store.
func (m *MemoryStore) Save(name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files == nil {
		m.files = map[string][]byte{}
	}
	m.files[name] = slices.Clone(data)
	return nil
}

// Remove removes a file if it exists.
func (m *MemoryStore) Remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
}

// Names lists the files, sorted.
func (m *MemoryStore) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.files))
}

// StoreFetcher fetches from a local release folder: a disk that was carried over, a folder before publication, a test.
// Its files are trusted as little as those from the network.
type StoreFetcher struct{ Store }

var _ Fetcher = StoreFetcher{}

// Fetch implements Fetcher.
func (s StoreFetcher) Fetch(ctx context.Context, name string, limit int64) (Unverified, error) {
	if err := ctx.Err(); err != nil {
		return Unverified{}, err
	}
	data, err := s.Load(name, limit)
	return Unverified{data}, err
}
