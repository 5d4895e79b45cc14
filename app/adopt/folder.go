package adopt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"collet/platform"
	"collet/runtime/program"
)

// ErrNotAGame means that a folder can't be that of the game. All that lies in a folder moves, so one that holds other things is refused.
var ErrNotAGame = errors.New("name the folder of the game itself, of which all files move")

// personal are the folders of a person's home that hold more than one game, as they are called on Windows, macOS and most of Linux.
var personal = []string{"Applications", "Desktop", "Documents", "Downloads", "Games", "Library", "Movies", "Music", "Pictures", "Public", "Videos"}

// Check returns ErrNotAGame for a folder that is shared with other things: a drive, the system's, a home, or one that has these in it. dir
// is absolute.
func Check(dir string) error {
	dir = resolved(dir)
	if dir == filepath.Dir(dir) {
		return fmt.Errorf("%s is a whole drive: %w", dir, ErrNotAGame)
	}
	home, _ := os.UserHomeDir() // an unknown folder is empty, and not compared
	settings, _ := os.UserConfigDir()
	cache, _ := os.UserCacheDir()
	shared := []string{home, settings, cache, os.TempDir()}
	for _, variable := range []string{"LOCALAPPDATA", "ProgramFiles", "ProgramFiles(x86)", "ProgramData", "SystemRoot"} {
		shared = append(shared, os.Getenv(variable))
	}
	for _, s := range shared {
		if s == "" {
			continue
		}
		if _, inside := within(dir, resolved(s)); inside {
			return fmt.Errorf("%s has more in it than a game: %w", dir, ErrNotAGame)
		}
	}
	if home != "" && filepath.Dir(dir) == resolved(home) && slices.Contains(personal, filepath.Base(dir)) {
		return fmt.Errorf("%s has more in it than a game: %w", dir, ErrNotAGame)
	}
	return nil
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
		return fmt.Errorf("%s does not have %s, the game's program: %w", parent.Path(p.Name), d.Program, ErrNotAGame)
	}
	if err := p.count(parent, p.Name); err != nil {
		return err
	}
	if p.Files == 0 {
		return fmt.Errorf("%s has no files: %w", parent.Path(p.Name), ErrNotAGame)
	}
	return nil
}
