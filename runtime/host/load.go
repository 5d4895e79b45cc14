package host

import (
	"errors"
	"fmt"

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

	StageComponents Stage = "components"
)

// LoadError says which module could not be loaded, and at which stage. All errors of Load are of this type.
type LoadError struct {
	Path  string // as Load was given it
	Stage Stage
	Err   error
}

func (e *LoadError) Error() string {
	return fmt.Sprintf("load module %q: %s: %v", e.Path, e.Stage, e.Err)
}

// Unwrap gives the reason: ErrResident, ErrNoSymbol, a fault of package abi, or what the system said.
func (e *LoadError) Unwrap() error { return e.Err }

var (
	// ErrResident says that this process loaded the path or the file before and can't load it anew.
	ErrResident = errors.New("this process has loaded it before; only a new process gets new code")
	// ErrNoSymbol says that the file is a library but no module.
	ErrNoSymbol = errors.New("library does not export " + abi.QuerySymbol)
)

// Load maps the module at path and checks it. A relative path is one of the working folder; the system's folders are
// never searched for the module, only for the libraries that it needs, after its own. A module that crashes in its
// constructors takes this process with it.
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

// query goes through the stages after open.
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
