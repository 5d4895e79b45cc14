package games

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"collet/build/qa/screen"
	"collet/platform/testwait"
	"collet/platform/window"
	"collet/runtime/program"
)

// computer is that of a player.
type computer interface {
	// install unpacks a player's archive and returns the folder that it makes.
	install(archive string) string
	// command prepares the client in a folder.
	command(folder string, args ...string) *exec.Cmd
	// ask asks a client to end, as the system does.
	ask(h *host)
	// format is the target and the format of its archives.
	format() string
	screen() *screen.Screen
}

// Exit codes of the client.
const (
	codeFine      = 0
	codeFailed    = 30
	codeCancelled = 40
)

// chain is the life of one game.
type chain struct {
	t *testing.T
	game
	computer
	dir     string // the developer's folder
	tools   string // folder of the programs
	origin  *origin
	install string   // the player's folder
	set     []string // the files of the game there, in the folder of resources
	row     *row
}

// play plays the life of a game through.
func (g game) play(t *testing.T, on computer, tools, keys string, table *table) {
	c := &chain{t: t, game: g, computer: on, dir: t.TempDir(), tools: tools, row: table.add(g.name)}
	t.Cleanup(func() {
		if t.Failed() {
			c.keep("failed")
		}
	})
	folder := filepath.Join(c.dir, "game")
	g.make(t, folder)
	c.origin = newOrigin(t, filepath.Join(c.dir, "release"))
	c.develop(keys)
	c.firstInstall()
	c.playOnce("1", "first")

	g.change(t, folder)
	c.publish()
	c.killInTheMiddle()
	c.playOnce("2", "update")
	c.wantSet("after the update")

	good := t.TempDir()
	must(t, os.CopyFS(good, os.DirFS(folder)))
	g.spoil(t, folder)
	c.publish()
	c.goBack(good)
	c.repair()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// collet runs a command in the developer's folder and returns what it printed, and the time.
func (c *chain) collet(args ...string) (said string, took time.Duration) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), filepath.Join(c.tools, "collet"), args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "COLLET_PASSPHRASE=correct horse")
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("collet %q: %v\n%s", args, err, out)
	}
	return string(out), time.Since(began)
}

// develop makes of the folder what players download, with a copy of the keys.
func (c *chain) develop(keys string) {
	c.t.Helper()
	said, took := c.collet("wrap", "game", "--yes", "--project", ".", "--url", c.origin.URL)
	c.t.Logf("%s", said)
	c.row.wrap = took
	if !strings.Contains(said, c.wants) || !strings.Contains(said, "engine         "+c.engine+"\n") {
		c.t.Errorf("wrap does not say %q and %q", c.wants, c.engine)
	}
	must(c.t, os.CopyFS(filepath.Join(c.dir, "keys"), os.DirFS(keys)))
	_, c.row.publish = c.collet("release", "publish", "--effort", "fast")
	said, c.row.pack = c.collet("pack", "client", "--only", c.format())
	c.t.Logf("%s", said)
}

// publish publishes the folder as it is now.
func (c *chain) publish() {
	c.t.Helper()
	c.collet("release", "publish", "--effort", "fast")
}

// firstInstall unpacks the archive.
func (c *chain) firstInstall() {
	c.t.Helper()
	archives, err := filepath.Glob(filepath.Join(c.dir, "packages", "*-Client-*"))
	if err != nil || len(archives) != 1 {
		c.t.Fatalf("packages for players: %q, %v", archives, err)
	}
	info, err := os.Stat(archives[0])
	must(c.t, err)
	began := time.Now()
	c.install = c.computer.install(archives[0])
	c.row.unpack, c.row.archive = time.Since(began), info.Size()
	must(c.t, filepath.WalkDir(c.resources(), func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(c.resources(), name)
		c.set = append(c.set, filepath.ToSlash(rel))
		c.row.bytes += info.Size()
		return err
	}))
	c.row.files = len(c.set)
	c.wantSet("after the installation")
}

func (c *chain) resources() string { return filepath.Join(c.install, "Resources") }

// host is a client that runs.
type host struct {
	c     *chain
	cmd   *exec.Cmd
	began time.Time
	out   string // file of its output
	log   string // its log
	from  int64  // where in the log it begins
	done  chan struct{}
}

