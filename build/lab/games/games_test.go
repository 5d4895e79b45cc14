package games

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"image"
	"image/draw"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"collet/build/lab/wine"
	"collet/build/testprograms"
	"collet/platform/testlevel"
)

// game is a game, and what happens to it.
type game struct {
	name    string
	files   []string                          // of Debian packages; without one of them the test is skipped, and names the first part
	make    func(t *testing.T, folder string) // makes the folder of the built game
	hidden  []string                          // folders that the player does not have
	windows bool                              // it is for Windows
	wants   string                            // what wrap says of the program
	engine  string                            // what it says of the engine
	change  func(t *testing.T, folder string) // makes the second version
	spoil   func(t *testing.T, folder string) // makes a version that crashes at once
	damage  string                            // a file that is damaged in the end
	colours int                               // that the screen shows when the game does
}

// allGames are those of one run.
var allGames = []game{
	{
		name: "openttd", files: []string{"/usr/games/openttd", "/usr/share/games/openttd/baseset/opengfx/opengfx.obg"},
		make: func(t *testing.T, folder string) {
			copyTo(t, folder, "/usr/games/openttd", "openttd")
			copyTo(t, folder, "/usr/share/games/openttd", ".")
			copyTo(t, folder, "/usr/share/applications/openttd.desktop", "openttd.desktop")
		},
		hidden: debianGames, wants: "openttd in game: ", engine: "none known", colours: 100,
		change: func(t *testing.T, folder string) {
			replace(t, filepath.Join(folder, "lang", "english.lng"), "New Game", "New Play") // of the same length: the file counts it
		},
		spoil: failing("openttd"), damage: "baseset/opengfx/ogfx1_base.grf",
	},
	{
		name: "mrrescue", files: []string{"/usr/share/games/mrrescue/mrrescue.love", "/usr/bin/love"},
		make: func(t *testing.T, folder string) {
			copyTo(t, folder, "/usr/share/games/mrrescue/mrrescue.love", "mrrescue.love")
			copyTo(t, folder, "/usr/share/applications/mrrescue.desktop", "mrrescue.desktop")
		},
		hidden: debianGames, wants: "love mrrescue.love in game: ", engine: "LÖVE", colours: 10,
		change: func(t *testing.T, folder string) {
			rezip(t, filepath.Join(folder, "mrrescue.love"), "data/splash.png", negative(t))
		},
		spoil: func(t *testing.T, folder string) {
			rezip(t, filepath.Join(folder, "mrrescue.love"), "conf.lua", func([]byte) []byte { return []byte("os.exit(3)") })
		},
		damage: "mrrescue.love",
	},
	{
		name: "whichwayisup", files: []string{"/usr/share/games/whichwayisup/run_game.py"},
		make: func(t *testing.T, folder string) {
			copyTo(t, folder, "/usr/share/games/whichwayisup", ".")
			copyTo(t, folder, "/usr/share/applications/whichwayisup.desktop", "whichwayisup.desktop")
		},
		hidden: debianGames, wants: "run_game.py in game: ", engine: "none known", colours: 20,
		change: func(t *testing.T, folder string) {
			pictures, err := filepath.Glob(filepath.Join(folder, "data", "pictures", "*.png"))
			must(t, err)
			for _, name := range pictures {
				edit(t, name, negative(t))
			}
		},
		spoil: failing("run_game.py"), damage: "lib/game.py",
	},
	{
		name: "teeworlds", files: []string{"/usr/games/teeworlds", "/usr/share/games/teeworlds/data/game.png"},
		make: func(t *testing.T, folder string) {
			copyTo(t, folder, "/usr/games/teeworlds", "teeworlds")
			copyTo(t, folder, "/usr/share/games/teeworlds", ".")
			copyTo(t, folder, "/usr/share/applications/teeworlds.desktop", "teeworlds.desktop")
			copyTo(t, folder, "/usr/share/icons/hicolor", "icons/hicolor")
		},
		hidden: debianGames, wants: "teeworlds in game: ", engine: "none known", colours: 1000,
		change: func(t *testing.T, folder string) {
			edit(t, filepath.Join(folder, "data", "game.png"), negative(t))
			edit(t, filepath.Join(folder, "data", "ui", "gui_cursor.png"), negative(t))
		},
		spoil: failing("teeworlds"), damage: "data/game.png",
	},
	{
		name: "freedoom", files: []string{"/usr/games/chocolate-doom", "/usr/share/games/doom/freedoom1.wad"},
		make: func(t *testing.T, folder string) {
			copyTo(t, folder, "/usr/games/chocolate-doom", "chocolate-doom")
			copyTo(t, folder, "/usr/share/games/doom/freedoom1.wad", "freedoom1.wad")
		},
		hidden: debianGames, wants: "chocolate-doom in game: ", engine: "none known", colours: 100,
		change: func(t *testing.T, folder string) {
			edit(t, filepath.Join(folder, "freedoom1.wad"), recolour(t))
		},
		spoil: failing("chocolate-doom"), damage: "freedoom1.wad",
	},
	{
		name: "godot", files: []string{"/usr/bin/godot3-runner"},
		make: func(t *testing.T, folder string) {
			copyTo(t, folder, "/usr/bin/godot3-runner", "lathe.x86_64")
			godotPack(t, filepath.Join(folder, "lathe.pck"), "3060c0")
		},
		wants: "lathe.x86_64 in game: ", engine: "Godot", colours: 1500,
		change: func(t *testing.T, folder string) { godotPack(t, filepath.Join(folder, "lathe.pck"), "c06030") },
		spoil:  failing("lathe.x86_64"), damage: "lathe.pck",
	},
	{
		name: "win32", windows: true,
		make: func(t *testing.T, folder string) {
			must(t, os.MkdirAll(filepath.Join(folder, "data"), 0o755))
			must(t, wine.Compile(t.Context(), filepath.Join(folder, "lathe.exe"), filepath.Join("..", "wine", "testdata", "game.c"), "-mwindows"))
			must(t, os.WriteFile(filepath.Join(folder, "data", "level.txt"), []byte("3060c0 Lathe 1\n"), 0o644))
			must(t, os.WriteFile(filepath.Join(folder, "data", "sounds.bin"), noise(1, 2_000_000), 0o644))
		},
		wants: "lathe.exe in game: ", engine: "none known", colours: 100,
		change: func(t *testing.T, folder string) {
			must(t, os.WriteFile(filepath.Join(folder, "data", "level.txt"), []byte("c06030 Lathe 2\n"), 0o644))
			edit(t, filepath.Join(folder, "data", "sounds.bin"), func(data []byte) []byte { return append(data[:1_500_000], noise(2, 500_000)...) })
		},
		spoil: failingExe("lathe.exe"), damage: "data/sounds.bin",
	},
	{
		// It comes with Wine, which starts its own in place of a copy that has its mark.
		name: "winemine", windows: true, files: []string{winemine},
		make: func(t *testing.T, folder string) {
			copyTo(t, folder, winemine, "winemine.exe")
			replace(t, filepath.Join(folder, "winemine.exe"), "Wine builtin DLL", "Program for wine")
		},
		wants: "winemine.exe in game: ", engine: "none known", colours: 8,
		change: func(t *testing.T, folder string) {
			replace(t, filepath.Join(folder, "winemine.exe"), "&\x00G\x00a\x00m\x00e\x00", "&\x00P\x00l\x00a\x00y\x00")
		},
		spoil: failingExe("winemine.exe"), damage: "winemine.exe",
	},
}

