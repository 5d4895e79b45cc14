package sample_test

import (
	"archive/zip"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/runtime/abi"
)

// live is what the game asks to be loaded anew when its host is /games/Lathe.EXE.
func live() string {
	return "/games/Lathe" + map[string]string{"windows": ".dll", "darwin": ".dylib", "linux": ".so"}[runtime.GOOS]
}

func TestHeadless(t *testing.T) {
	module, packs := build(t), good().write(t)
	if err := os.WriteFile(filepath.Join(packs, "Levels.zip"), []byte("not opened"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := run(t, patience, module, "--headless", "--ClientResources", packs)
	if got.code != 0 || got.result == nil || *got.result != (abi.Result{Success: true}) || got.ready != 1 {
		t.Errorf("got %+v, result %+v", got, got.result)
	}
	if want := "game: release 7 (test-7) read 2 packs: title \"Lathe Test\", 3 pictures, 12 items\n"; got.printed != want {
		t.Errorf("printed %q, want %q", got.printed, want)
	}
	if want := []string{"1 packs read, title Lathe Test"}; !slices.Equal(got.logs, want) {
		t.Errorf("logged %q, want %q", got.logs, want)
	}
}

// TestSwitches are all that the game's end can be.
func TestSwitches(t *testing.T) {
	module, packs := build(t), good().write(t)
	shutdown, fatal := &abi.Result{Success: true}, &abi.Result{Kind: abi.FatalError}
	reload := &abi.Result{
		Kind: abi.ReloadRequested, Success: true, RequestedRuntimePath: live(), RequestedCompatibilityVersion: "test-7",
	}
	tests := []struct {
		args   string
		result *abi.Result // nil: it does not come to one
		ready  int
		code   int
		logs   string // a line among them
	}{
		{"--ask-reload", reload, 1, 0, ""},
		{"--fatal", fatal, 1, 0, "3 a fatal error was asked for"},
		{"--never-ready", shutdown, 0, 0, ""},
		{"--frames 3", shutdown, 1, 0, ""},
		{"--frames many", shutdown, 1, 0, "2 argument --frames wants a number"},
		{"--frames -1", shutdown, 1, 0, "2 argument --frames wants a number"},
		{"--frames", shutdown, 1, 0, "2 argument --frames means nothing to the game"},
		{"--logic 1", shutdown, 1, 0, ""},
		{"--logic 0", shutdown, 1, 0, "2 argument --logic names rules that this build does not have"},
		{"--logic 3", shutdown, 1, 0, "2 argument --logic names rules that this build does not have"},
		{"--unknown --switches", shutdown, 1, 0, "2 argument --switches means nothing to the game"},
		{"--call-exit 42", nil, 0, 42, ""},
		{"--call-exit 0", nil, 0, 0, ""},
		{"--call-exit 42 --late", nil, 1, 42, "1 packs read, title Lathe Test"},
		{"--crash", nil, 0, 2, ""},
		{"--crash --late", nil, 1, 2, ""},
		{"--crash-thread", nil, 0, -1, ""},
		{"--crash-thread --late", nil, 1, -1, ""},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			if strings.HasPrefix(test.args, "--crash") && runtime.GOOS == "windows" {
				t.Skip("the exit codes are those of Unix")
			}
			t.Parallel()
			args := append(strings.Fields(test.args), "--headless", "--ClientResources", packs)
			if test.args == "--frames" {
				args = []string{"--headless", "--ClientResources", packs, "--frames"}
			}
			got := run(t, patience, module, args...)
			if got.code != test.code || got.ready != test.ready {
				t.Errorf("ended with code %d after %d times ready; want %d, %d: %s", got.code, got.ready, test.code, test.ready, got.printed)
			}
			if (got.result == nil) != (test.result == nil) || got.result != nil && *got.result != *test.result {
				t.Errorf("result %+v, want %+v", got.result, test.result)
			}
			if test.logs != "" && !slices.Contains(got.logs, test.logs) {
				t.Errorf("logged %q, want %q", got.logs, test.logs)
			}
		})
	}
}