// start starts the client. It ends with the test.
func (c *chain) start(args ...string) *host {
	c.t.Helper()
	h := &host{c: c, cmd: c.command(c.install, args...), done: make(chan struct{})}
	h.log = filepath.Join(c.install, filepath.Base(c.install)+".log")
	if info, err := os.Stat(h.log); err == nil {
		h.from = info.Size()
	}
	h.out = filepath.Join(c.t.TempDir(), "said")
	out, err := os.Create(h.out)
	must(c.t, err)
	h.cmd.Stdout, h.cmd.Stderr, h.began = out, out, time.Now()
	must(c.t, h.cmd.Start())
	out.Close()
	go func() { // ends with the process; kill waits for it
		defer close(h.done)
		_ = h.cmd.Wait() // its state has the code
	}()
	c.t.Cleanup(h.kill)
	return h
}

// kill ends the client at once.
func (h *host) kill() {
	_ = h.cmd.Process.Kill() // it may have ended
	<-h.done
}

// said is the client's log and output since its start.
func (h *host) said() string {
	log, err := os.ReadFile(h.log)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.c.t.Fatal(err)
	}
	return string(log[min(int64(len(log)), h.from):])
}

func (h *host) output() string {
	out, err := os.ReadFile(h.out)
	must(h.c.t, err)
	return string(out)
}

// waitFor waits for a line in the log, and returns what its groups match. The test fails if the client ends before.
func (h *host) waitFor(pattern string) (found []string) {
	h.c.t.Helper()
	line := regexp.MustCompile(pattern)
	ended := false
	testwait.Until(h.c.t, func() bool {
		select {
		case <-h.done:
			ended = true
		default:
		}
		found = line.FindStringSubmatch(h.said())
		return found != nil || ended
	}, "the log has "+pattern)
	if found == nil {
		h.c.t.Fatalf("the client ended with %d, without %s:\n%s\n%s", h.cmd.ProcessState.ExitCode(), pattern, h.output(), h.said())
	}
	return found
}

// ends waits for the end and checks the code.
func (h *host) ends(code int) {
	h.c.t.Helper()
	testwait.Until(h.c.t, func() bool {
		select {
		case <-h.done:
			return true
		default:
			return false
		}
	}, "the client ends")
	if got := h.cmd.ProcessState.ExitCode(); got != code {
		h.c.t.Fatalf("the client ended with %d, want %d:\n%s\n%s", got, code, h.output(), h.said())
	}
}

// playOnce plays until the game's window is seen, keeps a picture, and has the client end. what is empty or what the table notes.
func (c *chain) playOnce(picture, what string) {
	c.t.Helper()
	c.origin.count()
	h := c.start("--headless", "--run")
	h.waitFor(`process \d+: `)
	started := time.Since(h.began)
	ready := h.waitFor(`ready by ([^,]+), ([0-9.]+) s after the start`)
	c.seen(h)
	c.keep(picture)
	c.computer.ask(h)
	h.ends(codeCancelled)
	c.gone()
	end := "asked"
	if strings.Contains(h.said(), "did not end in time and is killed") {
		end = "killed"
	}
	sent := c.origin.count()
	c.t.Logf("%s: started after %.1f s, ready by %s after %s s, %s, %d bytes", what, started.Seconds(), ready[1], ready[2], end, sent)
	switch what {
	case "first":
		c.row.start, c.row.by, c.row.ready, c.row.end = started, ready[1], ready[2], end
	case "update":
		c.row.rest = started
		c.row.update += sent
	}
}

// seen waits until the game's window has a picture.
func (c *chain) seen(h *host) {
	c.t.Helper()
	getenv := func(name string) string {
		for _, entry := range c.screen().Environ() {
			if value, is := strings.CutPrefix(entry, name+"="); is {
				return value
			}
		}
		return ""
	}
	finder, err := window.Open(getenv)
	must(c.t, err)
	defer func() { finder.Close() }()
	testwait.Until(c.t, func() bool {
		shown, err := finder.Visible(c.processes())
		if err != nil { // a busy screen did not answer in time
			again, err := window.Open(getenv)
			must(c.t, err)
			finder.Close()
			finder = again
		}
		return shown
	}, "one of the game's processes has a window")
	testwait.Until(c.t, func() bool {
		select {
		case <-h.done:
			c.t.Fatalf("the client ended while it played:\n%s\n%s", h.output(), h.said())
		default:
		}
		shot, err := c.screen().Shot()
		must(c.t, err)
		return screen.Colours(shot, shot.Bounds(), c.colours) == c.colours
	}, fmt.Sprintf("the screen shows %d colours", c.colours))
}

// pictures is where pictures and the table are kept.
var pictures = filepath.Join("..", "..", "..", "bin", "games")

