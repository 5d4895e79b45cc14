package wine_test

import (
	"bytes"
	"context"
	"image"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/build/lab/wine"
	"collet/build/testprograms"
	launch "collet/runtime/program"
)

// programGame is an install whose game is an executable: testdata/game.c.
type programGame struct{ game }

// description is that of the game.
func description(build string) launch.Description {
	return launch.Description{
		Name: "Lathe", Build: build, Program: "game.exe", Ready: launch.Ready{Window: true, Seconds: 60},
		Exit: launch.Exit{Clean: []int64{0, 7}, Reload: []int64{75}},
	}
}

// program lays the game out in a folder of the drive C:.
func (p player) program(folder string) programGame {
	p.t.Helper()
	g := programGame{game{p, p.Unix(folder), p.Unix(folder)}}
	g.describe(g.dir, description("01"))
	g.put("Resources/data/level.txt", "3060c0 Lathe 1\n")
	g.put("Lathe.toml", "[Client]\nKind = \"program\"\nStopWithin = \"4s\"\n")
	g.copy(p.client, filepath.Join(g.dir, "Lathe.exe"))
	g.copy(p.executable, filepath.Join(g.dir, "Resources", "game.exe"))
	return g
}

// describe writes the game's description into a folder.
func (p player) describe(folder string, d launch.Description) {
	p.t.Helper()
	data, err := d.Encode()
	p.must(err)
	p.must(os.MkdirAll(folder, 0o755))
	p.must(os.WriteFile(filepath.Join(folder, "Lathe.program"), data, 0o644))
}

// put writes a file of the install.
func (g programGame) put(name, text string) {
	g.t.Helper()
	name = filepath.Join(g.dir, filepath.FromSlash(name))
	g.must(os.MkdirAll(filepath.Dir(name), 0o755))
	g.must(os.WriteFile(name, []byte(text), 0o644))
}

// said is what the game wrote into its own log.
func (g programGame) said() string {
	text, _ := os.ReadFile(filepath.Join(g.dir, "Resources", "game.log"))
	return string(text)
}

// ask asks the client to end, as Windows does, and waits for its end.
func (g programGame) ask(cmd *exec.Cmd) {
	g.t.Helper()
	said, err := g.Run(g.t.Context(), "taskkill.exe", "/IM", "Lathe.exe")
	if err != nil {
		g.t.Logf("taskkill: %v\n%s", err, said)
	}
	cmd.Wait()
}

