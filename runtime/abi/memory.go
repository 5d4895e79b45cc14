package abi

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// MaxString is the longest accepted string of a module, in bytes. The longest valid one is a path of Windows: 32 767 units of UTF-16,
// which are up to 98 301 bytes of UTF-8.
const MaxString = 128 << 10

// CopyString copies a zero-terminated string from a module's memory. Null is the empty string. A string that does not end within
// MaxString bytes is ErrUnterminated. An invalid address crashes the process.
func CopyString(address uintptr) (string, error) {
	if address == 0 {
		return "", nil
	}
	start := *(*unsafe.Pointer)(unsafe.Pointer(&address)) // memory of the module, which is not garbage-collected
	for n := range MaxString {
		if *(*byte)(unsafe.Add(start, n)) == 0 {
			return string(unsafe.Slice((*byte)(start), n)), nil
		}
	}
	return "", ErrUnterminated
}

// Argv is a command line for C: addresses of zero-terminated strings, and a final null. Its memory stays valid until Release; a module
// may write to it, as a main function may.
type Argv struct {
	pointers []*byte
	pins     runtime.Pinner
}

// NewArgv copies args. The caller releases it when C no longer uses it. An argument with a zero byte is ErrZeroByte.
func NewArgv(args []string) (*Argv, error) {
	if len(args) > math.MaxInt32 {
		return nil, fmt.Errorf("%d arguments are more than C counts", len(args))
	}
	for _, arg := range args {
		if strings.IndexByte(arg, 0) >= 0 {
			return nil, fmt.Errorf("%w: %q", ErrZeroByte, arg)
		}
	}
	a := &Argv{pointers: make([]*byte, len(args)+1)}
	a.pins.Pin(&a.pointers[0])
	for i, arg := range args {
		a.pointers[i] = &append([]byte(arg), 0)[0]
		a.pins.Pin(a.pointers[i])
	}
	return a, nil
}

// Count is C's argc.
func (a *Argv) Count() int32 { return int32(len(a.pointers) - 1) }

// Pointer is C's argv.
func (a *Argv) Pointer() **byte { return &a.pointers[0] }

// Release unpins the memory.
func (a *Argv) Release() { a.pins.Unpin() }

// Receiver handles the calls of modules to their host, and passes them to the Services of their run. The context that a module passes
// back identifies the run. A call of another run than the current one, from a leftover thread of a module, is ignored.
//
// The zero value is ready. The methods are safe for concurrent use.
type Receiver struct {
	mu       sync.RWMutex
	run      uintptr // the current run, or the last one
	on       bool
	services Services
}

// Connect begins a run and returns its context, which is never 0.
func (r *Receiver) Connect(s Services) (context uintptr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run++
	r.on, r.services = true, s
	return r.run
}

// Disconnect ends the run. It waits for service calls under way; no service is called afterwards.
func (r *Receiver) Disconnect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on, r.services = false, Services{}
}

// Ready is the Ready callback. It reports whether the call belongs to the current run.
func (r *Receiver) Ready(context uintptr) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if !r.on || context != r.run {
		return false
	}
	if r.services.Ready != nil {
		r.services.Ready()
	}
	return true
}

// Log is the Log callback; message is the address of a zero-terminated string. It reports whether the call belongs to the current run.
func (r *Receiver) Log(context uintptr, level int, message uintptr) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if !r.on || context != r.run {
		return false
	}
	if r.services.Log == nil {
		return true
	}
	text, err := CopyString(message)
	if err != nil {
		level, text = int(LogError), "a message of the module was dropped: "+err.Error()
	}
	r.services.Log(int32(min(max(level, math.MinInt32), math.MaxInt32)), text)
	return true
}

// Stopping is the Stopping callback: it reports whether the run of the call should end. For a run that is over it is true.
func (r *Receiver) Stopping(context uintptr) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if !r.on || context != r.run {
		return true
	}
	return r.services.Stopping != nil && r.services.Stopping()
}
