package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"collet/build/cmd/collet/console"
	"collet/build/pack"
	"collet/platform/text"
)

// packCheckCommand is `collet pack check`.
type packCheckCommand struct {
	descriptionFlag
	JSON bool `group:"out" name:"json" help:"Print one JSON object."`
}

// Help is what --help adds to the flags.
func (packCheckCommand) Help() string {
	return `Reads collet.toml and checks every file that it names. Prints all mistakes, each with file, line and remedy; the exit code is
then 1. Without mistakes it lists what would be packed.

  collet pack check
  collet pack check --json`
}

// Run checks.
func (p packCheckCommand) Run(c console.Console) error {
	if p.JSON {
		return p.asJSON(c)
	}
	project, err := p.load(c)
	if err != nil {
		return err
	}
	summary := project.Summary()
	fmt.Fprintf(c.Out, "%s is fine: %s %s (%s), dated %s\n", p.File, summary.NiceName, summary.Version, summary.ID, summary.Time)
	for _, b := range summary.Builds {
		fmt.Fprintf(c.Out, "  %-14s %-30s %-20s %s\n", b.Target, b.Name, b.Variant, orNone(b.Formats, "for servers only"))
	}
	printPacks(c.Out, summary.Packs)
	for _, s := range summary.Servers {
		fmt.Fprintf(c.Out, "  %-14s %-30s %-20s %s\n", s.Target, summary.Name+"-Server", "server", orNone(s.Formats, "no packages"))
	}
	fmt.Fprintf(c.Out, "  signed: %s\n", orNone(summary.Signed, "nothing"))
	return nil
}

func printPacks(out io.Writer, packs []pack.PackSummary) {
	for _, k := range packs {
		notes := "for players and servers"
		if k.ServerOnly {
			notes = "for servers"
		}
		fmt.Fprintf(out, "  %-14s %-30s %s\n", "pack", k.Name, notes)
	}
}

// orNone lists words, or says that there are none.
func orNone(words []string, none string) string {
	if len(words) == 0 {
		return none
	}
	return strings.Join(words, " ")
}

// packCheckAnswer is what --json prints.
type packCheckAnswer struct {
	OK       bool          `json:"ok"`
	Mistakes pack.Mistakes `json:"mistakes"`
	Summary  *pack.Summary `json:"summary,omitempty"`
}

func (p packCheckCommand) asJSON(c console.Console) error {
	project, err := pack.Load(p.File, os.Getenv)
	answer := packCheckAnswer{Mistakes: pack.Mistakes{}}
	if err != nil && !errors.As(err, &answer.Mistakes) {
		return err
	}
	if err == nil {
		summary := project.Summary()
		answer.OK, answer.Summary = true, &summary
	} else {
		err = console.Printed(err)
	}
	encoder := json.NewEncoder(text.NewJSONWriter(c.Out))
	encoder.SetIndent("", "  ")
	return errors.Join(encoder.Encode(answer), err)
}
