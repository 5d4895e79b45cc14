package main

import (
	"encoding/json"
	"fmt"
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

// byteText is a size for people, in units of 1000.
func byteText(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	units, v := "kMGTP", float64(n)/1000
	for v >= 999.5 && len(units) > 1 {
		v, units = v/1000, units[1:]
	}
	if v < 99.95 {
		return fmt.Sprintf("%.1f %cB", v, units[0])
	}
	return fmt.Sprintf("%.0f %cB", v, units[0])
}
