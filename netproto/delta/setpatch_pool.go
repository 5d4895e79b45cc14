package delta

import (
	"fmt"
	"io"
	"slices"
	"sync"
)

// maxOpenFiles is how many files of a set are open at a time: a group may refer to thousands, and systems allow a
// program some hundreds (256 on macOS).
const maxOpenFiles = 64

// setFiles opens files of a set on demand, and closes the least recently read ones.
type setFiles struct {
	source SetSource
	mu     sync.Mutex
	open   map[int]SetFile
	recent []int // open files, the most recently read last
}

func newSetFiles(source SetSource) *setFiles {
	return &setFiles{source: source, open: map[int]SetFile{}}
}

// reader returns one of them for positioned reads.
func (s *setFiles) reader(i int) io.ReaderAt { return setFile{s, i} }

type setFile struct {
	files *setFiles
	i     int
}

// ReadAt implements io.ReaderAt.
func (f setFile) ReadAt(b []byte, at int64) (int, error) {
	s := f.files
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.openFile(f.i)
	if err != nil {
		return 0, err
	}
	return r.ReadAt(b, at)
}

// openFile returns the open file, opening it if needed.
func (s *setFiles) openFile(i int) (SetFile, error) {
	if r, there := s.open[i]; there {
		if last := len(s.recent) - 1; s.recent[last] != i {
			s.recent = append(slices.DeleteFunc(s.recent, func(n int) bool { return n == i }), i)
		}
		return r, nil
	}
	if len(s.recent) == maxOpenFiles {
		err := s.open[s.recent[0]].Close()
		delete(s.open, s.recent[0])
		if s.recent = s.recent[1:]; err != nil {
			return nil, err
		}
	}
	r, err := s.source.Open(i)
	if err != nil {
		return nil, err
	}
	s.open[i] = r
	s.recent = append(s.recent, i)
	return r, nil
}

// close closes all.
func (s *setFiles) close() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.open {
		if e := f.Close(); e != nil && err == nil {
			err = fmt.Errorf("close file %d of a set: %w", i, e)
		}
	}
	s.open, s.recent = map[int]SetFile{}, nil
	return err
}
