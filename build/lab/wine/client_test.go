package wine_test

import (
	"image"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"collet/build/lab/wine"
	"collet/build/qa/proxy"
	"collet/build/qa/screen"
)

// TestWindows plays an update through as a player sees it: the splash, the swap, the new game's window, its end.
func TestWindows(t *testing.T) {
	p := newPlayer(t, wine.Options{Screen: image.Pt(1100, 760)})
	g := p.install(`C:\Games\Lathe`)
	cmd := g.start("--trust", "sha256", "--server", p.serve())

	splash := g.see("splash", func(w screen.Window) bool { return !strings.Contains(w.Name, "release") }, 300)
	if splash.Bounds.Dx() < 300 || splash.Bounds.Dy() < 200 {
		t.Errorf("the splash is at %v", splash.Bounds)
	}
	window := g.see("game", func(w screen.Window) bool { return w.Name == "Lathe - release 2" }, 300)
	if window.Bounds.Size() != image.Pt(960, 600) {
		t.Errorf("the game's window is at %v", window.Bounds)
	}
	g.waitLog(`"message":"set confirmed"`)
	ended, done := error(nil), make(chan struct{})
	go func() { ended = cmd.Wait(); close(done) }()
	if err := p.Screen().KeyUntil(t.Context(), window, "Escape", done); err != nil {
		t.Error(err)
	}
	<-done
	if err := ended; err != nil {
		t.Errorf("ended with %v\n%s", err, g.log())
	}
	g.updated()
	g.wantLog(1, "collet-client starts")
	g.wantLog(1, `"message":"module swapped"`)
	g.wantLog(1, `"end":"clean shutdown"`)
}

// see waits for a window in which something is drawn, and keeps a picture of it.
func (g game) see(name string, is func(screen.Window) bool, colours int) (found screen.Window) {
	g.t.Helper()
	var last *image.NRGBA
	g.wait("no picture of the "+name, func() bool {
		windows, err := g.Screen().Windows(g.t.Context())
		g.must(err)
		for _, w := range windows {
			if !is(w) {
				continue
			}
			found = w
			last, err = g.Screen().Shot()
			g.must(err)
			return screen.Colours(last, w.Bounds, colours) == colours
		}
		return false
	})
	g.must(screen.SavePNG(filepath.Join(g.t.ArtifactDir(), name+".png"), last))
	return found
}

// TestRelaunch: a game in its window asks to be loaded anew, and the host starts itself beside itself, again and again
// until that is too often. The last one shows that and is closed.
func TestRelaunch(t *testing.T) {
	p := newPlayer(t, wine.Options{Screen: image.Pt(1100, 760)})
	g := p.install(`C:\Games\Lathe`)
	g.start("--offline", "--", "--ask-reload")
	g.waitLog(`"relaunched":2,"time".*"collet-client starts"`)
	pids := map[string]bool{}
	for _, start := range regexp.MustCompile(`"pid":(\d+),.*"collet-client starts"`).FindAllStringSubmatch(g.log(), -1) {
		pids[start[1]] = true
	}
	if len(pids) < 3 {
		t.Errorf("the processes are %v\n%s", pids, g.log())
	}
}

// TestHeadless is everything that needs no window, on one computer.
func TestHeadless(t *testing.T) {
	p := newPlayer(t, wine.Options{})
	server := p.serve()
	for name, test := range map[string]func(player, string){
		"program files": underProgramFiles,
		"one at a time": oneAtATime,
		"killed":        killed,
		"held":          held,
		"loaded":        loaded,
		"long path":     longPath,
		"ends":          ends,
	} {
		t.Run(name, func(t *testing.T) { test(p.in(t), server) })
	}
}

// underProgramFiles: what an installer put there stays as it is, and what changes lies with the user's own data.
func underProgramFiles(p player, server string) {
	g := p.install(`C:\Program Files\Lathe`)
	p.must(os.WriteFile(filepath.Join(g.dir, "INSTALLED"), nil, 0o644))
	before := p.listing(g.dir)
	users, err := filepath.Glob(filepath.Join(p.Drive(), "users", "*", "AppData", "Local"))
	if err != nil || len(users) != 1 {
		p.t.Fatalf("folders for data: %q, %v", users, err)
	}
	g.data = filepath.Join(users[0], "Lathe")
	said := g.play(0, "--run", "--server", server, "--", "--headless")
	if !strings.Contains(said, `AppData\Local\Lathe`) {
		p.t.Errorf("said\n%s", said)
	}
	g.updated()
	g.wantLog(1, "set confirmed")
	if after := p.listing(g.dir); after != before {
		p.t.Errorf("the install folder has\n%s\nbefore\n%s", after, before)
	}
	g.play(0, "--run", "--offline", "--", "--headless")
}

// listing names every file of a folder with its size.
func (p player) listing(dir string) string {
	var lines []string
	p.must(fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			info, err := e.Info()
			if err != nil {
				return err
			}
			lines = append(lines, name+" "+info.ModTime().String())
		}
		return err
	}))
	return strings.Join(lines, "\n")
}

