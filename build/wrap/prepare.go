package wrap

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"collet/build/pack"
)

// maxUnfit is how many files that are left out have a line of their own.
const maxUnfit = 20

// flags change what was found, by the beginning of the key. They stand in errors.
var flags = []struct{ key, flag string }{
	{"client.urls", "--url"}, {"game.nice-name", "--name"}, {"files.keep", "--keep"}, {"files.exclude", "--exclude"}, {"target", "--program or --exclude"},
}

// Prepare returns the text of collet.toml for a project's folder, after it has left out the files that can't be in a release, and written the
// icon if none can be used as it is. The error names what release publish would refuse; nothing is written then.
func (g *Game) Prepare(project string, p Place, random io.Reader, now time.Time) (text string, err error) {
	if err := g.leaveOut(project, p.Folder); err != nil {
		return "", err
	}
	if p.Icon = path.Join(p.Folder, g.Icon); g.Icon == "" {
		p.Icon = IconFile
		made, writeErr := writeIcon(filepath.Join(project, IconFile), g.IconPNG)
		if writeErr != nil {
			return "", writeErr
		}
		defer func() {
			if made && err != nil {
				err = errors.Join(err, os.Remove(filepath.Join(project, IconFile)))
			}
		}()
	}
	if text, err = g.Config(p, random, now); err == nil {
		err = pack.CheckText(project, text)
	}
	var list pack.Mistakes
	if errors.As(err, &list) {
		for i, one := range list {
			for _, by := range flags {
				if strings.HasPrefix(one.Key, by.key) {
					list[i].Want = strings.TrimPrefix(one.Want+" ("+by.flag+")", " ")
				}
			}
		}
		err = fmt.Errorf("no %s was written, because release publish would refuse it:\n%w", pack.DescriptionFile, list)
	}
	return text, err
}

// leaveOut excludes the files that can't be in a release. It spares programs, and patterns that would take a good file of any target along.
func (g *Game) leaveOut(project, folder string) error {
	var unfit []pack.Unfit
	var good []string
	for _, t := range g.Targets {
		files := pack.Files{Keep: g.Keep, Exclude: g.Exclude}
		list, fine, copies, err := files.Unfit(project, filepath.Join(project, filepath.FromSlash(path.Join(folder, t.Folder))))
		if err != nil {
			return err
		}
		g.Copies += copies
		unfit, good = append(unfit, list...), append(append(good, fine...), t.Program)
	}
	for _, one := range unfit {
		fits := func(name string) bool { return pack.Fits(one.Exclude, name) }
		if !slices.Contains(g.Exclude, one.Exclude) && !slices.ContainsFunc(good, fits) {
			g.Exclude, g.Unfit = append(g.Exclude, one.Exclude), append(g.Unfit, one)
		}
	}
	return nil
}

// writeIcon writes the icon. One from an earlier time stays.
func writeIcon(file string, png []byte) (made bool, err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = f.Write(png)
	return true, errors.Join(err, f.Close())
}