// gone waits until no process of the game is left.
func (g programGame) gone() {
	g.t.Helper()
	name := []byte(strings.TrimPrefix(filepath.ToSlash(g.dir), filepath.ToSlash(g.Drive())) + "/Resources/game.exe")
	g.wait("the game runs on", func() bool {
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		g.must(err)
		for _, line := range lines {
			if text, err := os.ReadFile(line); err == nil && bytes.Contains(bytes.ReplaceAll(text, []byte(`\`), []byte("/")), name) {
				return false
			}
		}
		return true
	})
}

// TestProgramEnds has the meaning of each way in which a program for Windows ends by itself.
func TestProgramEnds(t *testing.T) {
	p := newPlayer(t, wine.Options{})
	for _, test := range []struct {
		name   string
		args   []string
		code   int
		logged []string
	}{
		{"clean", []string{"exit", "0"}, 0, []string{`"end":"clean shutdown"`}},
		{"another clean code", []string{"exit", "7"}, 0, []string{`"end":"clean shutdown"`}},
		{"reload", []string{"once", "mark", "75"}, 0, []string{`"end":"reload"`, `"end":"clean shutdown"`}},
		{"unknown code", []string{"exit", "3"}, 30, []string{"exited with code 3", `"end":"failed start"`}},
		{"negative code", []string{"exit", "0xFFFFFFFF"}, 30, []string{`"end":"failed start"`}},
		{"access violation", []string{"crash"}, 30, []string{"access violation", `"end":"failed start"`}},
		{"stack overrun", []string{"exit", "0xC0000409"}, 30, []string{"stack buffer overrun", `"end":"failed start"`}},
		{"end of the session", []string{"exit", "0x40010004"}, 40, nil},
		{"launcher", []string{"launch", "after", "6000", "exit", "0"}, 0, []string{`"end":"clean shutdown"`, "process [0-9]+ of the game"}},
		{"launcher that fails", []string{"after", "100", "exit", "9"}, 30, []string{"exited with code 9"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := p.in(t).program(`C:\Games\` + test.name)
			g.play(test.code, append([]string{"--run", "--offline", "--log-level", "debug", "--"}, test.args...)...)
			for _, pattern := range test.logged {
				g.waitLog(pattern)
			}
			g.gone()
		})
	}
}

// TestProgramIsAsked: a program shows a window, which makes it ready, and ends when that is asked to close; one that does not listen is
// killed, and so is one whose host is killed.
func TestProgramIsAsked(t *testing.T) {
	p := newPlayer(t, wine.Options{Screen: image.Pt(800, 600)})
	for _, test := range []struct {
		name   string
		args   []string
		killed bool
	}{
		{"asked", nil, false},
		{"launched", []string{"launch", "after", "300", "window"}, false},
		{"deaf", []string{"deaf"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			g, within := p.in(t).program(`C:\Games\`+test.name), "1m"
			if test.killed {
				within = "15s"
			}
			g.put("Lathe.toml", "[Client]\nKind = \"program\"\nStopWithin = \""+within+"\"\n")
			cmd := g.start(append([]string{"--headless", "--run", "--offline", "--"}, test.args...)...)
			g.waitLog("ready by its first window")
			g.ask(cmd)
			g.gone()
			if said := g.said(); strings.Count(said, "asked to close") != 1 || strings.Contains(said, "closed") == test.killed {
				t.Errorf("the game said\n%s", said)
			}
			if killed := strings.Contains(g.log(), "did not end in time and is killed"); killed != test.killed {
				t.Errorf("killed: %v\n%s", killed, g.log())
			}
			if clean := strings.Contains(g.log(), `"end":"clean shutdown"`); clean == test.killed {
				t.Errorf("clean: %v\n%s", clean, g.log())
			}
		})
	}
	t.Run("console", func(t *testing.T) { // the system opens its window, and that says nothing about the game
		g := p.in(t).program(`C:\Games\console`)
		g.copy(p.console, filepath.Join(g.dir, "Resources", "game.exe"))
		g.play(30, "--run", "--offline", "--", "after", "3000", "exit", "3")
		if log := g.log(); strings.Contains(log, "ready by") || !strings.Contains(log, `"end":"failed start"`) {
			t.Errorf("a console made the game ready\n%s", log)
		}
	})
	t.Run("host killed", func(t *testing.T) {
		g := p.in(t).program(`C:\Games\host killed`)
		cmd := g.start("--headless", "--run", "--offline", "--", "launch", "window")
		g.waitLog("ready by its first window")
		g.must(cmd.Process.Kill())
		cmd.Wait()
		g.gone()
	})
}

// releases is a folder of signed releases of the game, on a web server of this machine.
type releases struct {
	player
	dir, url string
}

// releases sets the folder up.
func (p player) releases() releases {
	p.t.Helper()
	r := releases{player: p, dir: p.t.TempDir()}
	r.collet("keys", "init", "--keys", "keys", "--development")
	r.collet("release", "init", "--dir", "release", "--keys", "keys", "--product", "lathe", "--allow-development")
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(r.dir, "release"))))
	p.t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r releases) collet(args ...string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), testprograms.Collet(r.t), args...)
	cmd.Dir = r.dir
	if said, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("collet %q: %v\n%s", args, err, said)
	}
}

// publish publishes a release with this level.
func (r releases) publish(build, level string) {
	r.t.Helper()
	root := filepath.Join(r.dir, "game-"+build)
	r.describe(filepath.Join(root, "PlatformBinaries", "Windows-win64"), description(build))
	r.must(os.MkdirAll(filepath.Join(root, "Resources", "data"), 0o755))
	r.must(os.WriteFile(filepath.Join(root, "Resources", "data", "level.txt"), []byte(level), 0o644))
	r.copy(r.executable, filepath.Join(root, "Resources", "game.exe"))
	r.collet("release", "publish", root, "--dir", "release", "--allow-development")
	r.collet("keys", "export", "root.json", "--dir", "release", "--allow-development")
}

// TestProgramUpdates: an update while the game plays touches nothing that is in use; a file that another program holds is waited for, and
// named.
func TestProgramUpdates(t *testing.T) {
	p := newPlayer(t, wine.Options{Screen: image.Pt(800, 600)})
	r := p.in(t).releases()
	r.publish("01", "3060c0 Lathe 1\n")
	signed := []string{"--headless", "--run", "--release", r.url, "--trusted-root", wine.Windows(filepath.Join(r.dir, "root.json"))}
	level := func(g programGame) string {
		data, err := os.ReadFile(filepath.Join(g.dir, "Resources", "data", "level.txt"))
		g.must(err)
		return strings.TrimSpace(string(data))
	}

	g := r.program(`C:\Games\Playing`)
	g.put("Lathe.toml", "[Client]\nKind = \"program\"\n[Update]\nWhilePlaying = \"1s\"\n")
	cmd := g.start(append(signed, "--", "hold", `data\level.txt`)...)
	g.waitLog("ready by its first window")
	r.publish("02", "c06030 Lathe 2\n")
	g.waitLog("a newer release is ready for the next start")
	if got := level(g); got != "3060c0 Lathe 1" {
		t.Errorf("while it plays the level is %q", got)
	}
	g.ask(cmd)
	cmd = g.start(append(signed, "--", "hold", `data\level.txt`)...)
	g.wait("the new release does not play", func() bool { return strings.Contains(g.said(), "plays Lathe 2") })
	if got := level(g); got != "c06030 Lathe 2" {
		t.Errorf("after the update the level is %q", got)
	}
	g.ask(cmd)

	r.publish("03", "30c060 Lathe 3\n")
	g.hold(`Resources\data\level.txt`, "open", time.Second)
	said := g.run(append(signed, "--", "exit", "0")...)
	if got := level(g); got != "30c060 Lathe 3" {
		t.Errorf("after a second the level is %q\n%s", got, said)
	}
	r.publish("04", "c0c060 Lathe 4\n")
	other := g.hold(`Resources\data\level.txt`, "open", time.Hour)
	if said = g.run(append(signed, "--", "exit", "0")...); !strings.Contains(said, "level.txt") {
		t.Errorf("said\n%s", said)
	}
	g.must(other.Process.Kill())
	other.Wait()
	g.run(append(signed, "--", "exit", "0")...)
	if got := level(g); got != "c0c060 Lathe 4" {
		t.Errorf("in the end the level is %q", got)
	}
}

// run runs the client to its end and returns what it printed.
func (g programGame) run(args ...string) string {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	said, err := g.RunIn(ctx, g.dir, filepath.Join(g.dir, "Lathe.exe"), args...)
	g.t.Logf("%v", err)
	return said
}
