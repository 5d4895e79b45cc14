package host

import (
	"errors"
	"fmt"

	"collet/runtime/abi"
)

var (
	// ErrClosed says that the module was closed.
	ErrClosed = errors.New("module is closed")
	// ErrRunning says that the module runs, so that it can't be run again or closed; the call came from one of its
	// callbacks.
	ErrRunning = errors.New("module is running")
)

// Module is a loaded module. Load makes one, Close ends it. All methods are for the thread that loaded it.
type Module struct {
	path   string
	handle uintptr // 0: closed
	meta   abi.Metadata
	run    func(argc int32, argv **byte, result *abi.RawResult)
	take   func(*abi.RawServices) bool // nil: the module wants no services

	running bool
}

// Metadata is who the module says it is. It stays valid after Close.
func (m *Module) Metadata() abi.Metadata { return m.meta }

// Run runs the module to its end with args, of which the first names the host program. The services are offered before,
// if the module wants them. The result's strings are copies.
//
// An error means that the module was not run (ErrClosed, ErrRunning, abi.ErrZeroByte), or that it ran and its result
// breaks the contract (abi.ErrStructSize, abi.ErrUnknownKind, abi.ErrNoPath, abi.ErrUnterminated).
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

// idle reports why the module can be neither run nor closed, if so.
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

// Close unmaps the module, as far as the module lets itself be unmapped; its path stays refused. Closing it again does
// nothing. While it runs, which only a callback can see, it is not closed (ErrRunning).
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
