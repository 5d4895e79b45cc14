// Package abi is the contract between the host and a native runtime module: client_runtime.h and its Go mirror.
//
// The header is the contract; the Raw types repeat its structs, so that Go code can place them in memory that C reads and writes. A test
// compiles the header and compares every size, offset and constant with the Raw types; another one compares docs/ABI.md with both. The
// rest of the project uses Metadata, Result and Services: Go values with copied strings, which outlive the module.
//
// The package also has the common code for loaded libraries and the linked-in client: Ask queries a module's table, Argv lays out a
// command line, Receiver handles a module's calls while it runs. It does not depend on how the module was loaded.
//
// Strings of a module are copied unchecked. The contract requires UTF-8; callers that depend on it check it.
package abi

import (
	_ "embed"
	"errors"
	"fmt"
)

// Header is the text of client_runtime.h, for compiling modules.
//
//go:embed client_runtime.h
var Header string

// AreasHeader is the text of client_areas.h, for modules that packaging fills in (docs/ABI.md, "Areas").
//
//go:embed client_areas.h
var AreasHeader string

const (
	// HostABIVersion is the version of the contract that the host requests first. The numbers are the engine's.
	HostABIVersion = 3
	// OldestHostABIVersion is the version that it requests next. The two differ in semantics, not in layout.
	OldestHostABIVersion = 2
	// ServicesVersion is the version of RawServices.
	ServicesVersion = 2

	// QuerySymbol is the function that every module exports, with the engine's name.
	QuerySymbol = "FO_QueryClientRuntimeExports"
	// ServicesSymbol and ComponentsSymbol are functions that a module may export.
	ServicesSymbol   = "Collet_SetHostServices"
	ComponentsSymbol = "Collet_QueryComponents"
)

// ResultKind is how Run ended. The numbers are part of the ABI, as in the engine.
type ResultKind uint32

const (
	Shutdown        ResultKind = 0 // the game has ended
	ReloadRequested ResultKind = 1 // load the module at RequestedRuntimePath and run it
	FatalError      ResultKind = 2 // the module can't continue
)

// String is the name for logs.
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

// Levels of Services.Log. The numbers are part of the ABI.
const (
	LogDebug int32 = 0
	LogInfo  int32 = 1
	LogWarn  int32 = 2
	LogError int32 = 3
)

// Metadata is the identity of a module. The zero value is none.
type Metadata struct {
	ABIVersion           uint32 // the version whose rules the module follows; never 0
	RuntimeName          string // name of the game
	BuildHash            string // identifies the build
	CompatibilityVersion string // identifies the compatible servers

	// Components are the components that it shares with servers; nil if it exports none. They must not be changed.
	Components *Components
}

// Result is the result of Run. The zero value is a shutdown without success.
type Result struct {
	Kind                          ResultKind
	Success                       bool
	RequestedRuntimePath          string // with ReloadRequested, not empty
	RequestedCompatibilityVersion string // may be empty
}

// Services are the host's services for a running module. Each function may be nil. They are called from any thread, also concurrently,
// and only during Run; Run does not return before they have returned. A text is one message and may have several lines.
type Services struct {
	Ready func()                         // the first frame is on the screen
	Log   func(level int32, text string) // unknown levels are passed on

	// Stopping reports whether Run should return soon. It is called often and returns at once.
	Stopping func() bool

	// Progress is what the module does before it is ready, for the player. The C interface does not have it.
	Progress func(text string)

	// Update is the version of a newer release that will be used by the next start, or empty. It is called often and returns at once.
	// The C interface does not have it.
	Update func() string
}

// Errors of a module's answers. Ask and the Copy methods return them, mostly wrapped.
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

// ErrZeroByte says that an argument can't be passed to C, where a zero byte ends a string.
var ErrZeroByte = errors.New("argument contains a zero byte")
