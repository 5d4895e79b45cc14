package catalogue

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"text/tabwriter"
)

// describePayloads writes one line for each native module, with the reason if it is not offered. Without logic versions it writes
// nothing.
func (c *Catalogue) describePayloads(w io.Writer) error {
	if !c.declared.Versioned {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nNATIVE MODULE FOR\tLOGIC\tPATCH\tCOMPONENTS\tBUILD")
	for _, target := range slices.Sorted(maps.Keys(c.declared.payloads)) {
		for _, p := range c.declared.payloads[target] {
			if p.Undeclared {
				fmt.Fprintf(table, "%s\t-\t-\t-\toffered to nobody: %s\n", target, p.Why)
				continue
			}
			components := "-"
			if p.Components != 0 {
				components = fmt.Sprintf("%016x", p.Components)
			}
			fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", target, strconv.Itoa(int(p.Logic)), p.Patch, components, cmp.Or(p.Build.ID, "-"))
		}
	}
	return table.Flush()
}
