package wine

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"collet/build/qa/screen"
	"collet/platform"
)

const (
	// linked is from which size on a file of the template is shared by a hard link: smaller ones may be settings, which
	// programs write to where they lie.
	linked = 16 << 10
	// outputDelay is how long the output of an ended program is read: programs that it started may hold it.
	outputDelay = 5 * time.Second
	// stopLimit is how long the end of all programs of a prefix may take.
	stopLimit = time.Minute
	// attempts are how often a prefix is removed before that is an error.
	attempts = 10
)

// Options says what a prefix is to have.
type Options struct {
	// Screen is the size in pixels of the screen that its windows appear on. Without one programs run without windows
	// being drawn anywhere.
	Screen image.Point
	// Env is put behind the environment of every program.
	Env []string
}

// Prefix is a computer for Windows programs that lives in a folder. Its methods are safe for concurrent use. Close it.
type Prefix struct {
	dir    string
	env    []string
	screen *screen.Screen
	lock   io.Closer

	mu     sync.Mutex
	life   context.Context // of what Command starts
	end    context.CancelFunc
	anchor *anchor
}

// Open makes a prefix. The first one of a user takes fifteen seconds and 700 MB in the cache folder. Where Windows
// programs can't be run the error wraps ErrMissing, without a screen program screen.ErrNoScreen.
func Open(ctx context.Context, o Options) (*Prefix, error) {
	if err := Missing(); err != nil {
		return nil, err
	}
	home, err := homeOfTemplates(ctx)
	if err != nil {
		return nil, err
	}
	from, err := template(ctx, home)
	if err != nil {
		return nil, err
	}
	p, err := claim(home)
	if err != nil {
		return nil, err
	}
	p.env = o.Env
	err = clone(from, p.dir)
	if err == nil && o.Screen != (image.Point{}) {
		p.screen, err = screen.Start(ctx, o.Screen.X, o.Screen.Y)
	}
	if err == nil {
		err = p.drop()
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func newPrefix(dir string) *Prefix {
	p := &Prefix{dir: dir}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// claim takes a name for a prefix that no running process has, and removes what processes that died have left under
// others.
func claim(home string) (p *Prefix, err error) {
	fsys, err := platform.OpenDir(home)
	if err != nil {
		return nil, err
	}
	defer fsys.Close()
	const most = 1000 // prefixes at once
	for n := range most {
		name := fmt.Sprintf("run-%d", n)
		lock, err := fsys.Lock(name + ".lock")
		if errors.Is(err, platform.ErrLocked) {
			continue
		}
		if err != nil {
			return nil, err
		}
		p := newPrefix(filepath.Join(home, name))
		p.lock = lock
		if _, err := os.Stat(p.dir); err != nil {
			return p, nil
		}
		if err := p.clear(); err != nil {
			return nil, errors.Join(err, lock.Close())
		}
		return p, nil
	}
	return nil, fmt.Errorf("%d prefixes are in use in %s", most, home)
}

// clone copies a template to a folder that does not exist.
func clone(from, to string) error {
	return filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(name, from))
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case info.Mode()&fs.ModeSymlink != 0:
			leads, err := os.Readlink(name)
			return errors.Join(err, os.Symlink(leads, target))
		case info.Size() >= linked && !strings.HasSuffix(name, ".reg") && os.Link(name, target) == nil:
			return nil
		}
		data, err := os.ReadFile(name)
		return errors.Join(err, os.WriteFile(target, data, info.Mode().Perm()|0o200))
	})
}

// homeDir is what programs of Wine itself take for the user's home.
func (p *Prefix) homeDir() string { return filepath.Join(p.dir, "home") }

// Drive is the path on this machine of what programs know as C:\.
func (p *Prefix) Drive() string { return filepath.Join(p.dir, "drive_c") }

