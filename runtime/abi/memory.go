package abi

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// MaxString is the longest string that is taken from a module, in bytes. The longest that makes sense is a path of
// Windows: 32 767 units of UTF-16, which are up to 98 301 bytes of UTF-8.
const MaxString = 128 << 10

// CopyString copies a zero-ended string out of a module's memory. A null one is empty. One that does not end within
// MaxString bytes is ErrUnterminated. An address that is not the module's ends the process.
func CopyString(address uintptr) (string, error) {
	if address == 0 {
		return "", nil
	}
	start := *(*unsafe.Pointer)(unsafe.Pointer(&address)) // memory of the module, which no collector moves
	for n := range MaxString {
		if *(*byte)(unsafe.Add(start, n)) == 0 {
			return string(unsafe.Slice((*byte)(start), n)), nil
		}
	}
	return "", ErrUnterminated
}

// Argv is a command line as C wants it: addresses of zero-ended strings, and a null after the last. Its memory is the
// caller's until Release; a module may write to it, as a main function may.
type Argv struct {
	pointers []*byte
	pins     runtime.Pinner
}

// NewArgv copies args. Release it when C is done with it. An argument with a zero byte inside is ErrZeroByte.
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

// Release lets the memory go.
func (a *Argv) Release() { a.pins.Unpin() }

// Receiver takes the calls that modules make to their host, and passes them on to the Services of the run that they
// belong to. What tells them apart is the context that a module hands back. A call of another run than the one that is
// on, from a thread that a module left behind, goes nowhere.
//
// The zero value is ready. The methods are safe for concurrent use.
type Receiver struct {
	mu       sync.RWMutex
	run      uintptr // the run that is on, or the last one
	on       bool
	services Services
}

// Connect begins a run. It returns the run's context, which is never 0.
func (r *Receiver) Connect(s Services) (context uintptr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run++
	r.on, r.services = true, s
	return r.run
}

// Disconnect ends the run. It returns when no service is being called any more, and none will be.
func (r *Receiver) Disconnect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on, r.services = false, Services{}
}

// Ready is the Ready callback. It reports whether the call belongs to the run that is on.
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

// Log is the Log callback; message is the address of a zero-ended string. It reports whether the call belongs to the run
// that is on.
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

// Stopping is the Stopping callback: whether the run that the call belongs to should come to its end. One that is over should.
func (r *Receiver) Stopping(context uintptr) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if !r.on || context != r.run {
		return true
	}
	return r.services.Stopping != nil && r.services.Stopping()
}