// winemine is a game for Windows in Debian's package of Wine.
const winemine = "/usr/lib/x86_64-linux-gnu/wine/x86_64-windows/winemine.exe"

// debianGames are the folders in which Debian has games and their data.
var debianGames = []string{"/usr/games", "/usr/share/games", "/usr/lib/games"}

// TestMain lets twice as many games be played at once as there are processors: half of a game's time it waits for windows, for the end that
// it was asked for, and for Wine.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestGames plays the life of every game through.
func TestGames(t *testing.T) {
	testlevel.Lab(t)
	tools := toolsFolder(t)
	keys := keysFolder(t, tools)
	windowsHost := sync.OnceValue(func() error {
		host := filepath.Join(tools, "hosts", "Windows-win64", "collet-client.exe")
		return errors.Join(os.MkdirAll(filepath.Dir(host), 0o755), wine.BuildClient(t.Context(), ".", host))
	})
	results := &table{}
	t.Cleanup(func() {
		t.Logf("\n%s", results)
		if err := os.WriteFile(filepath.Join(pictures, "table.txt"), []byte(results.String()), 0o644); err != nil {
			t.Error(err)
		}
	})
	for _, g := range allGames {
		t.Run(g.name, func(t *testing.T) {
			for _, name := range g.files {
				if _, err := os.Stat(name); err != nil {
					t.Skipf("SKIPPED: %v; build/setup.sh all installs it", err)
				}
			}
			t.Parallel()
			if g.windows {
				computer := newWindows(t)
				if err := windowsHost(); err != nil {
					t.Fatal(err)
				}
				g.play(t, computer, tools, keys, results)
			} else {
				g.play(t, newLinux(t, g.hidden), tools, keys, results)
			}
		})
	}
}