// oneAtATime: a second start says that there is one, and leaves it alone; a killed one leaves nothing that hinders the next.
func oneAtATime(p player, _ string) {
	g := p.install(`C:\Games\One`)
	first := g.start("--headless", "--run", "--offline", "--", "--hang")
	g.waitLog("module runs")
	if said := g.play(31, "--offline"); !strings.Contains(said, "AlreadyRunning") {
		p.t.Errorf("the second said\n%s", said)
	}
	p.must(first.Process.Kill())
	first.Wait()
	if said := g.play(0, "--run", "--offline", "--", "--headless"); !strings.Contains(said, "ResourcesReady") {
		p.t.Errorf("the next said\n%s", said)
	}
}

// killed: an update that is killed in the middle goes on where it was.
func killed(p player, server string) {
	g := p.install(`C:\Games\Killed`)
	line, err := proxy.Start(proxy.Options{Target: server, Link: proxy.Link{Rate: 200_000}})
	p.must(err)
	p.t.Cleanup(func() { line.Close() })
	cmd := g.start("--headless", "--trust", "sha256", "--server", line.Addr())
	part := filepath.Join(g.dir, "Resources", "~Levels.zip")
	p.wait("nothing arrives", func() bool {
		info, err := os.Stat(part)
		return err == nil && info.Size() > 300_000
	})
	p.must(cmd.Process.Kill())
	cmd.Wait()
	info, err := os.Stat(part)
	p.must(err)
	said := g.play(0, "--run", "--server", server, "--", "--headless")
	if !strings.Contains(said, "didn't end properly") {
		p.t.Errorf("said\n%s", said)
	}
	g.updated()
	p.t.Logf("%d bytes were there", info.Size())
}

// held: a file that another program has open is waited for, and one that stays open is named.
func held(p player, server string) {
	g := p.install(`C:\Games\Held`)
	g.hold("Lathe.dll", "open", time.Second)
	g.play(0, "--run", "--server", server, "--", "--headless")
	g.updated()

	g = p.install(`C:\Games\Held for long`)
	other := g.hold("Lathe.dll", "open", time.Hour)
	if said := g.play(24, "--run", "--server", server, "--", "--headless"); !strings.Contains(said, "Lathe.dll") {
		p.t.Errorf("said\n%s", said)
	}
	g.same(filepath.Join(g.dir, "Lathe.dll"), p.modules[0])
	p.must(other.Process.Kill())
	other.Wait()
	g.play(0, "--run", "--server", server, "--", "--headless")
	g.updated()
}

// loaded: a library that another program has loaded is renamed away, and removed when it is free.
func loaded(p player, server string) {
	g := p.install(`C:\Games\Loaded`)
	other := g.hold("Lathe.dll", "load", time.Hour)
	g.play(0, "--run", "--server", server, "--", "--headless")
	g.same(filepath.Join(g.dir, "Lathe.dll"), p.modules[1])
	p.must(other.Process.Kill())
	other.Wait()
	g.play(0, "--run", "--server", server, "--", "--headless")
	g.updated()
}

// longPath: what is written lies in a folder whose name is longer than Windows' old limit, also the module that runs. The
// program itself can't: Windows starts none from there.
func longPath(p player, server string) {
	g := p.install(`C:\Games\Long`)
	folder := `C:\Games\` + strings.Repeat(`a rather long name of a folder\`, 10) + "Lathe"
	g.data = p.Unix(folder)
	g.play(0, "--run", "--server", server, "--UserWritablePath", folder, "--", "--headless")
	g.updated()
	g.wantLog(1, "set confirmed")
}

// TestSessionEnds: the end of a session, and a program that asks the client's windows to close, let the game end first.
func TestSessionEnds(t *testing.T) {
	p := newPlayer(t, wine.Options{Screen: image.Pt(1100, 760)})
	for name, ask := range map[string][]string{
		"session":  {"wineboot.exe", "--end-session"},
		"taskkill": {"taskkill.exe", "/IM", "Lathe.exe"},
	} {
		g := p.install(`C:\Games\` + name)
		cmd := g.start("--headless", "--run", "--offline", "--", "--frames", "1000000")
		g.waitLog("runtime ready")
		said, err := p.Run(t.Context(), ask[0], ask[1:]...)
		t.Logf("%s: %v\n%s", name, err, said)
		cmd.Wait()
		g.waitLog("module is asked to end")
		g.waitLog(`"end":"clean shutdown"`)
	}
}

// ends: exit codes arrive.
func ends(p player, _ string) {
	g := p.install(`C:\Games\Ends`)
	g.play(2, "--no-such-flag")
	g.play(20, "--server", "127.0.0.1:9")
	g.play(30, "--run", "--offline", "--", "--headless", "--fatal")
	g.play(30, "--run", "--offline", "--", "--headless", "--crash")
}
