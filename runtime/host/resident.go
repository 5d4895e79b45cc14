package host

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
)

// residents are the files that this process has loaded. It is one table for the process, as in the system's loader. Entries are never
// removed.
var residents struct {
	mu    sync.Mutex
	files []resident
}

// resident is a file that was loaded once.
type resident struct {
	path string // real and absolute
	info os.FileInfo
	held *os.File // reserves the file's identity; nil if the system does not need it
}

var errNotRegular = errors.New("not a regular file")

// openOnce opens a file with the system's loader, unless this process has loaded it before. A file that can't be opened is not recorded:
// it may be repaired and tried again.
func openOnce(path string) (handle uintptr, err error) {
	candidate, err := identify(path)
	if err != nil {
		return 0, err
	}
	residents.mu.Lock()
	defer residents.mu.Unlock()
	for _, known := range residents.files {
		if known.path == candidate.path || os.SameFile(known.info, candidate.info) {
			candidate.held.Close()
			return 0, ErrResident
		}
	}
	if handle, err = openLibrary(candidate.path); err != nil {
		candidate.held.Close()
		return 0, err
	}
	candidate.held = hold(candidate.held)
	residents.files = append(residents.files, candidate)
	return handle, nil
}

// identify opens a file for its identity. Other files than regular ones, such as pipes, are not opened.
func identify(path string) (r resident, err error) {
	if r.path, err = filepath.Abs(path); err != nil {
		return r, err
	}
	if r.path, err = filepath.EvalSymlinks(r.path); err != nil {
		return r, err
	}
	info, err := os.Stat(r.path)
	if err != nil {
		return r, err
	}
	if !info.Mode().IsRegular() {
		return r, errNotRegular
	}
	if r.held, err = os.Open(r.path); err != nil {
		return r, err
	}
	if r.info, err = r.held.Stat(); err != nil {
		return r, errors.Join(err, r.held.Close())
	}
	return r, nil
}
