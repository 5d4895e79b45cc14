package product

import (
	"fmt"
	"strings"
)

// Profiling is the profiling mode of a build.
type Profiling string

// The profiling modes, in the spelling of package descriptions.
const (
	NoProfiling       Profiling = ""
	TotalProfiling    Profiling = "total"     // from the start
	OnDemandProfiling Profiling = "on-demand" // when a profiler requests it
)

// Variant is one of the builds of a game that are published together. Host, module and symbols of a variant share one
// base name. A server offers all variants of a target in one folder, and a client takes the files that begin with its
// own base name and a dot. The zero value is the plain build.
type Variant struct {
	Headless  bool      // has no window
	Profiling Profiling // profiling mode, empty for none
	OpenGL    bool      // renders with OpenGL where another API is the default; on Windows only
	Postfix   string    // identifies the build for one shop or partner, such as "Steam": letters, digits and dashes; empty for none
}

// The words of a base name, in their order. The engine writes Headless before Profiling in packages of clients and after
// it in its server's offer, so the two never match. It also gives both profiling modes the same name, and the first one
// built wins. This package always uses the clients' order, and a separate name for
// profiling on demand; total profiling keeps the engine's name.
const (
	wordSeparator = "_"
	wordHeadless  = "Headless"
	wordProfiling = "Profiling"
	wordOnDemand  = "ProfilingOnDemand"
	wordOpenGL    = "OpenGL"
)

// MaxPostfix is the length of the longest postfix in bytes. Base names with all words stay far below the 127 bytes
// reserved for the name in a program.
const MaxPostfix = 32

// Base is the base name of a variant's files: game[_Headless][_Profiling][_OpenGL][_Postfix], for example
// "Lathe_Profiling_OpenGL". game is the base name of the plain build. The variant must be valid, see Check.
func (v Variant) Base(game string) string {
	return strings.Join(append([]string{game}, v.words()...), wordSeparator)
}

// words are the parts of the base name after the game's name.
func (v Variant) words() (words []string) {
	if v.Headless {
		words = append(words, wordHeadless)
	}
	switch v.Profiling {
	case TotalProfiling:
		words = append(words, wordProfiling)
	case OnDemandProfiling:
		words = append(words, wordOnDemand)
	}
	if v.OpenGL {
		words = append(words, wordOpenGL)
	}
	if v.Postfix != "" {
		words = append(words, v.Postfix)
	}
	return words
}

// ParseVariant is the inverse of Base: it returns the variant of a game with this base name. ok is false for all other
// names, including other spellings of a variant.
func ParseVariant(game, base string) (v Variant, ok bool) {
	rest, ok := strings.CutPrefix(base, game)
	if !ok || game == "" {
		return Variant{}, false
	}
	take := func(word string) bool {
		after, is := strings.CutPrefix(rest, wordSeparator+word)
		if is = is && (after == "" || strings.HasPrefix(after, wordSeparator)); is {
			rest = after
		}
		return is
	}
	v.Headless = take(wordHeadless)
	switch {
	case take(wordProfiling):
		v.Profiling = TotalProfiling
	case take(wordOnDemand):
		v.Profiling = OnDemandProfiling
	}
	v.OpenGL = take(wordOpenGL)
	if rest != "" {
		v.Postfix = rest[len(wordSeparator):]
	}
	if v.Check() != nil || v.Base(game) != base {
		return Variant{}, false
	}
	return v, true
}

// Check returns the fault of an invalid variant: an unknown profiling mode, or a postfix that is not one word of
// letters, digits and dashes, or that equals another word.
func (v Variant) Check() error {
	switch v.Profiling {
	case NoProfiling, TotalProfiling, OnDemandProfiling:
	default:
		return fmt.Errorf("profiling %q; want %q or %q", v.Profiling, TotalProfiling, OnDemandProfiling)
	}
	return checkPostfix(v.Postfix)
}

func checkPostfix(postfix string) error {
	if len(postfix) > MaxPostfix {
		return fmt.Errorf("postfix %q is longer than %d bytes", postfix, MaxPostfix)
	}
	for _, r := range postfix {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' {
			return fmt.Errorf("postfix %q has %q; want letters, digits and dashes", postfix, r)
		}
	}
	for _, word := range []string{wordHeadless, wordProfiling, wordOnDemand, wordOpenGL} {
		if strings.EqualFold(postfix, word) {
			return fmt.Errorf("postfix %q is a word that names have already; want another one", postfix)
		}
	}
	return nil
}

// On returns why the variant does not exist on a target, or nil.
func (v Variant) On(t Target) error {
	if v.OpenGL && t.System() != Windows {
		return fmt.Errorf("OpenGL is a variant on Windows only: on %s it is what the plain build draws with", t)
	}
	return nil
}

// String describes the variant for people: "plain", or "headless, profiling, OpenGL, Steam".
func (v Variant) String() string {
	var words []string
	if v.Headless {
		words = append(words, "headless")
	}
	switch v.Profiling {
	case TotalProfiling:
		words = append(words, "profiling")
	case OnDemandProfiling:
		words = append(words, "profiling on demand")
	}
	if v.OpenGL {
		words = append(words, "OpenGL")
	}
	if v.Postfix != "" {
		words = append(words, v.Postfix)
	}
	if len(words) == 0 {
		return "plain"
	}
	return strings.Join(words, ", ")
}

// PayloadBase is the base name for a file of a target's binaries: "Lathe_OpenGL" for the module "Lathe_OpenGL.dll", for
// files named after it, such as its symbols "Lathe_OpenGL.dll.pdb", for the description "Lathe_OpenGL.program", for the host
// "Lathe_OpenGL.exe" and its symbols "Lathe_OpenGL.pdb". It is empty for other files.
func (t Target) PayloadBase(file string) string {
	if base, is := strings.CutSuffix(file, DescriptionExt); is {
		return base
	}
	if base, is := strings.CutSuffix(file, t.LibraryExt()); is {
		return base
	}
	if base, _, is := strings.Cut(file, t.LibraryExt()+"."); is {
		return base
	}
	if base, is := strings.CutSuffix(file, symbolsExt); is {
		return base
	}
	if base := RuntimeBase(file); t.ProgramName(base) == file {
		return base
	}
	return ""
}

// symbolsExt is the extension of symbol files for Windows.
const symbolsExt = ".pdb"

// maxGuess is the largest number of base names that GameOf compares: a game has some dozens, and the work is quadratic.
const maxGuess = 1000

// GameOf finds the game's name among the base names of a server's offer: the one that most of them are variants of. It
// is empty if two names are equally good, or if bases is empty.
func GameOf(bases []string) string {
	best, most, tie := "", 0, false
	tried := map[string]bool{}
	for _, game := range bases[:min(len(bases), maxGuess)] {
		if tried[game] {
			continue
		}
		tried[game] = true
		n := 0
		for _, base := range bases[:min(len(bases), maxGuess)] {
			if _, is := ParseVariant(game, base); is {
				n++
			}
		}
		if tie = tie && n <= most || n == most; n > most {
			best, most = game, n
		}
	}
	if tie {
		return ""
	}
	return best
}
