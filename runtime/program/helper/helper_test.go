package helper_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"collet/platform"
	"collet/platform/testlevel"
)

// languages are the helpers with a game that makes the five calls and prints their results, one a line.
var languages = []struct {
	name   string
	helper string
	file   string    // the game's source
	text   string    // its text
	needs  []string  // programs
	build  []string  // command before the run; may be empty
	run    []string  // command of the run
	yes    [3]string // how it prints: done, the version "1.2 beta", and true
	no     [2]string // how it prints: not done, no version
}{
	{name: "C", helper: "collet.h", file: "game.c", needs: []string{"cc"}, build: []string{"cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", "game", "game.c"}, run: []string{"./game"},
		yes: [3]string{"1", "1.2 beta", "1"}, no: [2]string{"0", ""}, text: `
#include "collet.h"
int main(void) {
    char version[64] = "";
    printf("%d\n", collet_ready());
    printf("%d\n", collet_progress("shaders\n40%"));
    collet_update_available(version, sizeof version);
    printf("%s\n", version);
    printf("%d\n", collet_restart_to_update());
    printf("%d\n", collet_stop_requested());
    return 0;
}`},
	{name: "Cpp", helper: "collet.h", file: "game.cpp", needs: []string{"c++"}, build: []string{"c++", "-Wall", "-Wextra", "-Werror", "-o", "game", "game.cpp"}, run: []string{"./game"},
		yes: [3]string{"1", "1.2 beta", "1"}, no: [2]string{"0", ""}, text: `
#include "collet.h"
int main() {
    char version[64] = "";
    printf("%d\n", collet_ready());
    printf("%d\n", collet_progress("shaders\n40%"));
    collet_update_available(version, sizeof version);
    printf("%s\n", version);
    printf("%d\n", collet_restart_to_update());
    printf("%d\n", collet_stop_requested());
}`},
	{name: "Python", helper: "collet.py", file: "game.py", needs: []string{"python3"}, run: []string{"python3", "game.py"},
		yes: [3]string{"True", "1.2 beta", "True"}, no: [2]string{"False", "None"}, text: `
import collet
print(collet.ready())
print(collet.progress("shaders\n40%"))
print(collet.update_available())
print(collet.restart_to_update())
print(collet.stop_requested())`},
	{name: "Lua 5.4", helper: "collet.lua", file: "game.lua", needs: []string{"lua5.4"}, run: []string{"lua5.4", "game.lua"},
		yes: [3]string{"true", "1.2 beta", "true"}, no: [2]string{"false", "nil"}, text: luaGame},
	{name: "Lua 5.1", helper: "collet.lua", file: "game.lua", needs: []string{"lua5.1"}, run: []string{"lua5.1", "game.lua"},
		yes: [3]string{"true", "1.2 beta", "true"}, no: [2]string{"false", "nil"}, text: luaGame},
	{name: "C#", helper: "Collet.cs", file: "Game.cs", needs: []string{"mcs", "mono"}, build: []string{"mcs", "-warnaserror", "-out:game.exe", "Game.cs", "Collet.cs"}, run: []string{"mono", "game.exe"},
		yes: [3]string{"True", "1.2 beta", "True"}, no: [2]string{"False", ""}, text: `
using System;
static class Game {
    static void Main() {
        Console.WriteLine(Collet.Ready());
        Console.WriteLine(Collet.Progress("shaders\n40%"));
        Console.WriteLine(Collet.UpdateAvailable());
        Console.WriteLine(Collet.RestartToUpdate());
        Console.WriteLine(Collet.StopRequested());
    }
}`},
	{name: "JavaScript", helper: "collet.js", file: "game.js", needs: []string{"node"}, run: []string{"node", "game.js"},
		yes: [3]string{"true", "1.2 beta", "true"}, no: [2]string{"false", "null"}, text: `
const collet = require("./collet.js");
if (collet !== globalThis.Collet) throw new Error("two of them");
console.log(collet.ready());
console.log(collet.progress("shaders\n40%"));
console.log(collet.updateAvailable());
console.log(collet.restartToUpdate());
console.log(collet.stopRequested());`},
	{name: "Godot 3", helper: "collet.gd", file: "game.gd", needs: []string{"godot3-server"}, run: []string{"godot3-server", "--no-window", "-s", "game.gd"},
		yes: [3]string{"True", "1.2 beta", "True"}, no: [2]string{"False", "Null"}, text: `
extends SceneTree
func _init():
	var collet = load("collet.gd").new()
	print(collet.ready_to_play())
	print(collet.progress("shaders\n40%"))
	print(collet.update_available())
	print(collet.restart_to_update())
	print(collet.stop_requested())
	collet.free()
	quit()`},
}

const luaGame = `
local collet = require "collet"
print(collet.ready())
print(collet.progress("shaders\n40%"))
print(collet.update_available())
print(collet.restart_to_update())
print(collet.stop_requested())`

// TestHelpers runs a game in each language with the real compiler or interpreter: below Collet, without it, and below a Collet that is
// gone.
func TestHelpers(t *testing.T) {
	testlevel.Slow(t)
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for _, program := range l.needs {
				if _, err := exec.LookPath(program); err != nil {
					t.Skip("needs " + program)
				}
			}
			folder := t.TempDir()
			write := func(name, text string) string {
				t.Helper()
				name = filepath.Join(folder, name)
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return name
			}
			helper, err := os.ReadFile(l.helper)
			if err != nil {
				t.Fatal(err)
			}
			if lines := strings.Count(string(helper), "\n"); lines > 150 {
				t.Errorf("%s has %d lines", l.helper, lines)
			}
			write(l.helper, string(helper))
			write(l.file, l.text)
			command := func(words []string, env []string) string {
				t.Helper()
				cmd := exec.Command(words[0], words[1:]...)
				cmd.Dir, cmd.Env = folder, env
				var errors strings.Builder
				cmd.Stderr = &errors
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%v: %v\n%s%s", words, err, out, errors.String())
				}
				return string(out)
			}
			bare := platform.SetVariable(os.Environ(), "HOME", folder)
			if len(l.build) > 0 {
				command(l.build, bare)
			}
			expect := func(when string, env []string, lines ...string) {
				t.Helper()
				if out := strings.ReplaceAll(command(l.run, env), "\r", ""); !strings.HasSuffix(out, strings.Join(lines, "\n")+"\n") {
					t.Errorf("%s: printed %q, want %q", when, out, lines)
				}
			}
			off := []string{l.no[0], l.no[0], l.no[1], l.no[0], l.no[0]}
			expect("without Collet", bare, off...)
			events, state := write("events", "before\n"), write("state", "news of a later version\nupdate 1.2 beta\nstop\n")
			below := append(bare, "COLLET_EVENTS="+events, "COLLET_STATE="+state)
			expect("below Collet", below, l.yes[0], l.yes[0], l.yes[1], l.yes[0], l.yes[2])
			if said, _ := os.ReadFile(events); string(said) != "before\nready\nprogress shaders 40%\nrestart\n" {
				t.Errorf("said %q", said)
			}
			write("state", "")
			expect("nothing to tell", below, l.yes[0], l.yes[0], l.no[1], l.yes[0], l.no[0])
			gone := append(bare, "COLLET_EVENTS="+filepath.Join(folder, "gone", "events"), "COLLET_STATE="+filepath.Join(folder, "gone", "state"))
			expect("Collet is gone", gone, off...)
		})
	}
}
