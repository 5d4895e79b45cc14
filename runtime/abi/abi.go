// Package abi is the contract between the host and a native runtime module: client_runtime.h and its Go mirror.
//
// The header is the contract; the mirror repeats its structs so that Go code can lay them into memory that C reads. A test
// compiles the header and compares every size, offset and constant, so that the two can't drift apart.
//
// The Raw types are memory. Metadata, Result and Services are what the rest of the project uses: Go values whose strings
// were copied, so that they outlive the module.
package abi

import (
	_ "embed"
	"errors"
)

// Header is the text of client_runtime.h, for whoever compiles modules.
//
//go:embed client_runtime.h
var Header string

const (
	// HostABIVersion is the version of the contract that the host asks for first (fonline reference, section 2.11).
	HostABIVersion = 3
	// OldestHostABIVersion is the one it asks for next; it differs in meaning only, not in layout.
	OldestHostABIVersion = 2
	// ServicesVersion is the version of RawServices.
	ServicesVersion = 1

	// QuerySymbol is what every module exports (seed 000, "Runtime ABI").
	QuerySymbol = "FO_QueryClientRuntimeExports"
	// ServicesSymbol is what a module may export.
	ServicesSymbol = "Collet_SetHostServices"
)

// ResultKind says how Run ended. The numbers cross the ABI.
type ResultKind uint32

const (
	Shutdown        ResultKind = 0
	ReloadRequested ResultKind = 1
	FatalError      ResultKind = 2
)

// String is the word used in logs.
func (k ResultKind) String() string {
	switch k {
	case Shutdown:
		return "shutdown"
	case ReloadRequested:
		return "reload requested"
	case FatalError:
		return "fatal error"
	default:
		return "unknown"
	}
}

// Levels of Services.Log. The numbers cross the ABI.
const (
	LogDebug int32 = 0
	LogInfo  int32 = 1
	LogWarn  int32 = 2
	LogError int32 = 3
)

// Metadata is who a module is.
type Metadata struct {
	ABIVersion           uint32 // the version whose rules the module follows
	RuntimeName          string
	BuildHash            string
	CompatibilityVersion string
}

// Result is how Run ended.
type Result struct {
	Kind                          ResultKind
	Success                       bool
	RequestedRuntimePath          string // with ReloadRequested, not empty
	RequestedCompatibilityVersion string
}

// Services is what the host offers a module while it runs. Both functions may be nil, are called from any thread, and
// must return promptly.
type Services struct {
	Ready func()
	Log   func(level int32, text string)
}

// Faults of a module's answers. The loader wraps them with the stage they belong to.
var (
	ErrStructSize  = errors.New("struct has another size than the contract says")
	ErrZeroABI     = errors.New("module names no ABI version")
	ErrWrongABI    = errors.New("module follows another ABI version than it was asked for")
	ErrNullString  = errors.New("a string of the metadata is null")
	ErrNullRun     = errors.New("module has no run function")
	ErrUnknownKind = errors.New("result has an unknown kind")
	ErrNoPath      = errors.New("reload was requested without a path")
)

// RawMetadata mirrors ClientRuntimeMetadata.
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
	Success                       uint8
	_                             [7]byte
	RequestedRuntimePath          uintptr
	RequestedCompatibilityVersion uintptr
}

// RawExports mirrors ClientRuntimeExports.
type RawExports struct {
	StructSize uint32
	_          [4]byte
	Metadata   RawMetadata
	Run        uintptr
}

// RawServices mirrors ColletHostServices.
type RawServices struct {
	StructSize uint32
	Version    uint32
	Context    uintptr
	Ready      uintptr
	Log        uintptr
}

// Sizes in bytes (fonline reference, section 3.6; client_runtime.h).
const (
	MetadataSize = 32
	ResultSize   = 32
	ExportsSize  = 48
	ServicesSize = 32
)

// Check reports what is wrong with a filled table that was asked for with version. nil means that it can be used.
func (e RawExports) Check(version uint32) error {
	m := e.Metadata
	switch {
	case e.StructSize != ExportsSize || m.StructSize != MetadataSize:
		return ErrStructSize
	case m.AbiVersion == 0:
		return ErrZeroABI
	case m.AbiVersion != version:
		return ErrWrongABI
	case m.RuntimeName == 0 || m.BuildHash == 0 || m.CompatibilityVersion == 0:
		return ErrNullString
	case e.Run == 0:
		return ErrNullRun
	default:
		return nil
	}
}

// Check reports what is wrong with a result whose strings were copied. nil means that it can be acted on.
func (r Result) Check() error {
	switch {
	case r.Kind > FatalError:
		return ErrUnknownKind
	case r.Kind == ReloadRequested && r.RequestedRuntimePath == "":
		return ErrNoPath
	default:
		return nil
	}
}
