//go:build cgo

package embedded

/*
#cgo CFLAGS: -std=c11 -O2 -fvisibility=hidden
#cgo linux LDFLAGS: -ldl -lpthread
#define COLLET_EXPORT __attribute__((visibility("hidden")))
#include <stdlib.h>
#include "../abi/client_runtime.h"

extern intptr_t colletEmbeddedReady(void*);
extern intptr_t colletEmbeddedLog(void*, intptr_t, char*);

static const ColletHostServices offered = {
	sizeof offered, 1, NULL, colletEmbeddedReady,
	(intptr_t (*)(void*, intptr_t, const char*))colletEmbeddedLog,
};

static bool offer(void) { return Collet_SetHostServices(&offered); }

static void run(ClientRuntimeRun f, int32_t argc, char** argv, ClientRuntimeResult* result) { f(argc, argv, result); }
*/
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"collet/runtime/abi"
	_ "collet/runtime/sample" // its embedded sources are the ones compiled here: a change there rebuilds this package
)

// Module is the built-in client. It is used from one thread; Open makes one.
type Module struct {
	meta abi.Metadata
	run  C.ClientRuntimeRun
}

// Available reports whether this program has a built-in client.
func Available() bool { return true }

// Open asks the built-in client for its table, as a host asks a module.
func Open() (*Module, error) {
	exports := C.ClientRuntimeExports{StructSize: abi.ExportsSize}
	if !C.FO_QueryClientRuntimeExports(abi.HostABIVersion, &exports) {
		return nil, errors.New("built-in client refuses the ABI version it was built with")
	}
	m := exports.Metadata
	return &Module{run: exports.Run, meta: abi.Metadata{
		ABIVersion: uint32(m.AbiVersion), RuntimeName: C.GoString(m.RuntimeName), BuildHash: C.GoString(m.BuildHash),
		CompatibilityVersion: C.GoString(m.CompatibilityVersion),
	}}, nil
}

// Metadata is who the built-in client is.
func (m *Module) Metadata() abi.Metadata { return m.meta }

// listener hears what the built-in client says. There is one client in the process, so there is one listener.
var listener struct {
	mu       sync.Mutex
	services abi.Services
}

func listen(s abi.Services) {
	listener.mu.Lock()
	defer listener.mu.Unlock()
	listener.services = s
}

func services() abi.Services {
	listener.mu.Lock()
	defer listener.mu.Unlock()
	return listener.services
}

// Run runs the client to its end with args, of which the first names the host program.
func (m *Module) Run(args []string, s abi.Services) (abi.Result, error) {
	argv := C.malloc(C.size_t(len(args)+1) * C.size_t(unsafe.Sizeof(uintptr(0))))
	defer C.free(argv)
	vector := unsafe.Slice((**C.char)(argv), len(args)+1)
	vector[len(args)] = nil
	for i, arg := range args {
		if strings.IndexByte(arg, 0) >= 0 {
			return abi.Result{}, fmt.Errorf("argument %q contains a zero byte", arg)
		}
		vector[i] = C.CString(arg)
		defer C.free(unsafe.Pointer(vector[i]))
	}
	listen(s)
	defer listen(abi.Services{})
	C.offer()
	raw := C.ClientRuntimeResult{StructSize: abi.ResultSize}
	C.run(m.run, C.int32_t(len(args)), (**C.char)(argv), &raw)
	r := abi.Result{Kind: abi.ResultKind(raw.ResultKind), Success: bool(raw.Success)}
	r.RequestedRuntimePath = C.GoString(raw.RequestedRuntimePath)
	r.RequestedCompatibilityVersion = C.GoString(raw.RequestedCompatibilityVersion)
	return r, r.Check()
}

// Close does nothing: the client is part of the program.
func (m *Module) Close() error { return nil }

//export colletEmbeddedReady
func colletEmbeddedReady(unsafe.Pointer) C.intptr_t {
	if ready := services().Ready; ready != nil {
		ready()
	}
	return 0
}

//export colletEmbeddedLog
func colletEmbeddedLog(_ unsafe.Pointer, level C.intptr_t, message *C.char) C.intptr_t {
	if log := services().Log; log != nil {
		log(int32(level), C.GoString(message))
	}
	return 0
}
