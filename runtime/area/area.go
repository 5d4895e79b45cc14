// Package area is the three places inside a built program that packaging fills in: what makes a client of one game out of
// a client of any game, without a file beside it and without building it again.
//
// A host and a module each hold one set. As the build leaves them:
//
//	area                what stands there                                         capacity
//	embedded resources  bytes (i+42) mod 200, for i from 0                        multiple of 5 000 from 10 000; 200 000 as a rule
//	internal config     ###InternalConfig###1234, decimal digits,                 from the first byte of the one marker to the
//	                    ###InternalConfigEnd###                                   last of the other; 10 000 as a rule
//	packaged name       ###NotPackaged###, zeros                                  128, always
//
// As packaging leaves them:
//
//	embedded resources  u32 little-endian length, so many bytes of a zip, then #
//	internal config     ###Packaged###, a space, N, a space, the name, a newline; N bytes of settings in TOML, UTF-8; then #
//	                    (TOML takes the first line and what follows the settings for comments)
//	packaged name       the name in UTF-8, at most 127 bytes, then zeros
//
// No capacity is agreed upon: it is found. Resources are looked for by their first 10 000 bytes and extended in steps of 5 000
// for as long as the pattern goes on; a config reaches to its end marker. Where a marker stands more than once the first
// one is the area, so a program must not hold the text of a marker anywhere else; the functions here put markers together
// when they run. What is found must have the whole form of an area: otherwise it is somebody's code, and left alone.
//
// The file's size never changes. The format of the program (ELF, PE, Mach-O) does not matter, except that a universal
// Mach-O has one set for each of its processors, which all are filled. What depends on the bytes comes afterwards: signing on
// Windows, and on macOS too, where the linker itself signs for arm64 and the system ends a program whose signature
// does not fit its bytes any more.
//
// A program can be filled once. A second time its markers are gone, and that is an error: packages are made of what the
// build made. The first line of the config is what tells that a program was packaged, and as what: see Packaged.
//
// The layout is that of the source (fonline reference, section 5.3), whose config is any text; the first line is ours, and Read does not insist on it.
package area

import (
	"errors"
	"fmt"
	"strings"
)

// Kind is which of the areas.
type Kind string

// The three areas, by the words of errors.
const (
	Resources Kind = "embedded resources"
	Config    Kind = "internal config"
	Name      Kind = "packaged name"
)

// Kinds are all of them, in the order of Contents.
var Kinds = []Kind{Resources, Config, Name}

// Sizes in bytes (fonline reference, section 5.3).
const (
	// DefaultResources is the capacity for resources where nobody asks for another one: a picture and an icon.
	DefaultResources = 200_000
	// LeastResources is the smallest capacity for resources: by so many bytes they are looked for.
	LeastResources = 10_000
	// ResourcesStep is by how much a capacity for resources grows.
	ResourcesStep = 5_000
	// DefaultConfig is the capacity for settings where nobody asks for another one.
	DefaultConfig = 10_000
	// NameSize is the capacity for a name, and MaxName the longest one: a zero ends it.
	NameSize = 128
	MaxName  = NameSize - 1
	// MaxConfig is the longest settings in bytes: so much is read of a program that says where its settings are.
	MaxConfig = 1 << 20
	// MaxProgram is the largest program that is filled. It is held in memory; real ones have some tens of millions.
	MaxProgram = 1 << 30

	lengthSize = 4 // of the u32 before resources
	period     = 200
	first      = 42
	filler     = '#'
)

// What can be wrong; an *Error wraps one of them.
var (
	ErrMissing   = errors.New("its marker is not there; take a program that was built with the areas, and nothing else changed since")
	ErrPackaged  = errors.New("the program was packaged before; take what the build made")
	ErrTooLong   = errors.New("what is to be put there does not fit; shorten it, or build the program with a larger capacity")
	ErrMalformed = errors.New("something that begins like it stands before it in the program; keep the text of markers out of the program's code")
	ErrContent   = errors.New("can't hold what is to be put there")
	ErrDamaged   = errors.New("neither as the build leaves it nor as packaging does; download or build the program anew")
	ErrPartly    = errors.New("packaging filled some areas and not this one; package the program anew")
)

// Error says what is wrong with which area. Errors of this package are of this type where an area is to blame.
type Error struct {
	Kind     Kind
	Wanted   int    // bytes that were to be put there; 0 where nothing was
	Capacity int    // bytes of the area; 0 where it was not found
	Detail   string // more about it; may be empty
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

// Unwrap gives the sentinel.
func (e *Error) Unwrap() error { return e.Err }

// marker puts the text of a marker together. It does so at run time: a constant would stand in every program that holds
// this code, and might stand there before the area.
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
