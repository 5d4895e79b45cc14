package demo

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/image/bmp"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/font/inconsolata"

	"collet/netproto/product"
	"collet/runtime/sample"
)

const (
	// maxLevels is the largest size of the large pack in MB: it is made in memory.
	maxLevels = 512
	// levelSize is the size of one entry of the large pack in bytes.
	levelSize = 1 << 20
)

// edition is what makes a release of the sample game: its module's identity and what its packs hold.
type edition struct {
	number        int
	compatibility string
	build         string
	title         string   // the window's title begins with it
	text          []string // lines of game.txt
	face          *basicfont.Face
	player, item  paint
}

// edition1 is the release that the client has: steel and blue, a plain font, few items.
func edition1() edition {
	return edition{
		number: 1, compatibility: "lathe-2026.1", build: "demo-1", title: "Lathe",
		text: []string{
			"title=Lathe", "greeting=Release 1. A newer one is waiting on the server.",
			"background=#18212d", "panel=#24374c", "accent=#9cc4e8", "items=6",
		},
		face: basicfont.Face7x13, player: jaw, item: nut,
	}
}

// edition2 is the release that the server offers: warm colours, a bold font, a collet and many gears.
func edition2() edition {
	return edition{
		number: 2, compatibility: "lathe-2026.2", build: "demo-2", title: "Lathe",
		text: []string{
			"title=Lathe", "greeting=Release 2. Swapped in under the same host; nothing was restarted.",
			"background=#2a1c17", "panel=#8c3f1d", "accent=#ffe2ae", "items=24",
		},
		face: inconsolata.Bold8x16, player: collet, item: gear,
	}
}

// window is the title of the game's window.
func (e edition) window() string { return fmt.Sprintf("%s - release %d", e.title, e.number) }

// prebuilt is where BuildModules puts the module of an edition.
func (e edition) prebuilt(dir, library string) string {
	return filepath.Join(dir, fmt.Sprintf("release-%d", e.number), library)
}

// BuildModules compiles the module of both releases into dir/release-1 and dir/release-2 and returns their paths. Prepare
// takes them from the folder "modules" beside the programs, and compiles them itself where there is none. The compiler for another
// target than this system's is $CC, or the one that Debian has for it.
func BuildModules(ctx context.Context, dir string, target product.Target) (paths []string, err error) {
	compiler, err := crossCompiler(target)
	if err != nil {
		return nil, err
	}
	library := target.LibraryName(game)
	for _, e := range []edition{edition1(), edition2()} {
		path := e.prebuilt(dir, library)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := e.compile(ctx, compiler, path); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// BuildPacks writes the packs of both releases beside their modules, into dir/release-1/Resources and dir/release-2/Resources, so
// that each folder is a whole game, and returns their paths.
func BuildPacks(dir string) (paths []string, err error) {
	for _, e := range []edition{edition1(), edition2()} {
		folder := filepath.Join(filepath.Dir(e.prebuilt(dir, game)), packFolder)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
		packs, err := e.writePacks(folder, 1)
		if err != nil {
			return nil, err
		}
		paths = append(paths, packs...)
	}
	return paths, nil
}

// crossCompiler is the C compiler for a target; empty for this system's own.
func crossCompiler(target product.Target) (string, error) {
	known := map[product.Target]string{"Windows-win64": "x86_64-w64-mingw32-gcc", "Linux-arm64": "aarch64-linux-gnu-gcc", "Linux-x64": "x86_64-linux-gnu-gcc"}
	switch named := os.Getenv("CC"); {
	case target == OwnTarget() || named != "":
		return named, nil
	case known[target] != "":
		return known[target], nil
	default:
		return "", fmt.Errorf("no compiler is known for %s: name one in CC", target)
	}
}

// OwnTarget is this system's.
func OwnTarget() product.Target { return product.TargetFor(runtime.GOOS, runtime.GOARCH) }

func (e edition) compile(ctx context.Context, compiler, output string) error {
	return sample.Build(ctx, sample.Options{
		Release: e.number, Compatibility: e.compatibility, BuildHash: e.build, Output: output, Compiler: compiler,
	})
}

// module puts the module of an edition at path: the one in folder modules if it is there, else a new one.
func (e edition) module(ctx context.Context, modules, path string) error {
	err := copyFile(path, e.prebuilt(modules, filepath.Base(path)), 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		return e.compile(ctx, "", path)
	}
	return err
}

// build puts the module of an edition into a file and writes its packs into a folder. modules is where modules may have
// been compiled before. levelsMB is the size of Levels.zip; 0 makes none.
func build(ctx context.Context, e edition, modules, module, packs string, levelsMB int) (Release, error) {
	if levelsMB < 0 || levelsMB > maxLevels {
		return Release{}, fmt.Errorf("a large pack of %d MB: want 0 to %d", levelsMB, maxLevels)
	}
	r := Release{Number: e.number, Compatibility: e.compatibility, Window: e.window(), Module: module}
	for _, dir := range []string{filepath.Dir(module), packs} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return Release{}, err
		}
	}
	if err := e.module(ctx, modules, module); err != nil {
		return Release{}, err
	}
	paths, err := e.writePacks(packs, levelsMB)
	r.Packs = paths
	return r, err
}

// writePacks writes the packs of an edition into a folder and returns their paths. levelsMB is the size of Levels.zip; 0 makes none.
func (e edition) writePacks(folder string, levelsMB int) (paths []string, err error) {
	for _, pack := range []struct {
		name    string
		entries []entry
	}{{"Core.zip", e.core()}, {"Art.zip", e.art()}, {"Levels.zip", e.levels(levelsMB)}} {
		if len(pack.entries) == 0 {
			continue
		}
		path := filepath.Join(folder, pack.name)
		if err := writePack(path, pack.entries); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// core is the pack of texts and numbers.
func (e edition) core() []entry {
	return []entry{{"game.txt", []byte(strings.Join(e.text, "\n") + "\n")}}
}

// art is the pack of pictures.
func (e edition) art() []entry {
	return []entry{
		{"font.bmp", encodeBMP(atlas(e.face))},
		{"player.bmp", encodeBMP(sprite(playerSize, e.player))},
		{"item.bmp", encodeBMP(sprite(itemSize, e.item))},
	}
}

// levels is the large pack: noise that no compression makes smaller, the same for the same release and entry.
func (e edition) levels(megabytes int) []entry {
	entries := make([]entry, megabytes)
	for i := range entries {
		var seed [32]byte
		copy(seed[:], e.compatibility)
		binary.LittleEndian.PutUint64(seed[24:], uint64(i))
		data := make([]byte, levelSize)
		rand.NewChaCha8(seed).Read(data) // never fails
		entries[i] = entry{fmt.Sprintf("levels/%03d.level", i+1), data}
	}
	return entries
}

// encodeBMP writes an opaque picture uncompressed with 24 bits a pixel, which is what the sample game reads.
func encodeBMP(m *image.NRGBA) []byte {
	var out bytes.Buffer
	if err := bmp.Encode(&out, m); err != nil {
		panic(fmt.Sprintf("demo: internal error: picture of %v: %v", m.Bounds(), err)) // a buffer takes everything
	}
	return out.Bytes()
}
