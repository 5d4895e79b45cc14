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

// samples are the code of the pages in docs/engines, with what stands in for the engine. The engine shows a frame and a second passes; then the
// sample has been told to end, and the engine prints quit.
var samples = []struct {
	page, language string
	helper         string
	file           string // for the sample
	adapt          func(code string) string
	stand          map[string]string // files in place of the engine
	needs          []string
	build, run     []string
	silent         bool // it reports ready, and no progress
}{
	{page: "plain", language: "c", helper: "collet.h", file: "game.c", needs: []string{"cc"},
		build: []string{"cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", "game", "game.c"}, run: []string{"sh", "-c", "./game && echo quit"}},
	{page: "unreal", language: "cpp", helper: "collet.h", file: "instance.inc", needs: []string{"c++"}, silent: true,
		stand: map[string]string{"game.cpp": `
#include <functional>
#include <cstdio>
struct FTimerHandle {};
struct FTimerManager { std::function<void()> call; void SetTimer(FTimerHandle &, std::function<void()> f, float, bool) { call = f; } };
struct FPlatformMisc { static void RequestExit(bool) { std::puts("quit"); } };
struct UGameInstance { FTimerManager timers; FTimerManager &GetTimerManager() { return timers; } virtual void OnStart() {} virtual ~UGameInstance() {} };
struct ULatheInstance : UGameInstance { typedef UGameInstance Super; FTimerHandle StopTimer; void OnStart() override; };
#include "instance.inc"
int main() { ULatheInstance game; game.OnStart(); game.timers.call(); }
`}, build: []string{"c++", "-Wall", "-Wextra", "-Werror", "-o", "game", "game.cpp"}, run: []string{"./game"}},
	{page: "unity", language: "csharp", helper: "Collet.cs", file: "UpdateWatch.cs", needs: []string{"mcs", "mono"},
		stand: map[string]string{"Engine.cs": `
using System;
using System.Collections;
using System.Reflection;
namespace UnityEngine {
    public class MonoBehaviour {}
    public class WaitForSecondsRealtime { public WaitForSecondsRealtime(float seconds) {} }
    public static class Application { public static void Quit() { Console.WriteLine("quit"); } }
    static class Engine {
        static void Main() {
            IEnumerator frames = (IEnumerator)typeof(UpdateWatch).GetMethod("Start", BindingFlags.Instance | BindingFlags.NonPublic).Invoke(new UpdateWatch(), null);
            for (int i = 0; i < 3 && frames.MoveNext(); i++) {}
        }
    }
}
`}, build: []string{"mcs", "-warnaserror", "-out:game.exe", "Engine.cs", "UpdateWatch.cs", "Collet.cs"}, run: []string{"mono", "game.exe"}},
	{page: "godot", language: "gdscript", helper: "collet.gd", file: "main.gd", needs: []string{"godot3-server"},
		adapt: func(code string) string {
			return strings.Replace(code, "get_tree().quit()", "print(\"quit\")\n\t\tget_tree().quit()", 1)
		},
		stand: map[string]string{
			"project.godot": "config_version=4\n[application]\nconfig/name=\"Lathe\"\nrun/main_scene=\"res://main.tscn\"\n[autoload]\nCollet=\"*res://collet.gd\"\n",
			"main.tscn": "[gd_scene load_steps=2 format=2]\n[ext_resource path=\"res://main.gd\" type=\"Script\" id=1]\n[node name=\"Main\" type=\"Node2D\"]\nscript = ExtResource( 1 )\n" +
				"[node name=\"Timer\" type=\"Timer\" parent=\".\"]\nwait_time = 0.1\nautostart = true\n[connection signal=\"timeout\" from=\"Timer\" to=\".\" method=\"_on_timer_timeout\"]\n",
		}, run: []string{"godot3-server", "--no-window", "--path", "."}},
	{page: "renpy", language: "renpy", helper: "collet.py", file: "sample.py", needs: []string{"python3"}, silent: true, adapt: pythonOf,
		stand: map[string]string{"game.py": `
class renpy:
    @staticmethod
    def quit(save):
        print("quit")
class config:
    periodic_callbacks = []
exec(open("sample.py").read())
for tick in config.periodic_callbacks:
    tick()
    tick()
`}, run: []string{"python3", "game.py"}},
	{page: "love", language: "lua", helper: "collet.lua", file: "main.lua", needs: []string{"lua5.4"},
		stand: map[string]string{"game.lua": `
love = {event = {quit = function() print("quit") end}}
dofile("main.lua")
love.load()
love.draw()
love.draw()
love.update(0.5)
love.update(0.6)
`}, run: []string{"lua5.4", "game.lua"}},
	{page: "electron", language: "js", helper: "collet.js", file: "main.js", needs: []string{"node"},
		stand: map[string]string{"node_modules/electron/index.js": `
class BrowserWindow {
  once(event, call) { this.call = call; }
  show() {}
  loadFile() { this.call(); }
}
const app = { whenReady: () => Promise.resolve(), quit: () => { console.log("quit"); process.exit(0); } };
module.exports = { app, BrowserWindow };
`}, run: []string{"node", "main.js"}},
	{page: "rpgmaker", language: "js", helper: "collet.js", file: "ColletStart.js", needs: []string{"node"}, silent: true,
		stand: map[string]string{"game.js": `
require("./collet.js");
globalThis.Scene_Title = function() {};
Scene_Title.prototype.start = function() {};
globalThis.SceneManager = { exit: () => { console.log("quit"); process.exit(0); } };
require("./ColletStart.js");
new Scene_Title().start();
`}, run: []string{"node", "game.js"}},
}

