package host

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
)

// residents is what this process has loaded. The system's loader has one table for the process, so this one is for the
// process, too. Nothing is ever removed.
var residents struct {
	mu    sync.Mutex
	files []resident
}

// resident is a file that was loaded once.
type resident struct {
	path string // real and absolute
	info os.FileInfo
	held *os.File // keeps the file's identity from being given to another file; nil where the system needs that not
}

var errNotRegular = errors.New("not a regular file")

// openOnce has the system's loader open a file that it has not opened before. A file that it can't open is not noted: it
// may be repaired and tried again.
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

// identify opens a file to tell what it is. Anything but a regular file, such as a pipe, is not opened.
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
