// Package sample is the sample game and one faulty module for each way in which a module can fail, as C sources, with the
// means to compile them.
//
// The game is a real small client: it reads the packs that the updater synchronised, opens a window through SDL2 (found
// at run time; without it, or without a display, the game runs as text), shows its release and compatibility version, lets
// the player steer something, and ends on Escape or when its window is closed. What its packs hold:
//
//	Core.zip  game.txt     UTF-8 lines key=value; unknown keys and lines without = are ignored; of text, printable ASCII
//	                       is taken. title (wanted), greeting, background, panel, accent (#rrggbb), items (wanted, 1..64)
//	Art.zip   font.bmp     ASCII 32..126 in 16 columns and 6 rows of equal cells
//	          player.bmp   the player's picture
//	          item.bmp     the picture of what is picked up
//
// Entries are stored, not compressed or encrypted; a pack is at most 64 MB. Pictures are uncompressed BMP of 24 or 32 bits
// (the fourth byte is ignored), bottom row first, with sides up to 2048 pixels and magenta (ff00ff) as the transparent
// colour. Sizes and checksums are checked before anything is believed. Other packs are not opened.
//
// Its command line, behind the host's name:
//
//	--ClientResources DIR   where the packs are; wanted
//	--ClientResourcesPatched DIR    packs that take precedence over those of their names there
//	--ClientResourcesList FILE      which of the packs there count, one name a line; without it all do
//	--server ADDRESS:PORT           a game server that does each step, too (package protocol); without one the game plays alone
//	--logic N               play by the rules of an older logic version, as a build of that time would
//	--packaged NAME         the host was packaged by this name: what was not packaged itself ends with a fatal error
//	--ForceOpenGL VALUE     goes before the setting of this name that packaging put in
//	--DeepLinkUri URI       the link that opened the game
//	--headless              draw nothing: read the packs, print one line about them, say ready, end
//	--frames N              end after N frames
//	--ask-reload            after the first frame ask for the live module: the host's name without .exe, with .so or the like
//	--fatal                 after the first frame report a fatal error
//	--never-ready           don't say ready
//	--crash, --crash-thread, --hang, --call-exit N     before anything else crash, crash in a thread, hang, call exit(N)
//	--late                  do these after ready
//
// Packaged, it says in a line of the log and of its text what it found in its own settings, the window is called
// Client.Title, and ForceOpenGL is said and changes nothing: it draws in one way.
//
// Packs that can't be used end it with a fatal error and a line in the log.
//
// The areas for packaging are those of runtime/abi/client_areas.h, in the sizes as a rule.
//
// The sources are embedded for two reasons: tests and the demo compile modules from them wherever they run, and package
// embedded, which compiles the same files into the host, is built again when they change.
package sample

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"collet/runtime/abi"
)

//go:embed game/*.c game/*.h faults/*.c faults/*.h
var sources embed.FS

// Options says which build of the game to make.
type Options struct {
	Release       int    // number shown by the game, and of its build among all; at least 1
	Compatibility string // for example "demo-2"; quotes, backslashes and control characters are refused, as in BuildHash
	BuildHash     string // which build it is
	Output        string // path of the module; its folder must exist
	Compiler      string // C compiler, may have arguments; empty is $CC, else the first of cc, gcc and clang that there is
}

// Build compiles the game as a module for the system that the compiler makes programs for. The same options and compiler
// give the same bytes. Where there is no compiler the error is ErrNoCompiler; where it fails, a *CompileError.
func Build(ctx context.Context, o Options) error {
	if o.Release < 1 {
		return fmt.Errorf("build the sample game: release %d is not a release", o.Release)
	}
	for _, text := range []string{o.Compatibility, o.BuildHash} {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7F }) {
			return fmt.Errorf("build the sample game: %q can't stand in a C string", text)
		}
	}
	flags := []string{
		fmt.Sprintf("-DGAME_RELEASE=%d", o.Release), fmt.Sprintf("-DCOLLET_BUILD_SEQ=%d", o.Release),
		`-DGAME_COMPATIBILITY="` + o.Compatibility + `"`,
		`-DGAME_BUILD_HASH="` + o.BuildHash + `"`,
	}
	if len(o.BuildHash) <= abi.MaxBuildID {
		flags = append(flags, `-DCOLLET_BUILD_ID="`+o.BuildHash+`"`)
	}
	return compile(ctx, o.Compiler, o.Output, list("game"), flags)
}

// BuildFault compiles the faulty module of this name, for example "short_struct", with the compiler that Build takes when
// none is named.
func BuildFault(ctx context.Context, name, output string) error {
	return compile(ctx, "", output, []string{"faults/" + name + ".c"}, nil)
}

// BuildText compiles a module from one file of C that somebody else wrote. It includes the contract as
// "client_runtime.h".
func BuildText(ctx context.Context, text, output string) error {
	return compileText(ctx, text, output)
}

// Faults lists the names that BuildFault takes, sorted.
func Faults() []string {
	names := list("faults")
	for i, name := range names {
		names[i] = strings.TrimSuffix(strings.TrimPrefix(name, "faults/"), ".c")
	}
	return names
}

// list names the C files of a folder.
func list(folder string) []string {
	names, err := fs.Glob(sources, folder+"/*.c")
	if err != nil {
		panic("sample: internal error: " + err.Error())
	}
	return names
}
