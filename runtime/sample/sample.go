// Package sample is the sample game and one faulty module for each way in which loading can fail, as C sources, with the
// means to compile them.
//
// The game is a real small client: it reads the packs that the updater synchronised, opens a window through SDL2 (found
// at run time; without it the game runs as text), shows its release and compatibility version, lets the player steer
// something, and ends on Escape. What its packs hold:
//
//	Core.zip  game.txt     UTF-8 lines key=value: title, greeting, background, panel, accent (#rrggbb), items (1..64)
//	Art.zip   font.bmp     ASCII 32..126 in 16 columns and 6 rows of equal cells
//	          player.bmp, item.bmp
//
// Entries are stored, not compressed. Pictures are uncompressed BMP of 24 or 32 bits, bottom row first, with magenta
// (ff00ff) as the transparent colour. Sizes and checksums are checked before anything is believed.
//
// The sources are embedded for two reasons: tests and the demo compile modules from them wherever they run, and package
// embedded, which compiles the same files into the host, is built again when they change.
package sample

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"collet/runtime/abi"
)

//go:embed game/*.c game/*.h faults/*.c faults/*.h
var sources embed.FS

// Options says which build of the game to make.
type Options struct {
	Release       int    // number shown by the game; at least 1
	Compatibility string // for example "demo-2"
	BuildHash     string
	Output        string // path of the module; its folder must exist
	Compiler      string // C compiler; empty is $CC, else cc
}

// game are the files of the game.
var game = []string{
	"game/module.c", "game/game.c", "game/art.c", "game/draw.c", "game/pack.c", "game/view.c", "game/mischief.c",
}

// Build compiles the game as a module for this system. The error has what the compiler said.
func Build(ctx context.Context, o Options) error {
	if o.Release < 1 {
		return fmt.Errorf("build the sample game: release %d is not a release", o.Release)
	}
	return compile(ctx, o.Compiler, o.Output, game, []string{
		fmt.Sprintf("-DGAME_RELEASE=%d", o.Release),
		fmt.Sprintf("-DGAME_COMPATIBILITY=%q", o.Compatibility),
		fmt.Sprintf("-DGAME_BUILD_HASH=%q", o.BuildHash),
	})
}

// BuildFault compiles the faulty module of this name, for example "short_struct".
func BuildFault(ctx context.Context, name, output string) error {
	var flags []string
	if name == "never_unloads" && runtime.GOOS == "linux" {
		flags = []string{"-Wl,-z,nodelete"}
	}
	return compile(ctx, "", output, []string{"faults/" + name + ".c"}, flags)
}

// Faults lists the names that BuildFault takes.
func Faults() []string {
	entries, err := fs.Glob(sources, "faults/*.c")
	if err != nil {
		panic("sample: internal error: " + err.Error())
	}
	for i, entry := range entries {
		entries[i] = strings.TrimSuffix(strings.TrimPrefix(entry, "faults/"), ".c")
	}
	return entries
}

// compile lays the sources out in a folder of their own and calls the compiler there, so that no path of this machine
// gets into the module.
func compile(ctx context.Context, compiler, output string, files, flags []string) (err error) {
	output, err = filepath.Abs(output)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "collet-sample-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := layOut(folder); err != nil {
		return err
	}
	args := append([]string{"-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-fPIC", "-shared", "-fvisibility=hidden"}, flags...)
	args = append(args, "-o", output)
	args = append(append(args, files...), libraries()...)
	cmd := exec.CommandContext(ctx, command(compiler), args...)
	cmd.Dir = filepath.Join(folder, "sample")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compile %s with %s: %w\n%s", filepath.Base(output), cmd.Path, err, bytes.TrimSpace(said))
	}
	return nil
}

func command(compiler string) string {
	for _, name := range []string{compiler, os.Getenv("CC")} {
		if name != "" {
			return name
		}
	}
	return "cc"
}

// libraries are what the game is linked with. -Bsymbolic keeps the module's own functions its own although the host may
// contain the same ones.
func libraries() []string {
	if runtime.GOOS == "linux" {
		return []string{"-Wl,-Bsymbolic", "-ldl", "-lpthread"}
	}
	return nil
}

// layOut writes folder/sample and folder/abi/client_runtime.h.
func layOut(folder string) error {
	if err := os.CopyFS(filepath.Join(folder, "sample"), sources); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(folder, "abi"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "abi", "client_runtime.h"), []byte(abi.Header), 0o644)
}
