// Package abi is the contract between the host and a native runtime module: client_runtime.h and its Go mirror.
//
// The header is the contract; the Raw types repeat its structs so that Go code can lay them into memory that C reads and
// writes. A test compiles the header and compares every size, offset and constant, so that the two can't drift apart;
// another holds docs/ABI.md against both. Metadata, Result and Services are what the rest of the project uses: Go values
// whose strings were copied, so that they outlive the module.
//
// What both ways to a module share, the loaded library and the client that is linked in, is here, too: Ask makes the
// conversation in which a module shows its table, Argv lays out a command line, Receiver takes what a module says while
// it runs. None of it knows how the module got into memory.
//
// Strings of a module are taken as they are. The contract says that they are UTF-8; whoever needs that checks it.
package abi

import (
	_ "embed"
	"errors"
	"fmt"
)

// Header is the text of client_runtime.h, for whoever compiles modules.
//
//go:embed client_runtime.h
var Header string

// AreasHeader is the text of client_areas.h, for modules that packaging fills in (docs/ABI.md, "Areas").
//
//go:embed client_areas.h
var AreasHeader string

const (
	// HostABIVersion is the version of the contract that the host asks for first (fonline reference, section 1).
	HostABIVersion = 3
	// OldestHostABIVersion is the one it asks for next. Between the two only meaning changed, no layout.
	OldestHostABIVersion = 2
	// ServicesVersion is the version of RawServices.
	ServicesVersion = 2

	// QuerySymbol is what every module exports (seed 000, "Runtime ABI").
	QuerySymbol = "FO_QueryClientRuntimeExports"
	// ServicesSymbol and ComponentsSymbol are what a module may export.
	ServicesSymbol   = "Collet_SetHostServices"
	ComponentsSymbol = "Collet_QueryComponents"
)

// ResultKind says how Run ended. The numbers cross the ABI (fonline reference, section 3.6).
type ResultKind uint32

const (
	Shutdown        ResultKind = 0 // the player is done
	ReloadRequested ResultKind = 1 // load the module at RequestedRuntimePath and run that
	FatalError      ResultKind = 2 // the module can't go on
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
		return fmt.Sprintf("unknown kind %d", uint32(k))
	}
}

// Levels of Services.Log. The numbers cross the ABI.
const (
	LogDebug int32 = 0
	LogInfo  int32 = 1
	LogWarn  int32 = 2
	LogError int32 = 3
)

// Metadata is who a module is. The zero value is nobody.
type Metadata struct {
	ABIVersion           uint32 // the version whose rules the module follows; never 0
	RuntimeName          string // name of the game
	BuildHash            string // which build this is
	CompatibilityVersion string // which servers it can play on

	// Components are what it shares with servers; nil: it does not say. They are not to be changed.
	Components *Components
}

// Result is how Run ended. The zero value is a shutdown that the module does not call a success.
type Result struct {
	Kind                          ResultKind
	Success                       bool
	RequestedRuntimePath          string // with ReloadRequested, not empty
	RequestedCompatibilityVersion string // may be empty
}

// Services is what the host offers a module while it runs. Each function may be nil. They are called from any thread,
// also from several at once, only while Run runs, and Run does not return before they have. A text is one message and may
// have several lines.
type Services struct {
	Ready func()                         // the first frame is on the screen
	Log   func(level int32, text string) // levels other than the known ones come through

	// Stopping reports whether the host wants Run to return soon. It is asked often and returns at once.
	Stopping func() bool
}

// Faults of a module's answers. Ask and RawResult.Copy return them, mostly wrapped.
var (
	ErrRefused      = fmt.Errorf("module refuses ABI versions %d and %d", HostABIVersion, OldestHostABIVersion)
	ErrStructSize   = errors.New("struct has another size than the contract says")
	ErrZeroABI      = errors.New("module names no ABI version")
	ErrWrongABI     = errors.New("module follows another ABI version than it was asked for")
	ErrNullRun      = errors.New("module has no run function")
	ErrNullString   = errors.New("string of the metadata is null")
	ErrUnterminated = fmt.Errorf("string does not end within %d bytes", MaxString)
	ErrUnknownKind  = errors.New("result has an unknown kind")
	ErrNoPath       = errors.New("reload was requested without a path")
)

// ErrZeroByte says that an argument can't be handed to C, where a zero byte ends a string.
var ErrZeroByte = errors.New("argument contains a zero byte")