// pythonOf is what Ren'Py runs of a sample: the block of init python, and the lines that begin with a dollar.
func pythonOf(code string) string {
	var lines []string
	for line := range strings.Lines(code) {
		if rest, is := strings.CutPrefix(line, "    "); is && !strings.HasPrefix(rest, "return") {
			lines = append(lines, strings.TrimPrefix(rest, "$ "))
		}
	}
	return strings.Join(lines, "")
}

// TestEngineSamples runs the code of the pages with the helper, in the real language.
func TestEngineSamples(t *testing.T) {
	testlevel.Slow(t)
	for _, s := range samples {
		t.Run(s.page, func(t *testing.T) {
			t.Parallel()
			for _, program := range s.needs {
				if _, err := exec.LookPath(program); err != nil {
					t.Skip("needs " + program)
				}
			}
			page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "engines", s.page+".md"))
			if err != nil {
				t.Fatal(err)
			}
			_, code, found := strings.Cut(string(page), "```"+s.language+"\n")
			if code, _, _ = strings.Cut(code, "```"); !found {
				t.Fatalf("%s.md has no block of %s", s.page, s.language)
			}
			helper, err := os.ReadFile(s.helper)
			if err != nil {
				t.Fatal(err)
			}
			if s.adapt != nil {
				code = s.adapt(code)
			}
			folder := t.TempDir()
			files := map[string]string{s.file: code, s.helper: string(helper), "events": "", "state": "stop\n"}
			for name, text := range s.stand {
				files[name] = text
			}
			for name, text := range files {
				full := filepath.Join(folder, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			said := ""
			for _, words := range [][]string{s.build, s.run} {
				if len(words) == 0 {
					continue
				}
				cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
				cmd.Dir = folder
				cmd.Env = append(platform.SetVariable(os.Environ(), "HOME", folder), "COLLET_EVENTS="+filepath.Join(folder, "events"), "COLLET_STATE="+filepath.Join(folder, "state"))
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %v\n%s", words, err, out)
				}
				said = string(out)
			}
			want := "progress Loading the workshop\nready\n"
			if s.silent {
				want = "ready\n"
			}
			if events, err := os.ReadFile(filepath.Join(folder, "events")); err != nil || string(events) != want || strings.Count(said, "quit") != 1 {
				t.Errorf("it said %q to Collet, want %q; it printed %q; %v", events, want, said, err)
			}
		})
	}
}
