//go:build cgo

package embedded

/*
#cgo CFLAGS: -std=c11 -O2 -Wall -Wextra -fvisibility=hidden
#cgo linux LDFLAGS: -ldl -lpthread
#cgo windows LDFLAGS: -lws2_32 -lgdi32
#include "bridge.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"collet/runtime/abi"
	"collet/runtime/area"
	_ "collet/runtime/sample" // its embedded sources are the ones compiled here: a change there rebuilds this package
)

// ErrRunning says that the client is running and can't be run again; the call came from one of its callbacks.
var ErrRunning = errors.New("built-in client is running")

// receiver handles the calls of the built-in client. The process has one client, so it has one receiver.
var receiver abi.Receiver

// Module is the built-in client. Open makes one. All methods are for the thread that opened it.
type Module struct {
	meta    abi.Metadata
	run     uintptr
	running bool
}

// Available reports whether this program has a built-in client.
func Available() bool { return true }

// handOver passes the program's package to the client, in memory that is never freed: the client may read it at any time.
var handOver = sync.OnceValue(func() error {
	contents, packaged, err := area.ReadOwn()
	if packaged {
		C.collet_embedded_packaged(C.CString(contents.Config), C.size_t(len(contents.Config)), C.CString(contents.Name))
	}
	return err
})

// Open queries the built-in client for its table, as a host queries a module.
func Open() (*Module, error) {
	if err := handOver(); err != nil {
		return nil, fmt.Errorf("open built-in client: %w", err)
	}
	exports, err := abi.Ask(func(version uint32, table *abi.RawExports) bool {
		return bool(C.collet_embedded_query(C.uint32_t(version), unsafe.Pointer(table)))
	})
	if err != nil {
		return nil, fmt.Errorf("open built-in client: %w", err)
	}
	meta, err := exports.Metadata.Copy()
	if err != nil {
		return nil, fmt.Errorf("open built-in client: %w", err)
	}
	meta.Components, err = abi.AskComponents(func(table *abi.RawComponents) bool {
		return bool(C.collet_embedded_components(unsafe.Pointer(table)))
	})
	if err != nil {
		return nil, fmt.Errorf("open built-in client: %w", err)
	}
	return &Module{meta: meta, run: exports.Run}, nil
}

// Metadata is the metadata of the built-in client.
func (m *Module) Metadata() abi.Metadata { return m.meta }

// Run runs the client until it returns. The first of args names the host program. An error means that the client was not run
// (ErrRunning, abi.ErrZeroByte), or that its result violates the contract.
func (m *Module) Run(args []string, s abi.Services) (abi.Result, error) {
	if m.running {
		return abi.Result{}, ErrRunning
	}
	argv, err := abi.NewArgv(args)
	if err != nil {
		return abi.Result{}, fmt.Errorf("run built-in client: %w", err)
	}
	defer argv.Release()
	m.running = true
	defer func() { m.running = false }()
	C.collet_embedded_offer(C.uintptr_t(receiver.Connect(s)))
	raw := abi.NewResult()
	C.collet_embedded_run(C.uintptr_t(m.run), C.int32_t(argv.Count()), unsafe.Pointer(argv.Pointer()), unsafe.Pointer(raw))
	receiver.Disconnect()
	result, err := raw.Copy()
	if err != nil {
		return abi.Result{}, fmt.Errorf("result of built-in client: %w", err)
	}
	return result, nil
}

// Close does nothing: the client is part of the program.
func (m *Module) Close() error { return nil }

//export colletEmbeddedReady
func colletEmbeddedReady(context C.uintptr_t) C.intptr_t {
	return truth(receiver.Ready(uintptr(context)))
}

//export colletEmbeddedLog
func colletEmbeddedLog(context C.uintptr_t, level C.intptr_t, message C.uintptr_t) C.intptr_t {
	return truth(receiver.Log(uintptr(context), int(level), uintptr(message)))
}

//export colletEmbeddedStopping
func colletEmbeddedStopping(context C.uintptr_t) C.intptr_t {
	return truth(receiver.Stopping(uintptr(context)))
}

func truth(b bool) C.intptr_t {
	if b {
		return 1
	}
	return 0
}
