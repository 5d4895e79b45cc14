package abi

import (
	"errors"
	"fmt"
	"unsafe"
)

// Limits of a module's table of components.
const (
	MaxComponents    = 4096
	MaxComponentName = 128 // bytes
	MaxBuildID       = 64  // bytes
	MaxBranch        = 32  // bytes
)

// FlagDevelopment in Components.Flags is a developer's build.
const FlagDevelopment uint32 = 1

// RawComponent mirrors ColletComponent.
type RawComponent struct {
	Hash       uint64
	ChangedAt  int64
	SinceLogic int32
	WireId     uint16
	Padding    uint16
	Name       uintptr
	Reserved   uintptr
}

// RawComponents mirrors ColletComponents.
type RawComponents struct {
	StructSize   uint32
	EntrySize    uint32
	Count        uint32
	LogicVersion int32
	SetHash      uint64
	BuildTime    int64
	BuildSeq     uint64
	Patch        uint32
	Flags        uint32
	Entries      uintptr
	BuildId      uintptr
	Branch       uintptr
	Reserved     uintptr
}

// Sizes in bytes. Wide fields come first and pointers in pairs, so that compilers insert no padding. On 64-bit systems they are 40 and
// 80 (client_runtime.h).
const (
	ComponentSize  = 24 + 2*pointerSize
	ComponentsSize = 48 + 4*pointerSize
)

// These lines don't compile if the mirror has another size than the contract.
var (
	_ [ComponentSize]byte  = [unsafe.Sizeof(RawComponent{})]byte{}
	_ [ComponentsSize]byte = [unsafe.Sizeof(RawComponents{})]byte{}
)

// ErrComponents says that a module's table of components violates the contract.
var ErrComponents = errors.New("table of components breaks the contract")

// Component is one component that a module shares with servers.
type Component struct {
	Name      string
	WireID    uint16
	Hash      uint64 // never 0
	ChangedAt int64  // seconds since 1970; 0 is unknown
	Since     int32  // logic version that introduced it; 0 is the first
}

// Components are the build and the components of a module. Strings and entries are copies. The consistency of names and hashes is not
// checked; callers that compare them check it.
type Components struct {
	Logic     int32 // at least 0
	Patch     uint32
	Set       uint64 // hash over all components; never 0
	BuildTime int64  // seconds since 1970; 0 is unknown
	BuildSeq  uint64 // 0 is unknown
	BuildID   string
	Branch    string
	Flags     uint32
	Entries   []Component
}

// AskComponents queries a module's components with a new table, zero except for its size, with Spare bytes after it. The result is nil
// if the module has no table.
func AskComponents(query func(table *RawComponents) bool) (*Components, error) {
	room := new(struct {
		table RawComponents
		_     [Spare]byte
	})
	room.table.StructSize = ComponentsSize
	if !query(&room.table) {
		return nil, nil
	}
	return room.table.Copy()
}

// Copy copies a filled table and checks it: sizes are the contract's, counts and strings are within their limits, no hash is 0, and no
// name is null or empty. The error wraps ErrComponents, ErrStructSize, ErrNullString or ErrUnterminated.
func (r *RawComponents) Copy() (*Components, error) {
	switch {
	case r.StructSize != ComponentsSize:
		return nil, fmt.Errorf("components: %w: %d, want %d", ErrStructSize, r.StructSize, ComponentsSize)
	case r.EntrySize != ComponentSize:
		return nil, fmt.Errorf("component: %w: %d, want %d", ErrStructSize, r.EntrySize, ComponentSize)
	case r.Count > MaxComponents:
		return nil, fmt.Errorf("%w: %d components are more than %d", ErrComponents, r.Count, MaxComponents)
	case r.Count > 0 && r.Entries == 0:
		return nil, fmt.Errorf("%w: %d components, but no address of them", ErrComponents, r.Count)
	case r.LogicVersion < 0 || r.SetHash == 0:
		return nil, fmt.Errorf("%w: logic version %d, set hash %016x", ErrComponents, r.LogicVersion, r.SetHash)
	}
	c := &Components{
		Logic: r.LogicVersion, Patch: r.Patch, Set: r.SetHash, BuildTime: r.BuildTime, BuildSeq: r.BuildSeq, Flags: r.Flags,
		Entries: make([]Component, r.Count),
	}
	var err error
	if c.BuildID, err = copyShort(r.BuildId, MaxBuildID); err != nil {
		return nil, fmt.Errorf("build id: %w", err)
	}
	if c.Branch, err = copyShort(r.Branch, MaxBranch); err != nil {
		return nil, fmt.Errorf("branch: %w", err)
	}
	if r.Count > 0 {
		start := *(**RawComponent)(unsafe.Pointer(&r.Entries)) // memory of the module, which no collector moves
		for i, raw := range unsafe.Slice(start, r.Count) {
			if c.Entries[i], err = raw.copy(); err != nil {
				return nil, fmt.Errorf("component %d: %w", i, err)
			}
		}
	}
	return c, nil
}

func (r *RawComponent) copy() (Component, error) {
	name, err := copyShort(r.Name, MaxComponentName)
	switch {
	case err != nil:
		return Component{}, fmt.Errorf("name: %w", err)
	case r.Name == 0:
		return Component{}, fmt.Errorf("name: %w", ErrNullString)
	case name == "" || r.Hash == 0:
		return Component{}, fmt.Errorf("%w: name %q, hash %016x", ErrComponents, name, r.Hash)
	}
	return Component{Name: name, WireID: r.WireId, Hash: r.Hash, ChangedAt: r.ChangedAt, Since: r.SinceLogic}, nil
}

// copyShort copies a string of at most most bytes. It reads at most one byte more.
func copyShort(address uintptr, most int) (string, error) {
	if address == 0 {
		return "", nil
	}
	start := *(*unsafe.Pointer)(unsafe.Pointer(&address)) // memory of the module, which no collector moves
	for n := range most + 1 {
		if *(*byte)(unsafe.Add(start, n)) == 0 {
			return string(unsafe.Slice((*byte)(start), n)), nil
		}
	}
	return "", fmt.Errorf("%w: it does not end within %d bytes", ErrComponents, most)
}
