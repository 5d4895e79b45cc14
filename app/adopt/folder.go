package adopt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"collet/app/install"
	"collet/platform"
	"collet/runtime/program"
)

// ErrNotAGame means that a folder can't be that of the game. All that lies in a folder moves, so one that holds other things is refused.
var ErrNotAGame = errors.New("name the game's own folder: everything in it is moved")

// ErrBusy means that this client is open, or that another call of it takes a folder over.
var ErrBusy = errors.New("this client is open already, or takes a folder over in another window or terminal; close that, or wait for its end, and try again")

// Folders that hold more than one game, as patterns of path.Match: * is one name. All in lower case, with slashes, without a drive.
var (
	unixFolders = strings.Fields(`/bin /boot /cdrom /dev /etc /lib /lib32 /lib64 /libx32 /lost+found /nix /opt /proc /root /run /run/* /run/media/* /sbin /snap /srv /sys /tmp
		/home /home/* /var/home /var/home/* /export/home /export/home/* /media /media/* /mnt /mnt/* /mnt/*/users /mnt/*/users/*
		/usr /usr/* /usr/lib/games /usr/share/games /usr/local/bin /usr/local/etc /usr/local/games /usr/local/lib /usr/local/share /usr/local/src /var /var/* /var/lib/*
		/applications /cores /library /library/* /network /private /private/* /private/var/* /system /users /users/* /users/*/library/* /volumes /volumes/*`)
	windowsFolders = strings.Fields(`/users /users/* /users/*/appdata /users/*/appdata/* /users/*/appdata/local/programs /programdata /program?files /program?files?(x86)
		/program?files/common?files /program?files?(x86)/common?files /windows /windows.old /perflogs /recovery /$recycle.bin /system?volume?information /games`)

	// In these there is no game at any depth.
	unixTrees    = strings.Fields(`/bin /boot /dev /etc /lib /lib32 /lib64 /libx32 /proc /sbin /sys /system /usr/bin /usr/include /usr/sbin`)
	windowsTrees = strings.Fields(`/windows /recovery /$recycle.bin /system?volume?information`)

	homes = strings.Fields(`/home/* /var/home/* /export/home/* /users/* /root /mnt/*/users/*`)

	// personal are the folders of a home, as they are called on Windows, macOS and most of Linux. What this system calls them here,
	// platform.PersonalFolders knows.
	personal = strings.Fields(`applications desktop documents downloads dropbox favorites games library movies music nextcloud onedrive* pictures public saved?games
		templates videos .cache .config .gnupg .local .ssh .steam .var .wine`)
)

