package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"collet/assets"
	"collet/build/cmd/collet/console"
	"collet/build/pack"
	"collet/build/wrap"
	"collet/netproto/product"
	"collet/platform"
	"collet/platform/interrupt"
	"collet/platform/text"
)

// wrapCommand is `collet wrap`.
type wrapCommand struct {
	Dir string `arg:"" placeholder:"DIR" help:"Folder of the built game, or one with a folder for each system."`

	Project string   `group:"where" placeholder:"DIR" help:"Folder for collet.toml (default: the current folder if the game lies in it, otherwise the game's)."`
	Force   bool     `group:"where" help:"Replace collet.toml. Its upgrade code is lost: installers will take the game for another one."`
	Yes     bool     `group:"consent" help:"Ask nothing, and write examples for what can't be detected. Needed without a terminal and --url."`
	Name    string   `group:"what" placeholder:"NAME" help:"The game's name."`
	URL     string   `name:"url" group:"what" placeholder:"URL" help:"Folder on a web server from which players get releases."`
	Program []string `group:"what" sep:"none" placeholder:"PATH" help:"The game's executable, as a path in DIR. May be repeated, for each system."`
	Keep    []string `group:"what" sep:"none" placeholder:"PATTERN" help:"Files that players change, such as 'config/*.ini' or 'mods/**'. May be repeated."`
	Exclude []string `group:"what" sep:"none" placeholder:"PATTERN" help:"Files that players don't get. May be repeated."`
}

// Help is what --help adds to the flags.
func (wrapCommand) Help() string {
	return `Finds out what an existing game's folder holds, and writes collet.toml: engine, executable and system, name, icon, files that
players change. It prints each finding with the key that changes it. It needs nothing from the game, and changes nothing in it.

  collet wrap build --url https://example.org/lathe
  collet keys init && collet release publish && collet pack all`
}

// Run writes the description.
func (w wrapCommand) Run(ctx context.Context, c console.Console) error {
	project, folder, err := w.places()
	if err != nil {
		return err
	}
	file := filepath.Join(project, pack.DescriptionFile)
	if _, err := os.Lstat(file); err == nil && !w.Force {
		return fmt.Errorf("%s is there already, and its upgrade code must not change; edit it, or replace it with --force", file)
	}
	if w.URL == "" && !w.Yes && !platform.IsTerminal(os.Stdin) {
		return console.Usage(errors.New("there is no terminal to ask for the address of your releases; give it with --url, or say --yes for an example"))
	}
	ask := &questions{Yes: w.Yes || !platform.IsTerminal(os.Stdin), in: bufio.NewReader(interrupt.Reader(ctx, os.Stdin)), out: c.Out}
	game, err := w.detect(ask, project, folder)
	if err != nil {
		return err
	}
	if w.Name != "" {
		game.NiceName, game.NameFrom, game.Name = w.Name, "--name", pack.NameFrom(strings.ReplaceAll(w.Name, " ", "-"), game.Name)
	}
	if game.IconPNG == nil {
		game.IconPNG = assets.IconPNG
	}
	place := wrap.Place{Folder: folder, URL: w.URL}
	if place.URL == "" {
		place.URL = ask.text("From which address will players get releases?", "https://example.org/"+strings.ToLower(game.Name))
	}
	text, err := game.Prepare(project, place, rand.Reader, time.Now())
	if err == nil {
		err = w.write(file, text)
	}
	if err != nil {
		return err
	}
	for _, l := range game.Lines(place) {
		fmt.Fprintf(c.Out, "%-14s %s%s\n", l.What, console.Clean(l.Found), after("   [change: ", l.Change+closed(l.Change)))
	}
	fmt.Fprintf(c.Out, "wrote %s\nnext:%s collet keys init && collet release publish && collet pack all\n", file, changeInto(project))
	return nil
}

// closed ends a bracket that was opened for a text.
func closed(text string) string {
	if text == "" {
		return ""
	}
	return "]"
}

// changeInto is the command that goes to a folder, or empty for the current one.
func changeInto(project string) string {
	if project == "." {
		return ""
	}
	return " cd " + text.ShellWord(project) + " &&"
}

// places returns the folder of the description, and the game's relative to it, with slashes.
func (w wrapCommand) places() (project, folder string, err error) {
	if info, err := os.Stat(w.Dir); err != nil || !info.IsDir() {
		return "", "", fmt.Errorf("%s: there is no such folder; name that of the built game", w.Dir)
	}
	project = cmp.Or(w.Project, ".")
	relative := func() (string, error) {
		from, err := filepath.Abs(project)
		if err != nil {
			return "", err
		}
		to, err := filepath.Abs(w.Dir)
		if err != nil {
			return "", err
		}
		return filepath.Rel(from, to)
	}
	rel, err := relative()
	if (err != nil || !filepath.IsLocal(rel)) && w.Project == "" {
		project, rel, err = w.Dir, ".", nil
	}
	if err != nil || !filepath.IsLocal(rel) {
		return "", "", fmt.Errorf("%s does not lie in %s; collet.toml names only files below it", w.Dir, project)
	}
	return project, filepath.ToSlash(rel), nil
}

// detect looks at the folder, and asks which executable is the game if that can't be told.
func (w wrapCommand) detect(ask *questions, project, folder string) (wrap.Game, error) {
	full, err := filepath.Abs(w.Dir)
	if err != nil {
		return wrap.Game{}, err
	}
	options := wrap.Options{
		Folder: filepath.Base(full), Above: filepath.Base(filepath.Dir(full)), Programs: w.Program, Keep: w.Keep, Exclude: w.Exclude,
		Default: product.TargetFor(runtime.GOOS, runtime.GOARCH),
		Skip:    func(name string) bool { return folder == "." && pack.IsOwn(name) },
	}
	for {
		game, err := wrap.Detect(os.DirFS(w.Dir), options)
		var choice *wrap.Choice
		if !errors.As(err, &choice) || ask.Yes {
			return game, inFolder(w.Dir, err)
		}
		answer, ok := ask.choose("Which one is the game for "+choice.Target+"?", choice.Candidates)
		if !ok {
			return game, inFolder(w.Dir, err)
		}
		options.Programs = append(options.Programs, answer)
	}
}

// inFolder names the folder in an error of a file in it.
func inFolder(dir string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", dir, err)
}

func (w wrapCommand) write(file, text string) error {
	if !w.Force {
		return writeNew(file, text)
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// questions asks a person, or answers with the default.
type questions struct {
	Yes bool // ask nothing
	in  *bufio.Reader
	out io.Writer
}

// text asks for one line; an empty one is the default.
func (q *questions) text(question, standard string) string {
	if q.Yes {
		return standard
	}
	fmt.Fprintf(q.out, "%s [%s] ", question, standard)
	answer, err := q.in.ReadString('\n')
	if err != nil {
		q.Yes = true
	}
	return cmp.Or(strings.TrimSpace(answer), standard)
}

// choose asks for one of several, by its number. ok is false without a good answer.
func (q *questions) choose(question string, list []string) (one string, ok bool) {
	for i, one := range list {
		fmt.Fprintf(q.out, "  %d  %s\n", i+1, console.Clean(one))
	}
	n, err := strconv.Atoi(q.text(question, "none"))
	if err != nil || n < 1 || n > len(list) {
		return "", false
	}
	return list[n-1], true
}
