package qa

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"collet/build/qa/fileset"
)

// playerFiles returns files that a player may have added to an install: beside packs, in new folders, with spaces and letters of several
// scripts, and empty.
func playerFiles() map[string]string {
	return map[string]string{
		"Resources/my-notes.txt":             "the lathe stands behind the mill\n",
		"screenshots/2026-03-01 12.00.png":   "not really a picture",
		"screenshots/empty.png":              "",
		"Сохранения/Überfall im Stollen.sav": "level 7",
		"mods/my mod/read me first.txt":      "by a player, for players",
	}
}

// writePlayerFiles writes the player's files into an install.
func writePlayerFiles(dir string) error {
	for name, text := range playerFiles() {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// promise is the condition for an install between two runs: exactly one of two sets, unchanged files of the player, and no other files
// except those that OwnNames.Outside accepts.
type promise struct {
	fileset.Promise
	own    fileset.OwnNames
	player fileset.Set
}

// checkFolder reads an install. problem describes the broken promise, in lines, or is empty. which is "old", "new" or "neither".
func (p *promise) checkFolder(dir string) (which, problem string, err error) {
	files, err := p.own.ReadSet(dir)
	if err != nil {
		return "", "", err
	}
	which, problem = p.compareSets(files)
	return which, problem, nil
}

// compareSets is check for a set that was read already.
func (p *promise) compareSets(files fileset.Set) (which, problem string) {
	set, player := p.split(files)
	which, err := p.Kept(set)
	if err != nil {
		which, problem = "neither", err.Error()
	}
	if lost := player.Diff(p.player); len(lost) > 0 {
		problem = joinLines(problem, "the player's files:\n"+fileset.Difference(lost))
	}
	return which, problem
}

// split separates the player's files from a set.
func (p *promise) split(files fileset.Set) (set, player fileset.Set) {
	set, player = fileset.Set{}, fileset.Set{}
	for name, content := range files {
		if _, is := playerFiles()[strings.TrimPrefix(name, p.own.Writable+"/")]; is {
			player[name] = content
		} else {
			set[name] = content
		}
	}
	return set, player
}

// pageSize is the allocation unit of tmpfs in bytes on all common machines.
const pageSize = 4096

// diskUsage returns the space of a folder in bytes: its files rounded up to pages, and one page for each folder.
func diskUsage(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if entry.IsDir() {
			sum += pageSize
		} else {
			sum += (info.Size() + pageSize - 1) / pageSize * pageSize
		}
		return nil
	})
	return sum, err
}

// joinLines joins non-empty texts with line breaks.
func joinLines(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "\n")
}