// isShared reports whether a folder is known by its path to hold more than a game on a system. dir is absolute.
func isShared(goos, dir string) bool {
	folders, trees := unixFolders, unixTrees
	if goos == "windows" {
		folders, trees = windowsFolders, windowsTrees
		if len(dir) > 1 && dir[1] == ':' {
			dir = dir[2:]
		}
		dir = strings.ReplaceAll(dir, `\`, "/")
	}
	dir = path.Clean(strings.ToLower(dir))
	library := strings.HasSuffix(dir, "/steamapps") || strings.HasSuffix(dir, "/steamapps/common")
	if library || fitsAny(folders, dir) || fitsAny(homes, path.Dir(dir)) && fitsAny(personal, path.Base(dir)) {
		return true
	}
	for ; dir != path.Dir(dir); dir = path.Dir(dir) {
		if fitsAny(trees, dir) {
			return true
		}
	}
	return false
}

func fitsAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		fits, err := path.Match(pattern, name)
		return fits && err == nil
	})
}

// Check returns ErrNotAGame for a folder that is shared with other things: a drive, a folder of the system's, a home, a folder for documents
// and the like, or one that has any of these in it. dir is absolute.
func Check(dir string) error {
	real := resolved(dir)
	if real == filepath.Dir(real) || filepath.Clean(platform.VolumeOf(filepath.Join(real, "any"))) == real {
		return fmt.Errorf("%s is a whole drive: %w", dir, ErrNotAGame)
	}
	own := homesOfUser()
	shared := append(slices.Clone(own), os.TempDir())
	for _, find := range []func() (string, error){os.UserConfigDir, os.UserCacheDir, func() (string, error) { return platform.DataFolder(os.Getenv) }} {
		if folder, err := find(); err == nil { // an unknown folder is not compared
			shared = append(shared, folder)
		}
	}
	for _, variable := range []string{"ProgramFiles", "ProgramFiles(x86)", "ProgramW6432", "CommonProgramFiles", "ProgramData", "PUBLIC", "SystemRoot"} {
		shared = append(shared, os.Getenv(variable))
	}
	shared = append(shared, platform.PersonalFolders(os.Getenv)...)
	inHome := slices.ContainsFunc(own, func(home string) bool { return isOne(filepath.Dir(real), home) }) && fitsAny(personal, strings.ToLower(filepath.Base(real)))
	if inHome || isShared(runtime.GOOS, dir) || isShared(runtime.GOOS, real) || slices.ContainsFunc(shared, func(s string) bool { return holds(real, s) }) {
		return fmt.Errorf("%s has more in it than a game: %w", dir, ErrNotAGame)
	}
	return nil
}

// homesOfUser are the homes of this user: as the environment says, and as the system does.
func homesOfUser() (list []string) {
	if home, err := os.UserHomeDir(); err == nil {
		list = append(list, home)
	}
	if u, err := user.Current(); err == nil && u.HomeDir != "" {
		list = append(list, u.HomeDir)
	}
	return list
}

// holds reports whether a folder is another one, or has it in it. Links, short names and the case of letters don't matter.
func holds(dir, other string) bool {
	if !filepath.IsAbs(other) {
		return false
	}
	for other = resolved(other); ; other = filepath.Dir(other) {
		if isOne(dir, other) {
			return true
		}
		if other == filepath.Dir(other) {
			return false
		}
	}
}

// isOne reports whether two paths are one folder.
func isOne(a, b string) bool {
	if a == b {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// Beside is the folder above the game's, for an adoption by a client that keeps the game beside itself. Close it.
type Beside struct {
	platform.FS
	busy io.Closer
}

// OpenBeside opens the folder above the game's. own is the client's folder. The error is ErrBusy while the client is open.
func OpenBeside(game, own string) (*Beside, error) {
	busy, err := lock(own)
	if err != nil {
		return nil, err
	}
	parent, err := platform.OpenDir(filepath.Dir(game))
	if err != nil {
		return nil, errors.Join(err, busy.Close())
	}
	return &Beside{parent, busy}, nil
}

// Close closes the folder.
func (b *Beside) Close() error { return errors.Join(b.FS.Close(), b.busy.Close()) }

// lock takes the lock of a client's install, which a client also has while it is open. A folder that can't be written has none.
func lock(own string) (io.Closer, error) {
	fsys, err := platform.OpenDir(own)
	if err != nil {
		return nil, err
	}
	held, err := install.Lock(fsys)
	switch {
	case errors.Is(err, platform.ErrLocked):
		return nil, errors.Join(ErrBusy, fsys.Close())
	case err != nil:
		held = io.NopCloser(nil)
	}
	return held, fsys.Close()
}

// resolved is a path without links, or as it is if it is not there.
func resolved(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return filepath.Clean(name)
}

// checkFolder checks what Lstat says of the game's folder.
func checkFolder(parent platform.FS, name string, info fs.FileInfo, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is not there: %w", parent.Path(name), ErrNotAGame)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is no folder: %w", parent.Path(name), ErrNotAGame)
	}
	return err
}

// look looks at a folder of the game that is not taken over yet. It has the program of the description, if there is one.
func (p *Plan) look(parent platform.FS, description string) error {
	data, _ := os.ReadFile(description)
	d, _ := program.Parse(data) // without a description the game's program is not known
	if d.Program != "" && !exists(parent, path.Join(p.Name, d.Program)) {
		return fmt.Errorf("%s does not have %s, the game's program on this system (a build for another system can't be taken over): %w", parent.Path(p.Name), d.Program, ErrNotAGame)
	}
	if err := p.count(parent, p.Name); err != nil {
		return err
	}
	if p.Files == 0 {
		return fmt.Errorf("%s has no files: %w", parent.Path(p.Name), ErrNotAGame)
	}
	return nil
}
