package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"collet/platform"
	"collet/runtime/abi"
)

// Stages of a LoadError.
const (
	StageOpen     = "open"     // the description can't be read
	StageMetadata = "metadata" // the description is invalid
	StageProgram  = "program"  // the executable is missing
)

// LoadError says why a description can't be run.
type LoadError struct {
	Stage string
	Err   error
}

func (e *LoadError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *LoadError) Unwrap() error { return e.Err }

// Options are the surroundings of a program.
type Options struct {
	Description string        // path of the description; absolute
	Resources   string        // folder of the resources; absolute
	Kept        string        // file that records which shipped forms were placed; absolute
	StopWithin  time.Duration // how long the program may take to end after it was asked to; then it is killed
}

// Module is a loaded description. It has the methods of a native module (supervise.Module). They are for the main goroutine, except
// Kill.
type Module struct {
	o      Options
	d      Description
	family *platform.Family
	window func() (windows, error) // finds the program's windows
	tick   time.Duration           // between two looks at the program
	now    func() time.Time
}

// Load reads a description and checks that its executable exists. It must be called on the main thread, before this process starts
// another one: this process becomes the head of the program's processes (platform.Family). The error is a *LoadError.
func Load(o Options) (*Module, error) {
	d, err := read(o.Description)
	if err != nil {
		return nil, err
	}
	m := &Module{o: o, d: d, window: openWindows, tick: tick, now: time.Now}
	info, err := os.Stat(m.path(d.Program))
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is not a file")
	}
	if err != nil {
		return nil, &LoadError{StageProgram, fmt.Errorf("program %q of the game: %w", d.Program, err)}
	}
	if m.family, err = platform.NewFamily(); err != nil {
		return nil, &LoadError{StageProgram, fmt.Errorf("follow the program's processes: %w", err)}
	}
	return m, nil
}

// read reads and checks the description's file.
func read(name string) (Description, error) {
	f, err := os.Open(name)
	if err != nil {
		return Description{}, &LoadError{StageOpen, err}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxDescription+1))
	if err != nil {
		return Description{}, &LoadError{StageOpen, err}
	}
	d, err := Parse(data)
	if err != nil {
		return Description{}, &LoadError{StageMetadata, err}
	}
	return d, nil
}

// path is the path of a file of the resources.
func (m *Module) path(name string) string {
	return filepath.Join(m.o.Resources, filepath.FromSlash(name))
}

// Metadata is what the description says of the game. A program follows no ABI; the version is that of this host.
func (m *Module) Metadata() abi.Metadata {
	return abi.Metadata{
		ABIVersion: abi.HostABIVersion, RuntimeName: m.d.Name, BuildHash: m.d.Build, CompatibilityVersion: m.d.Compatibility,
	}
}

// Kill ends the program and all that it started, at once. It may be called from any goroutine.
func (m *Module) Kill() { m.family.Kill() }

// Close does nothing: the program has ended when Run returns.
func (m *Module) Close() error { return nil }
