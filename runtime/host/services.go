package host

import (
	"sync"

	"github.com/ebitengine/purego"

	"collet/runtime/abi"
)

// callbacks are the two functions that modules call. purego never frees a callback and allows only so many, so there is
// one pair for the process; who listens changes.
var callbacks struct {
	once       sync.Once
	ready, log uintptr

	mu       sync.Mutex
	listener abi.Services
}

// offer hands the services to a module that wants them.
func (m *Module) offer(s abi.Services) {
	callbacks.once.Do(func() {
		callbacks.ready, callbacks.log = purego.NewCallback(onReady), purego.NewCallback(onLog)
	})
	callbacks.mu.Lock()
	callbacks.listener = s
	callbacks.mu.Unlock()
	if m.services == nil {
		return
	}
	m.offered = &abi.RawServices{
		StructSize: abi.ServicesSize, Version: abi.ServicesVersion, Ready: callbacks.ready, Log: callbacks.log,
	}
	m.pins.Pin(m.offered)
	m.services(m.offered)
}

// silence makes late callbacks of a module that has returned do nothing.
func silence() {
	callbacks.mu.Lock()
	defer callbacks.mu.Unlock()
	callbacks.listener = abi.Services{}
}

func listener() abi.Services {
	callbacks.mu.Lock()
	defer callbacks.mu.Unlock()
	return callbacks.listener
}

// onReady and onLog take and return integers only: all that every system can pass.
func onReady(uintptr) uintptr {
	if ready := listener().Ready; ready != nil {
		ready()
	}
	return 0
}

func onLog(_, level, message uintptr) uintptr {
	log := listener().Log
	if log == nil {
		return 0
	}
	if text, err := copyString(message); err != nil {
		log(abi.LogError, "a log line of the module could not be read: "+err.Error())
	} else {
		log(int32(level), text)
	}
	return 0
}