// Unix is the path on this machine of a file that programs know by its absolute name on the drive C: or Z:, with
// backslashes or slashes.
func (p *Prefix) Unix(path string) string {
	path = strings.ReplaceAll(path, `\`, "/")
	if rest, on := cutDrive(path, "C:/"); on {
		return filepath.Join(p.Drive(), rest)
	}
	if rest, on := cutDrive(path, "Z:/"); on {
		return filepath.Join("/", rest)
	}
	return path
}

func cutDrive(path, drive string) (rest string, on bool) {
	if len(path) < len(drive) || !strings.EqualFold(path[:len(drive)], drive) {
		return "", false
	}
	return path[len(drive):], true
}

// Screen is the screen of the prefix, nil if none was asked for.
func (p *Prefix) Screen() *screen.Screen { return p.screen }

// Environ is the environment that programs of this prefix are started in: our own without what would lead them elsewhere.
func (p *Prefix) Environ() []string {
	own := os.Environ()
	if p.screen != nil {
		own = p.screen.Environ()
	}
	env := slices.DeleteFunc(own, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, "WINE") || name == "HOME" || strings.HasPrefix(name, "XDG_") && p.screen == nil ||
			p.screen == nil && (name == "DISPLAY" || name == "WAYLAND_DISPLAY")
	})
	// No offer to download Mono or Gecko, and no entries in the menus of this machine. Names of files that are not ASCII exist only
	// where the locale's character set has them.
	env = append(env, "WINEPREFIX="+p.dir, "WINEDEBUG=-all", "WINEDLLOVERRIDES=mscoree,mshtml=;winemenubuilder.exe=d", "HOME="+p.homeDir(),
		"LC_ALL=C.UTF-8")
	return append(env, p.env...)
}

// Command prepares a program to run in the prefix. It is a path on this machine or a name that Wine knows, such as
// msiexec; its arguments are passed on as they are. The process that Start starts is the program's: to kill it ends the
// program as TerminateProcess would, and so do Stop and Close.
func (p *Prefix) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithCancel(ctx)
	p.mu.Lock()
	context.AfterFunc(p.life, cancel)
	p.mu.Unlock()
	cmd := exec.CommandContext(ctx, "wine", append([]string{program}, args...)...)
	cmd.Env = p.Environ()
	cmd.WaitDelay = outputDelay
	return cmd
}

// Run runs a program to its end and returns what it printed to both of its streams, also when it fails. The error is an
// *exec.ExitError where it ended with another code than 0, of which eight bits arrive here. What the program started goes
// on.
func (p *Prefix) Run(ctx context.Context, program string, args ...string) (string, error) {
	return p.RunIn(ctx, "", program, args...)
}

// RunIn is Run in a working folder of this machine.
func (p *Prefix) RunIn(ctx context.Context, dir, program string, args ...string) (string, error) {
	// A file and no pipe: programs that the first program of a kind starts, such as the desktop, keep its streams open.
	said, err := os.CreateTemp(p.dir, "said-")
	if err != nil {
		return "", err
	}
	defer os.Remove(said.Name())
	defer said.Close()
	cmd := p.Command(ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, said, said
	ran := cmd.Run()
	text, err := os.ReadFile(said.Name())
	if ran != nil {
		return string(text), ran
	}
	return string(text), err
}

// Stop ends every program of the prefix. Others may be started afterwards.
func (p *Prefix) Stop() error { return errors.Join(p.stop(), p.drop()) }

func (p *Prefix) stop() error {
	p.weigh()
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	return p.server(ctx, "-k")
}

// server speaks to the process that all programs of a prefix share, or starts it where no flag is given. To end one that
// is not there is no error (1), nor is to start one that is (2).
func (p *Prefix) server(ctx context.Context, flag ...string) error {
	cmd := exec.CommandContext(ctx, "wineserver", flag...)
	cmd.Env = p.Environ()
	err := cmd.Run() // no pipes: what is started would keep them open
	fine := 2
	if slices.Contains(flag, "-k") {
		fine = 1
	}
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) && exit.ExitCode() == fine {
		return nil
	}
	return fmt.Errorf("wineserver %q: %w", flag, err)
}

// Close ends every program of the prefix and removes it.
func (p *Prefix) Close() error {
	err := p.clear()
	if p.screen != nil {
		err = errors.Join(err, p.screen.Close())
	}
	return errors.Join(err, p.lock.Close())
}

// clear stops and removes until nothing is left: a program that was about to start when the others were ended starts the
// server again, and that writes the registry.
func (p *Prefix) clear() (err error) {
	for range attempts {
		if err = errors.Join(p.stop(), os.RemoveAll(p.dir)); err == nil {
			return nil
		}
	}
	return err
}
