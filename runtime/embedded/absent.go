//go:build !cgo

package embedded

import "collet/runtime/abi"

// Module is the built-in client. Without cgo none exists.
type Module struct{}

// Available reports whether this program has a built-in client.
func Available() bool { return false }

// Open returns ErrAbsent.
func Open() (*Module, error) { return nil, ErrAbsent }

// Metadata is never called, because Open returns no Module.
func (m *Module) Metadata() abi.Metadata { return abi.Metadata{} }

// Run is never called, because Open returns no Module.
func (m *Module) Run([]string, abi.Services) (abi.Result, error) { return abi.Result{}, ErrAbsent }

// Close is never called, because Open returns no Module.
func (m *Module) Close() error { return nil }