func TestHang(t *testing.T) {
	module, packs := build(t), good().write(t)
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("late ", late), func(t *testing.T) {
			t.Parallel()
			args := []string{"--hang", "--headless", "--ClientResources", packs}
			if late {
				args = append(args, "--late")
			}
			got := run(t, time.Second, module, args...)
			for limit := 4 * time.Second; late && got.ready == 0 && limit <= patience; limit *= 2 {
				got = run(t, limit, module, args...) // the machine was too slow to get that far
			}
			if got.result != nil || got.code != -1 || (got.ready == 1) != late {
				t.Errorf("did not hang: %+v", got)
			}
		})
	}
}

// TestText is the game without a display: it plays by itself and ends.
func TestText(t *testing.T) {
	module, packs := build(t), good().write(t)
	got := run(t, patience, module, "--ClientResources", packs)
	if got.code != 0 || got.result == nil || *got.result != (abi.Result{Success: true}) || got.ready != 1 {
		t.Errorf("got %+v, result %+v", got, got.result)
	}
	lines := strings.Split(strings.TrimSpace(got.printed), "\n")
	if len(lines) != 7 || lines[0] != "Lathe Test - release 7 (test-7)" || lines[1] != "Hello there." {
		t.Fatalf("printed %q", got.printed)
	}
	// It goes right, down, left, up, right; each way for ten frames of five pixels.
	for i, want := range []string{"482, ", "482, ", "432, ", "432, ", "482, "} {
		if !strings.HasPrefix(lines[i+2], "the tool stands at "+want) || !strings.HasSuffix(lines[i+2], " of 12 pieces") {
			t.Errorf("line %d is %q, want it at %s", i+2, lines[i+2], want)
		}
	}
	if !slices.ContainsFunc(got.logs, func(line string) bool { return strings.HasPrefix(line, "2 no window, the game runs in text: ") }) {
		t.Errorf("does not say why there is no window: %q", got.logs)
	}
}

func TestTextEndsAfterFrames(t *testing.T) {
	got := run(t, patience, build(t), "--ClientResources", good().write(t), "--frames", "1")
	if got.code != 0 || strings.Count(got.printed, "the tool stands at ") != 1 {
		t.Errorf("got %+v", got)
	}
}

