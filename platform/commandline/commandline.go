// Package commandline is what each program says of its command line beside --help: completion for shells, and manual pages. Both come
// from the one table that kong parses, so they can't differ from what is accepted. A program uses it in two places:
//
//	Completion commandline.CompletionFlag, Man commandline.ManFlag // --completion SHELL, --man DIR
//	if commandline.Complete(parser, args) { return }               // answers the shells, before anything is parsed
//
// The scripts for shells are a few lines each: they ask the program, with --complete=WORD and the words before it. Where the program
// knows no candidate, the shell offers files.
//
// Examples stand in the help of each command, as indented lines; package commandlinetest checks that they are there, and parse.
package commandline

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// CompletionFlag prints the script of a shell, and ends the program.
type CompletionFlag string

// BeforeApply prints the script.
func (CompletionFlag) BeforeApply(app *kong.Kong, ctx *kong.Context, trace *kong.Path) error {
	shell := string(ctx.FlagValue(trace.Flag).(CompletionFlag))
	script, err := Script(shell, app.Model.Name)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(app.Stdout, script); err != nil {
		return err
	}
	app.Exit(0)
	return nil
}

// ManFlag writes the manual pages into a folder, and ends the program.
type ManFlag string

// BeforeApply writes the pages.
func (ManFlag) BeforeApply(app *kong.Kong, ctx *kong.Context, trace *kong.Path, vars kong.Vars) error {
	if err := WritePages(string(ctx.FlagValue(trace.Flag).(ManFlag)), app.Model, vars); err != nil {
		return err
	}
	app.Exit(0)
	return nil
}
