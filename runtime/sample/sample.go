// Package sample has the sample game, and a faulty module for each kind of failure, as C sources, and compiles them.
//
// The game is a small complete client: it reads the packs that the updater synchronised, opens a window through SDL2 (found at run time;
// without SDL2 or a display the game runs as text), shows its release and compatibility version, lets the player move a figure, and ends
// on Escape or when its window is closed. The content of its packs:
//
//	Core.zip  game.txt     UTF-8 lines key=value; unknown keys and lines without = are ignored; of text, printable ASCII
//	                       is taken. title (wanted), greeting, background, panel, accent (#rrggbb), items (wanted, 1..64)
//	Art.zip   font.bmp     ASCII 32..126 in 16 columns and 6 rows of equal cells
//	          player.bmp   the player's picture
//	          item.bmp     the picture of what is picked up
//
// Entries are stored, not compressed or encrypted; a pack is at most 64 MB. Pictures are uncompressed BMP of 24 or 32 bits
// (the fourth byte is ignored), bottom row first, with sides up to 2048 pixels and magenta (ff00ff) as the transparent
// colour. Sizes and checksums are checked before the content is used. Other packs are not opened.
//
// Its command line, after the host's name:
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
// A packaged game prints its own settings in a line of the log and of its text. The window's title is Client.Title. ForceOpenGL is
// printed but has no effect, because the game has one renderer.
//
// Packs that can't be used end it with a fatal error and a line in the log.
//
// The areas for packaging are those of runtime/abi/client_areas.h, in their default sizes.
//
// The sources are embedded for two reasons: tests and the demo compile modules from them wherever they run, and package embedded, which
// compiles the same files into the host, is rebuilt when they change.
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

// Options are the options of a build of the game.
type Options struct {
	Release       int    // number shown by the game, and sequence number of the build; at least 1
	Compatibility string // for example "demo-2"; quotes, backslashes and control characters are rejected, as in BuildHash
	BuildHash     string // identifies the build
	Output        string // path of the module; its folder must exist
	Compiler      string // C compiler, may have arguments; empty is $CC, else the first found of cc, gcc and clang
}

// Build compiles the game as a module for the compiler's target system. The same options and compiler give the same bytes. The error is
// ErrNoCompiler without a compiler, or a *CompileError if it fails.
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

// BuildFault compiles the faulty module of this name, for example "short_struct", with the default compiler of Build.
func BuildFault(ctx context.Context, name, output string) error {
	return compile(ctx, "", output, []string{"faults/" + name + ".c"}, nil)
}

// BuildText compiles a module from the text of one C file, which may include the contract as "client_runtime.h".
func BuildText(ctx context.Context, text, output string) error {
	return compileText(ctx, text, output)
}

// Faults lists the names for BuildFault, sorted.
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
