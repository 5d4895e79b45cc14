package qa_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The test program is also the client under test: a small updater, correct or broken according to its habits. Its release is a folder; it
// needs no server.
const (
	clientHabits  = "COLLET_QA_TEST_CLIENT"  // words; empty: this is no client
	clientRelease = "COLLET_QA_TEST_RELEASE" // folder with the new set
)

func init() {
	if habits := os.Getenv(clientHabits); habits != "" {
		os.Exit(newFakeClient(habits).main(os.Args[1:]))
	}
}

// fakeClient stages every file of the release as ~name, decides with one file (go), and then moves all of them.
type fakeClient struct {
	habits  []string
	dir     string
	offline bool
	count   int      // operations
	list    *os.File // nil without a list
}

// has reports whether the client has a habit:
//
//	brief       takes one file of the release only
//	pausing     waits between operations
//	halfway     never decides, so that a stop leaves half a set
//	unsynced    syncs nothing
//	tidy        removes files that it does not know
//	tidy-later  does so after it found parts of an earlier run
//	stuck       gives up when it finds parts of an earlier run
//	hanging     never ends when it recovers
//	staging     needs a second run
//	lying       says that all is well and does nothing
//	mute        says nothing about a full disk
//	wrong       has one exit code for everything
//	hasty       begins to fetch before it looks whether it may write
func (c *fakeClient) has(habit string) bool { return slices.Contains(c.habits, habit) }

func newFakeClient(habits string) *fakeClient {
	c := &fakeClient{habits: strings.Fields(habits)}
	if name := os.Getenv("COLLET_CRASH_LIST"); name != "" {
		c.list, _ = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	}
	return c
}

func (c *fakeClient) main(args []string) int {
	flags := flag.NewFlagSet("client", flag.ContinueOnError)
	flags.Bool("headless", false, "")
	flags.Bool("json", false, "")
	flags.String("server", "", "")
	flags.String("runtime-name", "", "")
	play := flags.Bool("run", false, "")
	flags.StringVar(&c.dir, "dir", "", "")
	flags.BoolVar(&c.offline, "offline", false, "")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	err := c.work()
	switch {
	case err == nil && *play && !slices.Equal(flags.Args(), []string{"--frames", "3 and more"}):
		return c.end("RuntimeFailed", 30, strings.Join(flags.Args(), "|"))
	case err == nil:
		return c.end("ResourcesReady", 0, "")
	case errors.Is(err, errAgain):
		return c.end("BinariesStaged", 0, "")
	case c.has("wrong"):
		return c.end("Failed", 28, err.Error())
	case errors.Is(err, syscall.ENOSPC) && c.has("mute"):
		return c.end("Failed", 22, "no room")
	case errors.Is(err, syscall.ENOSPC):
		return c.end("Failed", 22, "free 20 MB in "+c.dir)
	case errors.Is(err, syscall.EROFS):
		return c.end("Failed", 23, "can't write to "+c.dir)
	default:
		return c.end("Failed", 28, err.Error())
	}
}

var errAgain = errors.New("one more run is needed")

func (c *fakeClient) end(outcome string, code int, text string) int {
	line, _ := json.Marshal(map[string]any{"outcome": outcome, "text": text, "exit": code})
	fmt.Println(string(line))
	return code
}

// do does one operation, and crashes before or after it if the environment says so.
func (c *fakeClient) do(what string, operation func() error) error {
	c.count++
	if c.list != nil {
		fmt.Fprintf(c.list, "%d %s\n", c.count, what)
	}
	number, when, _ := strings.Cut(os.Getenv("COLLET_CRASH_AT"), ":")
	here := number == fmt.Sprint(c.count)
	if here && when == "before" {
		c.die()
	}
	err := operation()
	if here {
		c.die()
	}
	if c.has("pausing") {
		time.Sleep(5 * time.Millisecond) // the duration of an operation, in which the test ends the process
	}
	return err
}

func (c *fakeClient) die() {
	self, _ := os.FindProcess(os.Getpid())
	self.Kill()
	select {}
}

func (c *fakeClient) path(name string) string { return filepath.Join(c.dir, filepath.FromSlash(name)) }

