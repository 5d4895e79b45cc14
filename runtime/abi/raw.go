package abi

import (
	"fmt"
	"unsafe"
)

// RawMetadata mirrors ClientRuntimeMetadata. Strings are addresses in the module's memory.
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

// Sizes in bytes. On 64-bit systems they are 32, 32, 48 and 40 (client_runtime.h).
const (
	MetadataSize = 8 + 3*pointerSize
	ResultSize   = 8 + 3*pointerSize
	ExportsSize  = 8 + 5*pointerSize
	ServicesSize = 8 + 4*pointerSize

	pointerSize = uint32(unsafe.Sizeof(uintptr(0)))
)

// These lines don't compile if the mirror has another size than the contract.
var (
	_ [MetadataSize]byte = [unsafe.Sizeof(RawMetadata{})]byte{}
	_ [ResultSize]byte   = [unsafe.Sizeof(RawResult{})]byte{}
	_ [ExportsSize]byte  = [unsafe.Sizeof(RawExports{})]byte{}
	_ [ServicesSize]byte = [unsafe.Sizeof(RawServices{})]byte{}
)

// Spare is the number of unused bytes after a struct that a module fills. A module that was built for a longer struct of a later version
// and ignores the given size writes into these bytes, and not into other memory. No struct of the contract will ever be that large.
const Spare = 1024

// NewResult makes the struct that a module's main function fills: zero except for its size, with Spare bytes after it.
func NewResult() *RawResult {
	room := new(struct {
		result RawResult
		_      [Spare]byte
	})
	room.result.StructSize = ResultSize
	return &room.result
}

// newExports makes the struct that a module's query function fills: zero except for its sizes, with Spare bytes after it.
func newExports() *RawExports {
	room := new(struct {
		exports RawExports
		_       [Spare]byte
	})
	room.exports.StructSize, room.exports.Metadata.StructSize = ExportsSize, MetadataSize
	return &room.exports
}

// Ask calls a module's query function with the newest version and, if it refuses that, with the oldest. Each call gets a new table, zero
// except for its sizes, with Spare bytes after it. The returned table was checked with Check.
func Ask(query func(version uint32, table *RawExports) bool) (*RawExports, error) {
	for _, version := range []uint32{HostABIVersion, OldestHostABIVersion} {
		if table := newExports(); query(version, table) {
			return table, table.Check(version)
		}
	}
	return nil, ErrRefused
}

// Check checks a filled table, requested with version, against the contract. RawMetadata.Copy checks its strings.
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

// Copy copies the metadata. None of the three strings may be null; they may be empty.
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

// Copy copies the result of Run and checks it: the size is unchanged, the kind is known, and a reload names a path.
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
