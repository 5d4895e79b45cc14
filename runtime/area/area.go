// Package area fills three areas inside of a built program. This turns a generic client into the client of one game, without
// additional files and without a rebuild.
//
// A host and a module each have one set. After the build they contain:
//
//	area                content                                                   capacity in bytes
//	embedded resources  bytes (i+42) mod 200, for i from 0                        multiple of 5 000 from 10 000; by default 200 000
//	internal config     ###InternalConfig###1234, decimal digits,                 from the first byte of the first marker to the
//	                    ###InternalConfigEnd###                                   last byte of the end marker; by default 10 000
//	packaged name       ###NotPackaged###, zeros                                  always 128
//
// After packaging they contain:
//
//	embedded resources  u32 little-endian length, so many bytes of a zip, then #
//	internal config     ###Packaged###, a space, N, a space, the name, a newline; N bytes of settings in TOML, UTF-8; then #
//	                    (for TOML the first line and the text after the settings are comments)
//	packaged name       the name in UTF-8, at most 127 bytes, then zeros
//
// Capacities are detected. Resources are found by their first 10 000 bytes and extended in steps of 5 000 while the pattern continues; a
// config extends to its end marker. The first occurrence of a marker is the area, so a program must not contain the text of a marker
// elsewhere; the functions here assemble markers at run time. A match must have the complete form of an area; otherwise it is code that
// happens to contain the marker, and is not changed.
//
// The file's size never changes. The format of the program (ELF, PE, Mach-O) does not matter, except that a universal Mach-O has one set
// for each processor, and all are filled. Signing comes afterwards, on Windows and on macOS: there the linker itself signs for arm64, and
// the system kills a program whose signature does not match its bytes.
//
// A program can be filled once. A second attempt is an error, because the markers are gone: packages start from the output of the build.
// The first line of the config identifies a packaged program and its name: see Packaged.
//
// The layout is the engine's, whose config is any text. The first line is an addition; Read does not require it.
package area

import (
	"errors"
	"fmt"
	"strings"
)

// Kind is one of the three areas.
type Kind string

// The three areas, by their names in errors.
const (
	Resources Kind = "embedded resources"
	Config    Kind = "internal config"
	Name      Kind = "packaged name"
)

// Kinds are all kinds, in the order of Contents.
var Kinds = []Kind{Resources, Config, Name}

// Sizes in bytes, as in the engine.
const (
	// DefaultResources is the default capacity for resources: a picture and an icon.
	DefaultResources = 200_000
	// LeastResources is the smallest capacity for resources, and the length of the pattern that is searched.
	LeastResources = 10_000
	// ResourcesStep is the step of capacities for resources.
	ResourcesStep = 5_000
	// DefaultConfig is the default capacity for settings.
	DefaultConfig = 10_000
	// NameSize is the capacity for a name, and MaxName the longest one: a zero ends it.
	NameSize = 128
	MaxName  = NameSize - 1
	// MaxConfig is the largest settings in bytes: a limit for sizes that a program announces.
	MaxConfig = 1 << 20
	// MaxProgram is the largest program that is filled. It is read into memory; real ones have some tens of millions of bytes.
	MaxProgram = 1 << 30

	lengthSize = 4 // of the u32 before resources
	period     = 200
	first      = 42
	filler     = '#'
)

// The faults of areas; an *Error wraps one of them.
var (
	ErrMissing   = errors.New("marker not found; use an unmodified program that was built with the areas")
	ErrPackaged  = errors.New("already filled; use the program as the build leaves it")
	ErrTooLong   = errors.New("the content does not fit; shorten it, or build the program with a larger capacity")
	ErrMalformed = errors.New("malformed: its end is missing, or another occurrence of its marker precedes it; remove the marker's text from the code")
	ErrContent   = errors.New("the content is not valid for this area")
	ErrDamaged   = errors.New("damaged: neither the state after the build nor after packaging; download or build the program again")
	ErrPartly    = errors.New("packaging filled other areas but not this one; package the program again")
)

// Error is a fault of one area. All errors of this package about an area have this type.
type Error struct {
	Kind     Kind
	Wanted   int    // bytes to be written; 0 if none
	Capacity int    // bytes of the area; 0 if it was not found
	Detail   string // details; may be empty
	Err      error  // one of the above
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "area of the %s", e.Kind)
	switch {
	case e.Capacity > 0 && e.Wanted > 0:
		fmt.Fprintf(&b, " (%d bytes wanted, capacity %d)", e.Wanted, e.Capacity)
	case e.Wanted > 0:
		fmt.Fprintf(&b, " (%d bytes wanted)", e.Wanted)
	case e.Capacity > 0:
		fmt.Fprintf(&b, " (capacity %d)", e.Capacity)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	}
	return b.String()
}

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Err }

// marker assembles the text of a marker at run time: a constant would be in every program with this code, perhaps before the area.
func marker(word string) string {
	fence := strings.Repeat(string(rune(filler)), 3)
	return fence + word + fence
}

func configStart() string { return marker("InternalConfig") + "1234" }
func configEnd() string   { return marker("InternalConfigEnd") }
func notPackaged() string { return marker("NotPackaged") }
func isPackaged() string  { return marker("Packaged") }

// pattern is the first n bytes of unfilled resources.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte((i + first) % period)
	}
	return b
}