// keep keeps a picture of the screen.
func (c *chain) keep(name string) {
	c.t.Helper()
	must(c.t, os.MkdirAll(pictures, 0o755))
	shot, err := c.screen().Shot()
	must(c.t, err)
	must(c.t, screen.SavePNG(filepath.Join(pictures, c.name+"-"+name+".png"), shot))
}

// processes are those whose program or working folder lies in the game's folder.
func (c *chain) processes() (pids []int) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	must(c.t, err)
	for _, proc := range folders {
		for _, link := range []string{"exe", "cwd"} {
			name, err := os.Readlink(filepath.Join(proc, link))
			if err == nil && (name == c.resources() || strings.HasPrefix(name, c.resources()+"/")) {
				var pid int
				fmt.Sscanf(filepath.Base(proc), "%d", &pid)
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// gone waits until no process of the game is left.
func (c *chain) gone() {
	c.t.Helper()
	testwait.Until(c.t, func() bool { return len(c.processes()) == 0 }, "the game's processes end")
}

// killInTheMiddle has an update stop in the middle and kills the client. The old version is untouched.
func (c *chain) killInTheMiddle() {
	c.t.Helper()
	said, _ := c.collet("release", "estimate", "1", "2", "--json")
	var estimates []struct{ Fetches int64 }
	if err := json.Unmarshal([]byte(said), &estimates); err != nil || len(estimates) != 1 || estimates[0].Fetches == 0 {
		c.t.Fatalf("the estimate is %s, %v", said, err)
	}
	before := c.digests()
	c.origin.count()
	held, release := c.origin.holdAfter(estimates[0].Fetches / 2)
	h := c.start("--headless", "--run")
	testwait.Until(c.t, func() bool {
		select {
		case <-held:
			return true
		case <-h.done:
			c.t.Fatalf("the update ended before its middle:\n%s\n%s", h.output(), h.said())
		default:
		}
		return false
	}, "the update is in its middle")
	h.kill()
	release()
	c.gone()
	c.row.update = c.origin.count()
	after := c.digests()
	for name, was := range before {
		if after[name] != was {
			c.t.Errorf("%s changed although the update was killed in its middle", name)
		}
	}
}

// digests are those of the files of the set that are there.
func (c *chain) digests() map[string][sha256.Size]byte {
	c.t.Helper()
	found := map[string][sha256.Size]byte{}
	for _, name := range c.set {
		data, err := os.ReadFile(filepath.Join(c.resources(), filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		must(c.t, err)
		found[name] = sha256.Sum256(data)
	}
	return found
}

// wantSet checks that the files of the set are those of the developer's folder.
func (c *chain) wantSet(when string) {
	c.t.Helper()
	c.wantSetOf(filepath.Join(c.dir, "game"), when)
}

func (c *chain) wantSetOf(folder, when string) {
	c.t.Helper()
	live := c.digests()
	for _, name := range c.set {
		own := strings.TrimPrefix(name, program.KeepFolder+"/")
		data, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(own)))
		must(c.t, err)
		if got, there := live[name]; !there || got != sha256.Sum256(data) {
			c.t.Errorf("%s: %s is there: %v, and is not the release's", when, name, there)
		}
	}
}

// goBack has a release that crashes at once fail twice; the last good one plays then.
func (c *chain) goBack(good string) {
	c.t.Helper()
	began := time.Now()
	for range 2 {
		h := c.start("--headless", "--run")
		h.ends(codeFailed)
		if strings.Contains(h.said(), "ready by ") {
			c.t.Errorf("the bad release is taken for one that plays:\n%s\n%s", h.output(), h.said())
		}
	}
	c.row.back = time.Since(began)
	c.wantSetOf(good, "after the bad release")
	c.playOnce("3", "after the bad release")
	c.wantSetOf(good, "after the bad release was played")
}

// repair damages a file without a trace in its size and time; a verification finds that.
func (c *chain) repair() {
	c.t.Helper()
	name := filepath.Join(c.resources(), filepath.FromSlash(c.damage))
	info, err := os.Stat(name)
	must(c.t, err)
	data, err := os.ReadFile(name)
	must(c.t, err)
	before := c.digests()
	data[len(data)/2] ^= 0xFF
	must(c.t, os.WriteFile(name, data, info.Mode().Perm()))
	must(c.t, os.Chtimes(name, info.ModTime(), info.ModTime()))
	h := c.start("--headless", "--verify")
	h.ends(codeFine)
	c.row.verify = time.Since(h.began)
	if after := c.digests(); after[c.damage] != before[c.damage] {
		c.t.Errorf("%s is not repaired:\n%s\n%s", c.damage, h.output(), h.said())
	}
}
