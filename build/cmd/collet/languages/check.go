// Package languages is the commands of collet lang.
package languages

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"collet/build/cmd/collet/console"
	"collet/build/language"
)

// Command is `collet lang`.
type Command struct {
	Check checkCommand `cmd:"" help:"List what a language lacks, over the window, the dashboard and the installers."`
}

// Help is what --help adds to the list of commands.
func (Command) Help() string {
	return `A language is one folder of assets/lang in Collet's source tree. To add one, copy assets/lang/en, translate the texts, and check:

  collet lang check de`
}

// checkCommand is `collet lang check`.
type checkCommand struct {
	Languages []string `arg:"" optional:"" placeholder:"LANGUAGE" help:"Languages such as de or pt-br (default: all)."`
	Dir       string   `group:"where" default:"assets/lang" placeholder:"DIR" help:"Folder of the languages (default: ${default})."`
}

// Help is what --help adds to the flags.
func (checkCommand) Help() string {
	return `Compares each text with the English one: missing and unknown keys, placeholders, the forms of nouns after numbers, lengths that
fit the window, and fonts for its letters. The exit code is 1 if there is something to do.

  collet lang check de
  collet lang check --dir ../collet/assets/lang`
}

// errLanguages says that problems were printed.
var errLanguages = errors.New("the languages are not complete")

// Run prints one line for each problem, and a line for each language.
func (l checkCommand) Run(out io.Writer) error {
	if _, err := os.Stat(filepath.Join(l.Dir, language.English)); err != nil {
		return console.Usage(fmt.Errorf("%s is no folder of languages, it has no %s: run this in Collet's source tree, or name the folder with --dir", l.Dir, language.English))
	}
	languages := os.DirFS(l.Dir)
	tags, err := language.Tags(languages)
	if err != nil {
		return err
	}
	if len(l.Languages) > 0 {
		tags = l.Languages
	}
	total := 0
	for _, tag := range tags {
		problems, err := language.Check(languages, tag)
		if err != nil {
			return err
		}
		missing := 0
		for _, p := range problems {
			fmt.Fprintln(out, console.Clean(p.String()))
			if p.Missing {
				missing++
			}
		}
		if total += len(problems); len(problems) == 0 {
			fmt.Fprintf(out, "%s: complete\n", tag)
		} else {
			fmt.Fprintf(out, "%s: missing %d, wrong %d\n", tag, missing, len(problems)-missing)
		}
	}
	if total > 0 {
		return console.Printed(errLanguages)
	}
	return nil
}
