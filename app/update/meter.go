package update

import "sync"

// progress is how far the work under way has come. All sizes are bytes.
type progress struct {
	file  string // being hashed or fetched
	size  int64
	done  int64
	total int64 // of all wanted files: what is on disk

	hashed int64 // of all files: what was read to compare it
	toHash int64 // of all files: what will be read, as far as it is known before
}

// meter carries progress from the worker to the loop, which reads it when it likes to: nobody waits for anybody, and a
// portion costs a lock and no memory. The zero value is ready.
type meter struct {
	mu  sync.Mutex
	now progress
}

func (m *meter) read() progress {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// begin sets the bytes that are on disk already and forgets the file.
func (m *meter) begin(total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = progress{total: total}
}

// compare forgets what was hashed, and the file. What is on disk stays as it was told last.
func (m *meter) compare() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = progress{total: m.now.total}
}

// hash notes how far the hashing of a file is. The call without a file says how much there is to hash in all.
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

// file says which file is under way and how far it is.
func (m *meter) file(name string, done, size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.file, m.now.done, m.now.size = name, done, size
}

// restart takes back n bytes of the file under way: all that there was of it.
func (m *meter) restart(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.done -= n
	m.now.total -= n
}

// wrote adds n bytes to the file under way and to the total.
func (m *meter) wrote(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.done += n
	m.now.total += n
}