// names lists the files of the release.
func (c *fakeClient) names() (names []string) {
	release := os.Getenv(clientRelease)
	filepath.WalkDir(release, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && (!c.has("brief") || entry.Name() == "c.zip") {
			name, _ := filepath.Rel(release, file)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	return names
}

func part(name string) string {
	return name[:strings.LastIndex(name, "/")+1] + "~" + filepath.Base(name)
}

func (c *fakeClient) work() error {
	if c.has("hasty") {
		fmt.Println(`{"phase":"fetching"}`)
	}
	if c.has("hanging") && c.offline {
		select {}
	}
	if c.has("lying") {
		return nil
	}
	if err := c.do("mkdir state", func() error { return os.MkdirAll(c.path(".collet"), 0o755) }); err != nil {
		return err
	}
	if err := c.recover(); err != nil || c.offline {
		return err
	}
	if c.has("tidy") {
		os.RemoveAll(c.path("screenshots"))
	}
	return c.update()
}

// recover finishes a decided update.
func (c *fakeClient) recover() error {
	if _, err := os.Stat(c.path(".collet/go")); err == nil {
		return c.finish()
	}
	parts, _ := filepath.Glob(c.path("Resources/~*"))
	if c.has("stuck") && len(parts) > 0 {
		return errors.New("there are parts")
	}
	if c.has("tidy-later") && len(parts) > 0 {
		return os.RemoveAll(c.path("screenshots"))
	}
	return nil
}

func (c *fakeClient) update() error {
	var missing []string
	for _, name := range c.names() {
		if !sameContent(c.path(name), filepath.Join(os.Getenv(clientRelease), name)) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	staged := ".collet/staged"
	if _, err := os.Stat(c.path(staged)); c.has("staging") && err != nil {
		return errors.Join(os.WriteFile(c.path(staged), nil, 0o644), errAgain)
	}
	fmt.Printf("{\"phase\":\"fetching\",\"bytes\":%d}\n", len(missing))
	for _, name := range missing {
		if err := c.stage(name); err != nil {
			return err
		}
		if c.has("halfway") {
			if err := c.move(name); err != nil {
				return err
			}
		}
	}
	if c.has("halfway") {
		return nil
	}
	if err := c.decide(); err != nil {
		return err
	}
	return c.finish()
}

func (c *fakeClient) stage(name string) error {
	return c.write(part(name), func(out io.Writer) error {
		in, err := os.Open(filepath.Join(os.Getenv(clientRelease), name))
		if err != nil {
			return err
		}
		defer in.Close()
		_, err = io.Copy(out, in)
		return err
	})
}

func (c *fakeClient) write(name string, fill func(io.Writer) error) error {
	var f *os.File
	defer func() { f.Close() }()
	for _, step := range []func() error{
		func() error {
			return c.do("create "+name, func() (err error) { f, err = os.Create(c.path(name)); return err })
		},
		func() error { return c.do("write "+name, func() error { return fill(f) }) },
		func() error { return c.sync(f, name) },
		func() error { return c.syncDir(filepath.Dir(name)) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (c *fakeClient) decide() error {
	if err := c.write(".collet/~go", func(out io.Writer) error { _, err := fmt.Fprint(out, "go"); return err }); err != nil {
		return err
	}
	if err := c.do("rename go", func() error { return os.Rename(c.path(".collet/~go"), c.path(".collet/go")) }); err != nil {
		return err
	}
	return c.syncDir(".collet")
}

func (c *fakeClient) finish() error {
	for _, name := range c.names() {
		if err := c.move(name); err != nil {
			return err
		}
	}
	if err := c.do("remove go", func() error { return os.Remove(c.path(".collet/go")) }); err != nil {
		return err
	}
	return c.syncDir(".collet")
}

// move makes a part live. A live file has no part.
func (c *fakeClient) move(name string) error {
	err := c.do("rename "+name, func() error { return os.Rename(c.path(part(name)), c.path(name)) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return c.syncDir(filepath.Dir(name))
}

func (c *fakeClient) sync(f *os.File, name string) error {
	if c.has("unsynced") {
		return nil
	}
	return c.do("sync "+name, f.Sync)
}

func (c *fakeClient) syncDir(name string) error {
	if c.has("unsynced") || runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(c.path(name))
	if err != nil {
		return err
	}
	defer d.Close()
	return c.do("syncdir "+name, d.Sync)
}

func sameContent(a, b string) bool {
	one, errA := os.ReadFile(a)
	two, errB := os.ReadFile(b)
	return errA == nil && errB == nil && string(one) == string(two)
}
