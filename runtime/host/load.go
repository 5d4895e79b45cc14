package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"collet/runtime/abi"
)

// Stage is where loading a module failed. The words stand in logs and cross the control pipe.
type Stage string

const (
	StageOpen     Stage = "open"
	StageSymbol   Stage = "symbol"
	StageQuery    Stage = "query"
	StageABI      Stage = "ABI"
	StageMetadata Stage = "metadata"
)

// LoadError says which module could not be loaded, and at which stage.
type LoadError struct {
	Path  string
	Stage Stage
	Err   error
}

func (e *LoadError) Error() string {
	return fmt.Sprintf("load module %q: %s: %v", e.Path, e.Stage, e.Err)
}

// Unwrap gives the reason.
func (e *LoadError) Unwrap() error { return e.Err }

var (
	// ErrResident says that this process loaded the file before and can't load it anew.
	ErrResident = errors.New("this process has loaded the file before; only a new process gets new code")
	// ErrRefused says that the module speaks none of our ABI versions.
	ErrRefused = fmt.Errorf("module refuses ABI versions %d and %d", abi.HostABIVersion, abi.OldestHostABIVersion)
	// ErrNoSymbol says that the file is a library but no module.
	ErrNoSymbol = errors.New("library does not export " + abi.QuerySymbol)
)

// resident remembers what this process has loaded. The operating system has one table of libraries for the process, so
// this one is for the process, too. Nothing is ever removed.
var resident struct {
	mu    sync.Mutex
	files []os.FileInfo
	paths map[string]bool
}

// claim notes a file as loaded, by its real path and by its identity, or refuses it.
func claim(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	resident.mu.Lock()
	defer resident.mu.Unlock()
	for _, known := range resident.files {
		if os.SameFile(known, info) {
			return "", ErrResident
		}
	}
	if resident.paths[real] {
		return "", ErrResident
	}
	if resident.paths == nil {
		resident.paths = map[string]bool{}
	}
	resident.paths[real] = true
	resident.files = append(resident.files, info)
	return real, nil
}

// Load maps the module at path and checks it. Errors are *LoadError. A module that crashes in its constructors takes
// this process with it, which is why this process holds nothing else.
func Load(path string) (*Module, error) {
	real, err := claim(path)
	if err != nil {
		return nil, &LoadError{path, StageOpen, err}
	}
	handle, err := open(real)
	if err != nil {
		return nil, &LoadError{path, StageOpen, err}
	}
	m := &Module{path: path, handle: handle}
	if stage, err := m.query(); err != nil {
		return nil, &LoadError{path, stage, errors.Join(err, closeLibrary(handle))}
	}
	return m, nil
}
