package main

import (
	"encoding/json"
	"io"
	"text/tabwriter"

	"collet/platform/text"
)

// jsonFlags choose the form of the output. Embed it.
type jsonFlags struct {
	JSON bool `name:"json" group:"out" help:"Print JSON instead of a table."`
}

// print prints a value: as JSON for programs, or else by show for people.
func (f jsonFlags) print(out io.Writer, value any, show func(io.Writer) error) error {
	if f.JSON {
		return printJSON(out, value)
	}
	return show(out)
}

// printJSON prints a value for programs.
func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(text.NewJSONWriter(out))
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// newTable begins a table: cells end in tabs. Flush prints it.
func newTable(out io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(out, 0, 0, 2, ' ', 0) }

// clean makes one line of foreign text, so that it can't forge lines or columns. The writers of console make it harmless
// in any case.
func clean(foreign string) string { return text.Line(foreign) }