// TestBadPacks: each fault is named, and ends the game before anything is shown.
func TestBadPacks(t *testing.T) {
	m := load(t)
	core := func(text string) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			c := good()
			c.core["game.txt"] = []byte(text)
			c.writeInto(t, folder, zip.Store)
		}
	}
	picture := func(name string, data []byte) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			c := good()
			c.art[name] = data
			c.writeInto(t, folder, zip.Store)
		}
	}
	// spoil changes the bytes of a pack.
	spoil := func(name string, change func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			good().writeInto(t, folder, zip.Store)
			path := filepath.Join(folder, name)
			data, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, change(data), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	player := encode(disc(96, magenta))
	tests := []struct {
		name string
		make func(*testing.T, string)
		says string
	}{
		{"nothing there", func(*testing.T, string) {}, "Core.zip: can't be opened"},
		{"no art", spoil("Art.zip", func([]byte) []byte { return nil }), "Art.zip: is not a zip file"},
		{"no zip", spoil("Core.zip", func(b []byte) []byte { return b[:40] }), "Core.zip: is not a zip file"},
		{"cut off in front", spoil("Art.zip", func(b []byte) []byte { return b[4:] }), "the directory is damaged"},
		{"compressed", func(t *testing.T, folder string) { good().writeInto(t, folder, zip.Deflate) }, "game.txt: is compressed; the game reads stored entries only"},
		{"checksum", spoil("Core.zip", func(b []byte) []byte { b[45] ^= 1; return b }), "game.txt: has a wrong checksum"},
		{"encrypted", spoil("Core.zip", func(b []byte) []byte { return patchCentral(b, 8, 1) }), "game.txt: is encrypted"},
		{"too long", spoil("Core.zip", func(b []byte) []byte { return patchCentral(patchCentral(b, 20, 0xFFFFFFF0), 24, 0xFFFFFFF0) }), "game.txt: reaches over the end of the pack"},
		{"far away", spoil("Core.zip", func(b []byte) []byte { return patchCentral(b, 42, 0xFFFFFFFF) }), "has no header where the directory says"},
		{"directory elsewhere", spoil("Core.zip", func(b []byte) []byte { return patch(b, len(b)-len("a comment behind the directory")-6, 1<<31) }), "the directory is damaged"},
		{"no text", func(t *testing.T, folder string) {
			c := good()
			c.core = map[string][]byte{"Game.txt": c.core["game.txt"]}
			c.writeInto(t, folder, zip.Store)
		}, "game.txt: is not in the pack"},
		{"no title", core("items=3\n"), "game.txt: has no title"},
		{"no items", core("title=x\n"), "game.txt: items is not between 1 and 64"},
		{"zero items", core("title=x\nitems=0\n"), "game.txt: items is not between 1 and 64"},
		{"65 items", core("title=x\nitems=65\n"), "game.txt: items is not between 1 and 64"},
		{"items without end", core("title=x\nitems=99999999999999999999999\n"), "game.txt: items is not between 1 and 64"},
		{"no picture", picture("font.bmp", []byte("GIF")), "font.bmp: is not a BMP picture"},
		{"palette", picture("item.bmp", encode(image.NewGray(image.Rect(0, 0, 8, 8)))), "item.bmp: is a BMP that is not uncompressed 24 or 32 bit"},
		{"run-length coded", picture("player.bmp", patch(player, 30, 1)), "player.bmp: is a BMP that is not uncompressed"},
		{"rows missing", picture("player.bmp", player[:len(player)-1]), "player.bmp: ends before its last row"},
		{"far pixels", picture("player.bmp", patch(player, 10, 0xFFFFFFFF)), "player.bmp: ends before its last row"},
		{"wide", picture("player.bmp", patch(player, 18, 1<<31)), "player.bmp: has sides that the game does not draw"},
		{"flat", picture("player.bmp", patch(player, 22, 0)), "player.bmp: has sides that the game does not draw"},
		{"upside down", picture("player.bmp", patch(player, 22, 0xFFFFFFA0)), "player.bmp: has sides that the game does not draw"},
		{"font of odd size", picture("font.bmp", encode(disc(100, magenta))), "font.bmp: does not divide into 16 by 6 cells"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			test.make(t, folder)
			got := inside(t, m, "--headless", "--ClientResources", folder)
			if *got.result != (abi.Result{Kind: abi.FatalError}) || got.ready != 0 {
				t.Errorf("got %+v, result %+v", got, got.result)
			}
			if len(got.logs) != 1 || !strings.HasPrefix(got.logs[0], "3 packs can't be used: ") || !strings.Contains(got.logs[0], test.says) {
				t.Errorf("logged %q, want %q", got.logs, test.says)
			}
		})
	}
}

// patchCentral writes a number into the first central record of a pack.
func patchCentral(data []byte, at int, value uint32) []byte {
	return patch(data, strings.Index(string(data), "PK\x01\x02")+at, value)
}

func TestPicturesOf32Bits(t *testing.T) {
	c := good()
	player := image.NewNRGBA(image.Rect(0, 0, 30, 30)) // not opaque, so that it is written with four bytes a pixel
	c.art["player.bmp"] = encode(player)
	if bits := c.art["player.bmp"][28]; bits != 32 {
		t.Fatalf("a picture of %d bits", bits)
	}
	got := inside(t, load(t), "--headless", "--ClientResources", c.write(t))
	if !got.result.Success {
		t.Errorf("got %+v", got)
	}
}

func TestWithoutPacksFolder(t *testing.T) {
	got := inside(t, load(t), "--headless")
	if got.result.Kind != abi.FatalError || !slices.Contains(got.logs, "3 no packs: --ClientResources is missing") {
		t.Errorf("got %+v", got)
	}
}

// TestUTF8Folder: packs may lie in the home of a player whose name is not English.
func TestUTF8Folder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "Игрок 玩家 ä")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	good().writeInto(t, folder, zip.Store)
	got := inside(t, load(t), "--headless", "--ClientResources", folder)
	if !got.result.Success {
		t.Errorf("got %+v", got)
	}
}
