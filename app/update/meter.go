package update

import "sync"

// progress holds the progress of the current work. All sizes are bytes.
type progress struct {
	file  string // being hashed or fetched
	size  int64
	done  int64
	total int64 // bytes on disk of all wanted files

	hashed int64 // bytes read to compare, of all files
	toHash int64 // bytes to read, of all files, as far as known in advance
}

// meter passes progress from the worker to the loop, which polls it. A portion costs one lock and no allocation. The zero
// value is ready.
type meter struct {
	mu  sync.Mutex
	now progress
}

func (m *meter) snapshot() progress {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// startFile sets the number of bytes already on disk and resets the rest.
func (m *meter) startFile(total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = progress{total: total}
}

// compare resets the hashing progress and the file. The total on disk stays.
func (m *meter) compare() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = progress{total: m.now.total}
}

// hash records the hashing progress of a file. A call without a file sets the number of bytes to hash in all.
func (m *meter) hash(name string, done, size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if name == "" {
		m.now.toHash = size
		return
	}
	before := m.now.done
	if name != m.now.file || done < before {
		before = 0
	}
	m.now.hashed += max(done-before, 0)
	m.now.file, m.now.done, m.now.size = name, done, size
}

// file sets the current file and its progress.
func (m *meter) file(name string, done, size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.file, m.now.done, m.now.size = name, done, size
}

// restart subtracts n bytes, all that the current file had.
func (m *meter) restart(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.done -= n
	m.now.total -= n
}

// wrote adds n bytes to the current file and to the total.
func (m *meter) wrote(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.done += n
	m.now.total += n
}
