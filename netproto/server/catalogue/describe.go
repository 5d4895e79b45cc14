package catalogue

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/product"
)

// Describe writes the offered files as tables: one line for each file, then one for each target with what its clients receive.
// Sizes are bytes; digests are those that clients compare.
func (c *Catalogue) Describe(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "INDEX\tTARGET\tFILE\tSIZE\tFNV-1A-64\tSHA-256")
	for e := range c.Entries() {
		target := e.Target
		if target == "" {
			target = "(every)"
		}
		sum, _ := e.Digest.SHA256()
		fmt.Fprintf(table, "%d\t%s\t%s\t%d\t%016x\t%x\n", e.Index, target, e.Path, e.Size, e.FNV, sum)
	}
	fmt.Fprintln(table)
	fmt.Fprintln(table, "CLIENTS OF\tFILES\tBYTES\tNATIVE UPDATE\tPACKS\tVARIANTS")
	for _, o := range c.offers.all() {
		name := o.target
		if name == "" {
			name = "any other target"
		}
		if c.Withholds(o.target) {
			name += " (none for everybody)"
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%s\n", name, len(o.files), o.totalBytes(), o.nativeUpdate(), o.contentIdentity(), c.offers.describeVariants(o))
	}
	if len(c.editions) > 0 {
		fmt.Fprintln(table)
		fmt.Fprintln(table, "TARGET\tRELEASE\tVERSION\tCOMPATIBILITY\tPUBLISHED")
		for _, e := range c.editions {
			fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\n", e.Target, e.Number, e.head.Version, e.head.Compatibility, e.head.Published.Format(time.DateTime))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return c.declared.describePayloads(w)
}

// nativeUpdate describes in a word whether an outdated client of this target can be updated.
func (o *Offer) nativeUpdate() string {
	switch {
	case o.target == "":
		return "no"
	case !product.Target(o.target).CanSelfUpdate():
		return "store only"
	case o.hasModule:
		return "yes"
	default:
		return "no module"
	}
}

// Announce logs what is offered.
func (c *Catalogue) Announce(log zerolog.Logger) {
	targets := strings.Join(c.Targets(), " ")
	if targets == "" {
		targets = "none"
	}
	if c.compatibility != "" {
		log.Info().Msgf("Compatibility version: %s", c.compatibility)
	}
	if c.metadata != "" {
		log.Info().Msgf("Metadata version: %s", c.metadata)
	}
	log.Info().Int("files", len(c.files)).Int64("bytes", c.Bytes()).Str("targets", targets).
		Msgf("Opened updater backend with client resources using %s", c.storage)
	for _, e := range c.editions {
		e.announce(log)
	}
}

// describePayloads writes one line for each native module, with the reason if it is not offered. Without logic versions it writes
// nothing.
func (d *declaration) describePayloads(w io.Writer) error {
	if !d.Versioned {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nNATIVE MODULE FOR\tLOGIC\tPATCH\tCOMPONENTS\tBUILD")
	for _, target := range slices.Sorted(maps.Keys(d.payloads)) {
		for _, p := range d.payloads[target] {
			if p.Undeclared {
				fmt.Fprintf(table, "%s\t-\t-\t-\tnot offered: %s\n", target, p.Why)
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