// keysFolder has the keys of all games: to make and to encrypt a set takes three seconds, and proves nothing the second time.
func keysFolder(t *testing.T, tools string) string {
	t.Helper()
	c := &chain{t: t, dir: t.TempDir(), tools: tools}
	c.collet("keys", "init")
	return filepath.Join(c.dir, "keys")
}

// toolsFolder has the programs as a developer has them: collet, and the client that goes into packages.
func toolsFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, from := range []string{testprograms.Collet(t), testprograms.Client(t)} {
		copyTo(t, dir, from, filepath.Base(from))
	}
	return dir
}

// copyTo copies a file, or what is in a folder, to a name in the game's folder. Links are followed, as they have to be to leave a machine.
func copyTo(t *testing.T, folder, from, name string) {
	t.Helper()
	to := filepath.Join(folder, name)
	must(t, os.MkdirAll(filepath.Dir(to), 0o755))
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		from += "/."
	}
	if said, err := exec.Command("cp", "-RLT", "--preserve=mode", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp %s: %v\n%s", from, err, said)
	}
}

// edit changes a file's content.
func edit(t *testing.T, name string, change func([]byte) []byte) {
	t.Helper()
	info, err := os.Stat(name)
	must(t, err)
	data, err := os.ReadFile(name)
	must(t, err)
	must(t, os.WriteFile(name, change(data), info.Mode().Perm()))
}

// replace replaces all occurrences of a text in a file, which has it.
func replace(t *testing.T, name, old, new string) {
	t.Helper()
	edit(t, name, func(data []byte) []byte {
		if !bytes.Contains(data, []byte(old)) {
			t.Fatalf("%s has no %q", name, old)
		}
		return bytes.ReplaceAll(data, []byte(old), []byte(new))
	})
}

// failing replaces the program by one that ends at once with an error.
func failing(program string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(folder, program), []byte("#!/bin/sh\nexit 3\n"), 0o755))
	}
}

// failingExe does the same on Windows.
func failingExe(program string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		t.Helper()
		source := filepath.Join(t.TempDir(), "failing.c")
		must(t, os.WriteFile(source, []byte("int main(void) { return 3; }\n"), 0o644))
		must(t, wine.Compile(t.Context(), filepath.Join(folder, program), source))
	}
}

// noise is that many bytes that don't compress, the same for each seed.
func noise(seed byte, count int) []byte {
	data := make([]byte, count)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(data) // it never fails
	return data
}

// negative makes a picture of another one: with the other colours, and so with other bytes throughout.
func negative(t *testing.T) func([]byte) []byte {
	return func(data []byte) []byte {
		picture, err := png.Decode(bytes.NewReader(data))
		must(t, err)
		changed := image.NewNRGBA(picture.Bounds())
		draw.Draw(changed, changed.Bounds(), picture, picture.Bounds().Min, draw.Src)
		for i := range changed.Pix {
			if i%4 != 3 { // not how opaque it is
				changed.Pix[i] ^= 0xFF
			}
		}
		var out bytes.Buffer
		must(t, png.Encode(&out, changed))
		return out.Bytes()
	}
}

// recolour swaps red and blue in the palettes of a WAD file: a head with the count and the place of its list, the contents, the list.
func recolour(t *testing.T) func([]byte) []byte {
	return func(data []byte) []byte {
		order := binary.LittleEndian
		list := data[order.Uint32(data[8:]):]
		for range order.Uint32(data[4:]) {
			at, size, name := order.Uint32(list), order.Uint32(list[4:]), strings.TrimRight(string(list[8:16]), "\x00")
			list = list[16:]
			if name != "PLAYPAL" {
				continue
			}
			for i := at; i+2 < at+size; i += 3 {
				data[i], data[i+2] = data[i+2], data[i]
			}
			return data
		}
		t.Fatal("no palettes")
		return nil
	}
}

// rezip changes a file in a zip archive.
func rezip(t *testing.T, name, inside string, change func([]byte) []byte) {
	t.Helper()
	edit(t, name, func(data []byte) []byte {
		in, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		must(t, err)
		var out bytes.Buffer
		to := zip.NewWriter(&out)
		found := false
		for _, f := range in.File {
			if f.Name != inside {
				must(t, to.Copy(f))
				continue
			}
			from, err := f.Open()
			must(t, err)
			content, err := io.ReadAll(from)
			must(t, errors.Join(err, from.Close()))
			w, err := to.Create(f.Name)
			must(t, err)
			_, err = w.Write(change(content))
			must(t, err)
			found = true
		}
		must(t, to.Close())
		if !found {
			t.Fatalf("%s has no %s", name, inside)
		}
		return out.Bytes()
	})
}
