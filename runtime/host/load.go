package host

import (
	"errors"
	"fmt"

	"collet/runtime/abi"
)

// Stage is the stage at which loading a module failed. The values appear in logs and on the control pipe.
type Stage string

const (
	StageOpen     Stage = "open"
	StageSymbol   Stage = "symbol"
	StageQuery    Stage = "query"
	StageABI      Stage = "ABI"
	StageMetadata Stage = "metadata"

	StageComponents Stage = "components"
)

// LoadError says which module could not be loaded, and at which stage. All errors of Load have this type.
type LoadError struct {
	Path  string // as passed to Load
	Stage Stage
	Err   error
}

func (e *LoadError) Error() string {
	return fmt.Sprintf("load module %q: %s: %v", e.Path, e.Stage, e.Err)
}

// Unwrap returns the cause: ErrResident, ErrNoSymbol, an error of package abi, or the system's.
func (e *LoadError) Unwrap() error { return e.Err }

var (
	// ErrResident says that this process has loaded the path or the file before and can't load it again.
	ErrResident = errors.New("this process has loaded it before; only a new process gets new code")
	// ErrNoSymbol says that the file is a library but not a module.
	ErrNoSymbol = errors.New("library does not export " + abi.QuerySymbol)
)

// Load maps the module at path and checks it. A relative path is relative to the working folder. The system's folders are never searched
// for the module, only for its dependencies, after its own folder. A crash in the module's constructors ends this process.
func Load(path string) (*Module, error) {
	handle, err := openOnce(path)
	if err != nil {
		return nil, &LoadError{path, StageOpen, err}
	}
	m := &Module{path: path, handle: handle}
	if stage, err := m.query(); err != nil {
		return nil, &LoadError{path, stage, errors.Join(err, closeLibrary(handle))}
	}
	return m, nil
}

// query performs the stages after open.
func (m *Module) query() (Stage, error) {
	entry, err := symbol(m.handle, abi.QuerySymbol)
	if err != nil {
		return StageSymbol, fmt.Errorf("%w: %w", ErrNoSymbol, err)
	}
	var ask func(version uint32, exports *abi.RawExports) bool
	bind(&ask, entry)
	exports, err := abi.Ask(ask)
	if errors.Is(err, abi.ErrRefused) {
		return StageQuery, err
	}
	if err != nil {
		return StageABI, err
	}
	if m.meta, err = exports.Metadata.Copy(); err != nil {
		return StageMetadata, err
	}
	if address, err := symbol(m.handle, abi.ComponentsSymbol); err == nil {
		var ask func(*abi.RawComponents) bool
		bind(&ask, address)
		if m.meta.Components, err = abi.AskComponents(ask); err != nil {
			return StageComponents, err
		}
	}
	bind(&m.run, exports.Run)
	if address, err := symbol(m.handle, abi.ServicesSymbol); err == nil {
		bind(&m.take, address)
	}
	return "", nil
}
