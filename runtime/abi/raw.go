package abi

import (
	"fmt"
	"unsafe"
)

// RawMetadata mirrors ClientRuntimeMetadata. Strings are addresses of the module's memory.
type RawMetadata struct {
	StructSize           uint32
	AbiVersion           uint32
	RuntimeName          uintptr
	BuildHash            uintptr
	CompatibilityVersion uintptr
}

// RawResult mirrors ClientRuntimeResult.
type RawResult struct {
	StructSize                    uint32
	ResultKind                    uint32
	Success                       uint8 // C's bool
	RequestedRuntimePath          uintptr
	RequestedCompatibilityVersion uintptr
}

// RawExports mirrors ClientRuntimeExports.
type RawExports struct {
	StructSize uint32
	Metadata   RawMetadata
	Run        uintptr // address of the module's main function
}

// RawServices mirrors ColletHostServices.
type RawServices struct {
	StructSize uint32
	Version    uint32
	Context    uintptr
	Ready      uintptr
	Log        uintptr
	Stopping   uintptr
}

// Sizes in bytes. On 64-bit systems they are 32, 32, 48 and 40 (fonline reference, section 3.6; client_runtime.h).
const (
	MetadataSize = 8 + 3*pointerSize
	ResultSize   = 8 + 3*pointerSize
	ExportsSize  = 8 + 5*pointerSize
	ServicesSize = 8 + 4*pointerSize

	pointerSize = uint32(unsafe.Sizeof(uintptr(0)))
)

// These lines don't compile where the mirror has another size than the contract says.
var (
	_ [MetadataSize]byte = [unsafe.Sizeof(RawMetadata{})]byte{}
	_ [ResultSize]byte   = [unsafe.Sizeof(RawResult{})]byte{}
	_ [ExportsSize]byte  = [unsafe.Sizeof(RawExports{})]byte{}
	_ [ServicesSize]byte = [unsafe.Sizeof(RawServices{})]byte{}
)

// Spare is how many bytes of nobody's stand behind a struct that a module fills. A module that was built for a longer
// struct of a later time, and does not look at the size it is given, then writes into these and not into our memory. No
// struct of the contract will ever come near this size.
const Spare = 1024

// NewResult makes the struct that a module's main function fills: zero but for its size, with Spare bytes behind it.
func NewResult() *RawResult {
	room := new(struct {
		result RawResult
		_      [Spare]byte
	})
	room.result.StructSize = ResultSize
	return &room.result
}

// newExports makes the struct that a module's query function fills, in the same way.
func newExports() *RawExports {
	room := new(struct {
		exports RawExports
		_       [Spare]byte
	})
	room.exports.StructSize, room.exports.Metadata.StructSize = ExportsSize, MetadataSize
	return &room.exports
}

// Ask asks a module's query function with the newest version and, if it refuses that, with the oldest. Each time it gets
// a fresh table, zero but for its sizes, with Spare bytes behind it. The table was checked with Check.
func Ask(query func(version uint32, table *RawExports) bool) (*RawExports, error) {
	for _, version := range []uint32{HostABIVersion, OldestHostABIVersion} {
		if table := newExports(); query(version, table) {
			return table, table.Check(version)
		}
	}
	return nil, ErrRefused
}

// Check reports whether a filled table that was asked for with version has the shape that the contract says. What its
// strings are is the business of RawMetadata.Copy.
func (e *RawExports) Check(version uint32) error {
	switch m := e.Metadata; {
	case e.StructSize != ExportsSize:
		return fmt.Errorf("exports: %w: %d, want %d", ErrStructSize, e.StructSize, ExportsSize)
	case m.StructSize != MetadataSize:
		return fmt.Errorf("metadata: %w: %d, want %d", ErrStructSize, m.StructSize, MetadataSize)
	case m.AbiVersion == 0:
		return ErrZeroABI
	case m.AbiVersion != version:
		return fmt.Errorf("%w: %d, asked with %d", ErrWrongABI, m.AbiVersion, version)
	case e.Run == 0:
		return ErrNullRun
	default:
		return nil
	}
}

// Copy copies what the metadata says. All three strings have to be there; they may be empty.
func (m RawMetadata) Copy() (Metadata, error) {
	copied := Metadata{ABIVersion: m.AbiVersion}
	for _, field := range []struct {
		name string
		from uintptr
		to   *string
	}{
		{"runtime name", m.RuntimeName, &copied.RuntimeName},
		{"build hash", m.BuildHash, &copied.BuildHash},
		{"compatibility version", m.CompatibilityVersion, &copied.CompatibilityVersion},
	} {
		text, err := CopyString(field.from)
		if err == nil && field.from == 0 {
			err = ErrNullString
		}
		if err != nil {
			return Metadata{}, fmt.Errorf("%s: %w", field.name, err)
		}
		*field.to = text
	}
	return copied, nil
}

// Copy copies what Run left and checks it: the size is the one that was handed over, the kind is a known one, and a
// reload names a path.
func (r *RawResult) Copy() (Result, error) {
	if r.StructSize != ResultSize {
		return Result{}, fmt.Errorf("result: %w: %d, want %d", ErrStructSize, r.StructSize, ResultSize)
	}
	kind := ResultKind(r.ResultKind)
	if kind > FatalError {
		return Result{}, fmt.Errorf("%w: %d", ErrUnknownKind, r.ResultKind)
	}
	path, err := CopyString(r.RequestedRuntimePath)
	if err != nil {
		return Result{}, fmt.Errorf("requested path: %w", err)
	}
	compatibility, err := CopyString(r.RequestedCompatibilityVersion)
	if err != nil {
		return Result{}, fmt.Errorf("requested compatibility version: %w", err)
	}
	if kind == ReloadRequested && path == "" {
		return Result{}, ErrNoPath
	}
	return Result{
		Kind: kind, Success: r.Success != 0,
		RequestedRuntimePath: path, RequestedCompatibilityVersion: compatibility,
	}, nil
}
