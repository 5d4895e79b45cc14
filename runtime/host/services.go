package host

import (
	"sync"

	"collet/runtime/abi"
)

// receiver handles the calls of all modules of this process.
var receiver abi.Receiver

// addresses are the callbacks' addresses for C, made for the first module that needs them.
var addresses = sync.OnceValue(func() (a struct{ ready, log, stopping uintptr }) {
	a.ready, a.log, a.stopping = callback(onReady), callback(onLog), callback(onStopping)
	return a
})

// offered keeps the structs that were passed to modules for the rest of the process: 40 bytes a run. A leftover thread of a module, which
// the contract forbids, may read its struct at any time and must find its own run's context.
var offered struct {
	mu      sync.Mutex
	structs []*abi.RawServices
}

// offer passes the services of a run to the module, if it exports the function for them. Its result is ignored.
func (m *Module) offer(context uintptr) {
	if m.take == nil {
		return
	}
	services := &abi.RawServices{
		StructSize: abi.ServicesSize, Version: abi.ServicesVersion, Context: context,
		Ready: addresses().ready, Log: addresses().log, Stopping: addresses().stopping,
	}
	offered.mu.Lock()
	offered.structs = append(offered.structs, services)
	offered.mu.Unlock()
	m.take(services)
}

// The callbacks take and return integers only, which work on every system.

func onReady(context uintptr) uintptr { return truth(receiver.Ready(context)) }

func onLog(context, level, message uintptr) uintptr {
	return truth(receiver.Log(context, int(level), message))
}

func onStopping(context uintptr) uintptr { return truth(receiver.Stopping(context)) }

func truth(b bool) uintptr {
	if b {
		return 1
	}
	return 0
}
