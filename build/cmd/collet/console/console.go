// Package console is what the commands of collet share to talk to people and programs: where output goes, exit codes and the errors that
// stand for them, tables, JSON, and progress.
//
// A command has a method Run that takes a [Console]. It returns nil for exit code 0, and an error otherwise. The program prints the error on
// standard error and ends with ExitFailed. For an error of [Usage] it also names --help, and ends with ExitUsage. It does not print an error
// of [Printed] again.
package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"collet/platform"
	"collet/platform/text"
)

// The exit codes that all commands share.
const (
	ExitFailed = 1
	ExitUsage  = 2 // invalid command line
)

// Console is the output and the command line of a command. Both writers are of package text: foreign text can't steer the terminal.
type Console struct {
	Out, Err io.Writer
	Args     []string // the command line, without the program
}

// UsageError marks a command line that is invalid in a way that the parser can't know.
type UsageError struct{ error }

// Usage marks an error as a UsageError.
func Usage(err error) error { return UsageError{err} }

// Unwrap returns the cause.
func (e UsageError) Unwrap() error { return e.error }

// PrintedError marks an error that the command has printed itself.
type PrintedError struct{ error }

// Printed marks an error as a PrintedError.
func Printed(err error) error { return PrintedError{err} }

// Unwrap returns the cause.
func (e PrintedError) Unwrap() error { return e.error }

// codedError is an error with an exit code of its own.
type codedError struct {
	error
	code int
}

// WithCode gives an error an exit code of its own.
func WithCode(err error, code int) error { return codedError{err, code} }

// Unwrap returns the cause.
func (e codedError) Unwrap() error { return e.error }

// ExitCode tells on stderr what was not told yet, and returns the exit code. command is the full name of the command that ended.
func ExitCode(err error, command string, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	var usage UsageError
	code, more := ExitFailed, ""
	if own := (codedError{}); errors.As(err, &own) {
		code = own.code
	} else if errors.As(err, &usage) {
		code, more = ExitUsage, command+" --help tells more\n"
	}
	if !errors.As(err, &PrintedError{}) {
		fmt.Fprintf(stderr, "collet: %v\n%s", err, more)
	}
	return code
}

// JSONFlags choose the form of the output. Embed it.
type JSONFlags struct {
	JSON bool `name:"json" group:"out" help:"Print JSON instead of a table."`
}

// Print prints a value: as JSON for programs, or else by show for people.
func (f JSONFlags) Print(out io.Writer, value any, show func(io.Writer) error) error {
	if f.JSON {
		return PrintJSON(out, value)
	}
	return show(out)
}

// PrintJSON prints a value for programs.
func PrintJSON(out io.Writer, v any) error {
	e := json.NewEncoder(text.NewJSONWriter(out))
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// NewTable begins a table: cells end in tabs. Flush prints it.
func NewTable(out io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(out, 0, 0, 2, ' ', 0) }

// Clean makes one line of foreign text, so that it can't forge lines or columns. The writers of a Console make it harmless in any case.
func Clean(foreign string) string { return text.Line(foreign) }

// TerminalOf is the terminal below a writer of a Console, for cursor movements, and whether there is one that moves the cursor.
func TerminalOf(w io.Writer) (raw io.Writer, terminal bool) {
	if harmless, is := w.(*text.Writer); is {
		w = harmless.Raw()
	}
	f, is := w.(*os.File)
	return w, is && platform.IsTerminal(f) && os.Getenv("TERM") != "dumb"
}
