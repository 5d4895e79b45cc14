package catalogue

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/product"
	"collet/netproto/release"
	"collet/netproto/server/config"
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
	for _, o := range c.allOffers() {
		name := o.target
		if name == "" {
			name = "any other target"
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%s\n", name, len(o.files), o.bytes(), o.nativeUpdate(), o.content(), c.variantWords(o))
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
	return c.describePayloads(w)
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

// warn logs settings and files that are valid but probably mistakes.
func (c *Catalogue) warn(log zerolog.Logger) {
	if len(c.files) == 0 {
		log.Warn().Msg("Nothing is offered: there are no resource packs and no platform binaries")
	}
	for _, o := range c.allOffers()[1:] {
		target := product.Target(o.target)
		switch {
		case !slices.Contains(targetNames(), o.target):
			log.Warn().Str("target", o.target).Msg("No client asks for this target" + config.DidYouMean(o.target, targetNames()))
		case target.CanSelfUpdate() && !o.hasModule:
			log.Warn().Str("target", o.target).Msgf("No native module among the files of this target: none ends in %s", target.LibraryExt())
		}
	}
	c.warnFolders(log)
	c.warnVariants(log)
}

// warnFolders warns about packs in subfolders: the engine's clients can't install them.
func (c *Catalogue) warnFolders(log zerolog.Logger) {
	warned := 0
	for _, f := range c.files {
		if f.Role != release.Resource || !strings.Contains(f.Path, "/") {
			continue
		}
		if warned++; warned <= maxUnmatched {
			log.Warn().Str("file", f.Path).Msg("The engine's clients can't install this pack: it lies in a subfolder")
		}
	}
	if warned > maxUnmatched {
		log.Warn().Msgf("The engine's clients can't install %d more packs in subfolders", warned-maxUnmatched)
	}
}

// targetNames are the names of all targets.
func targetNames() (names []string) {
	for _, t := range product.Targets() {
		names = append(names, string(t))
	}
	return names
}

// Announce logs what is offered.
func (c *Catalogue) Announce(log zerolog.Logger) {
	log.Info().Msgf("Compatibility version: %s", c.compatibility)
	if c.metadata != "" {
		log.Info().Msgf("Metadata version: %s", c.metadata)
	}
	log.Info().Int("files", len(c.files)).Int64("bytes", c.Bytes()).Str("targets", c.summary()).
		Msgf("Opened updater backend with client resources using %s", c.storage)
	for _, e := range c.editions {
		e.announce(log)
	}
}

// summary is the start-up line's list of targets.
func (c *Catalogue) summary() string {
	if len(c.offers) == 0 {
		return "none"
	}
	return strings.Join(c.Targets(), " ")
}
