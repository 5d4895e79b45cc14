package host

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"collet/runtime/abi"
)

// maxString is the longest string that is read out of a module, in bytes. Names and versions are short; the longest is a
// path, and no system takes one over 32 KiB.
const maxString = 32 << 10

// Module is a loaded module. It is used from one thread. Load makes one.
type Module struct {
	path     string
	handle   uintptr
	meta     abi.Metadata
	run      func(argc int32, argv **byte, result *abi.RawResult)
	services func(*abi.RawServices) bool // nil: the module wants none
	offered  *abi.RawServices            // pinned while the module may hold it
	pins     runtime.Pinner
}

// query goes through the stages after open.
func (m *Module) query() (Stage, error) {
	entry, err := symbol(m.handle, abi.QuerySymbol)
	if err != nil {
		return StageSymbol, fmt.Errorf("%w: %w", ErrNoSymbol, err)
	}
	var ask func(version uint32, exports *abi.RawExports) bool
	purego.RegisterFunc(&ask, entry)
	exports, version, ok := askBoth(ask)
	if !ok {
		return StageQuery, ErrRefused
	}
	if err := exports.Check(version); errors.Is(err, abi.ErrNullString) {
		return StageMetadata, err
	} else if err != nil {
		return StageABI, err
	}
	if err := m.copyMetadata(exports.Metadata); err != nil {
		return StageMetadata, err
	}
	purego.RegisterFunc(&m.run, exports.Run)
	if address, err := symbol(m.handle, abi.ServicesSymbol); err == nil {
		purego.RegisterFunc(&m.services, address)
	}
	return "", nil
}

// askBoth asks with the newest version, then with the oldest.
func askBoth(ask func(uint32, *abi.RawExports) bool) (exports *abi.RawExports, version uint32, ok bool) {
	for _, version := range []uint32{abi.HostABIVersion, abi.OldestHostABIVersion} {
		exports := &abi.RawExports{StructSize: abi.ExportsSize, Metadata: abi.RawMetadata{StructSize: abi.MetadataSize}}
		if ask(version, exports) {
			return exports, version, true
		}
	}
	return nil, 0, false
}

func (m *Module) copyMetadata(raw abi.RawMetadata) error {
	var errs [3]error
	m.meta.ABIVersion = raw.AbiVersion
	m.meta.RuntimeName, errs[0] = copyString(raw.RuntimeName)
	m.meta.BuildHash, errs[1] = copyString(raw.BuildHash)
	m.meta.CompatibilityVersion, errs[2] = copyString(raw.CompatibilityVersion)
	return errors.Join(errs[:]...)
}

// copyString copies a C string; a null one is empty.
func copyString(address uintptr) (string, error) {
	if address == 0 {
		return "", nil
	}
	start := *(*unsafe.Pointer)(unsafe.Pointer(&address)) // memory of the module, which no collector moves
	for n := range maxString {
		if *(*byte)(unsafe.Add(start, n)) == 0 {
			return strings.ToValidUTF8(string(unsafe.Slice((*byte)(start), n)), "\uFFFD"), nil
		}
	}
	return "", fmt.Errorf("a string is longer than %d bytes", maxString)
}

// Metadata is who the module says it is.
func (m *Module) Metadata() abi.Metadata { return m.meta }

// Run runs the module to its end with args, of which the first names the host program. The services are offered before,
// if the module wants them. An error means that the arguments can't be handed over or that the result breaks the
// contract; the Result is then as it was read.
func (m *Module) Run(args []string, s abi.Services) (abi.Result, error) {
	var pins runtime.Pinner
	defer pins.Unpin()
	argv, err := vector(&pins, args)
	if err != nil {
		return abi.Result{}, err
	}
	m.offer(s)
	defer silence()
	raw := &abi.RawResult{StructSize: abi.ResultSize}
	m.run(int32(len(args)), argv, raw)
	return copyResult(raw)
}

// vector lays args out as C wants them: pointers to zero-ended strings, and a null after the last.
func vector(pins *runtime.Pinner, args []string) (**byte, error) {
	pointers := make([]*byte, len(args)+1)
	for i, arg := range args {
		if strings.IndexByte(arg, 0) >= 0 {
			return nil, fmt.Errorf("argument %q contains a zero byte", arg)
		}
		text := append([]byte(arg), 0)
		pins.Pin(&text[0])
		pointers[i] = &text[0]
	}
	pins.Pin(&pointers[0])
	return &pointers[0], nil
}

func copyResult(raw *abi.RawResult) (abi.Result, error) {
	if raw.StructSize != abi.ResultSize {
		return abi.Result{}, abi.ErrStructSize
	}
	r := abi.Result{Kind: abi.ResultKind(raw.ResultKind), Success: raw.Success != 0}
	var errs [2]error
	r.RequestedRuntimePath, errs[0] = copyString(raw.RequestedRuntimePath)
	r.RequestedCompatibilityVersion, errs[1] = copyString(raw.RequestedCompatibilityVersion)
	if err := errors.Join(errs[:]...); err != nil {
		return r, err
	}
	return r, r.Check()
}

// Close unmaps the module, as far as the module lets itself be unmapped. It must not be used afterwards.
func (m *Module) Close() error {
	err := closeLibrary(m.handle)
	if m.offered != nil {
		m.pins.Unpin()
	}
	return err
}
