package host

import (
	"sync"

	"collet/runtime/abi"
)

// receiver takes the calls of all modules of this process.
var receiver abi.Receiver

// addresses are C's addresses of the callbacks, made when the first module wants them.
var addresses = sync.OnceValue(func() (a struct{ ready, log, stopping uintptr }) {
	a.ready, a.log, a.stopping = callback(onReady), callback(onLog), callback(onStopping)
	return a
})

// offered keeps the structs that modules were given, for good: 40 bytes a run. A thread that a module left behind against
// the rules may look at one at any time, and must find its own run's context there.
var offered struct {
	mu      sync.Mutex
	structs []*abi.RawServices
}

// offer hands the services of a run to the module, if it wants any. Whether it takes them is its business.
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

// These take and return integers only: all that every system can pass.

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
