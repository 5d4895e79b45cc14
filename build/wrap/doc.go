// Package wrap finds out what a game's folder holds, and writes the collet.toml that packages and releases it.
//
//	Detect    what the folder holds: a pure function over an fs.FS. It starts nothing and follows what the files say of themselves:
//	          headers of programs, resources of Windows programs, files that an engine always has
//	Game      the findings, one Line each, and their text as collet.toml
//
// The rules, in their order:
//
//   - Root. A folder with an executable at its top is one game, with one or more targets. Otherwise each folder below it that is named
//     after a system (linux, Windows64, …) and holds an executable is the game of its targets.
//   - Engine. The first one whose files are there. It decides which files players own, and which stay out of releases.
//   - Program. Of the executables of a target, those count that lie highest, without helpers (crash reporters, uninstallers, browsers'
//     parts). Folders such as bin and Binaries do not count as a level. Of several, the one with data of its own (X with X_Data or X.pck),
//     the one that a .desktop file names, the script that starts another one, the one with the folder's name, the only one with a
//     window. If none of this decides, the error is a *Choice.
//   - Names, icon and version come from the engine's files, from resources of the Windows program, or from a .desktop file.
//
// A folder is input from other people: at most MaxFiles files are listed, of each at most a few kilobytes are read, and texts that
// can't stand in a description are left out.
package wrap

import "fmt"

// MaxFiles is the number of files beyond which a folder is refused. It is that of a release.
const MaxFiles = 200_000

// Error is a folder that can't be wrapped as it is.
type Error struct {
	File string // the file or folder to blame, relative to the game's folder, with slashes
	Key  string // the key of collet.toml that it concerns, such as target.program
	What string // what is wrong
	Want string // what to do
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %s; %s", e.File, e.Key, e.What, e.Want) }

// Choice is a target with several executables that could be the game.
type Choice struct {
	Target     string
	Candidates []string // paths in the game's folder, sorted
}

func (c *Choice) Error() string {
	return fmt.Sprintf("%s: target.program: %d executables could be the game for %s: %s; name one with --program",
		c.Candidates[0], len(c.Candidates), c.Target, listed(c.Candidates))
}

// maxListed is how many names a message has.
const maxListed = 5

// listed joins names with commas.
func listed(names []string) (text string) {
	for i, name := range names {
		switch {
		case i == maxListed:
			return text + fmt.Sprintf(" and %d more", len(names)-i)
		case i > 0:
			text += ", "
		}
		text += name
	}
	return text
}
