package host

import (
	"errors"
	"fmt"

	"collet/runtime/abi"
)

var (
	// ErrClosed says that the module was closed.
	ErrClosed = errors.New("module is closed")
	// ErrRunning says that the module is running and can't be run again or closed; the call came from one of its callbacks.
	ErrRunning = errors.New("module is running")
)

// Module is a loaded module. Load makes one, Close unloads it. All methods are for the thread that loaded it.
type Module struct {
	path   string
	handle uintptr // 0: closed
	meta   abi.Metadata
	run    func(argc int32, argv **byte, result *abi.RawResult)
	take   func(*abi.RawServices) bool // nil: the module does not use services

	running bool
}

// Metadata is the module's metadata. It stays valid after Close.
func (m *Module) Metadata() abi.Metadata { return m.meta }

// Run runs the module until it returns. The first of args names the host program. Before that, the services are passed to the module, if
// it uses them. The result's strings are copies.
//
// An error means that the module was not run (ErrClosed, ErrRunning, abi.ErrZeroByte), or that it ran and its result violates the
// contract (abi.ErrStructSize, abi.ErrUnknownKind, abi.ErrNoPath, abi.ErrUnterminated).
func (m *Module) Run(args []string, s abi.Services) (abi.Result, error) {
	if err := m.idle(); err != nil {
		return abi.Result{}, fmt.Errorf("run module %q: %w", m.path, err)
	}
	argv, err := abi.NewArgv(args)
	if err != nil {
		return abi.Result{}, fmt.Errorf("run module %q: %w", m.path, err)
	}
	defer argv.Release()
	m.running = true
	defer func() { m.running = false }()
	m.offer(receiver.Connect(s))
	raw := abi.NewResult()
	m.run(argv.Count(), argv.Pointer(), raw)
	receiver.Disconnect()
	result, err := raw.Copy()
	if err != nil {
		return abi.Result{}, fmt.Errorf("result of module %q: %w", m.path, err)
	}
	return result, nil
}

// idle returns nil if the module can be run or closed, else ErrClosed or ErrRunning.
func (m *Module) idle() error {
	switch {
	case m.handle == 0:
		return ErrClosed
	case m.running:
		return ErrRunning
	default:
		return nil
	}
}

// Close unmaps the module, unless the module prevents that; its path stays rejected. A second call does nothing. From a callback of the
// running module it returns ErrRunning and does not close it.
func (m *Module) Close() error {
	switch err := m.idle(); {
	case errors.Is(err, ErrClosed):
		return nil
	case err != nil:
		return fmt.Errorf("close module %q: %w", m.path, err)
	}
	err := closeLibrary(m.handle)
	m.handle = 0
	if err != nil {
		return fmt.Errorf("close module %q: %w", m.path, err)
	}
	return nil
}
