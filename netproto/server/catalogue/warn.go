package catalogue

import (
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"collet/netproto/compat"
	"collet/netproto/product"
	"collet/netproto/release"
	"collet/netproto/server/config"
)

// maxUnmatched is how many files are named in warnings of one kind; more of them have the same cause.
const maxUnmatched = 10

// warnMistakes logs settings and files that are valid but probably mistakes.
func warnMistakes(c *Catalogue, log zerolog.Logger) {
	if len(c.files) == 0 && c.folder == nil {
		log.Warn().Msg("Nothing is offered: there are no resource packs and no platform binaries")
	}
	for _, o := range c.offers.all()[1:] {
		target := product.Target(o.target)
		switch {
		case !slices.Contains(targetNames(), o.target):
			log.Warn().Str("target", o.target).Msg("No client asks for this target" + config.DidYouMean(o.target, targetNames()))
		case target.CanSelfUpdate() && !o.hasModule && !c.Withholds(o.target):
			log.Warn().Str("target", o.target).Msgf("No native module among the files of this target: none ends in %s, and none in %s", target.LibraryExt(), product.DescriptionExt)
		}
	}
	if !slices.ContainsFunc(c.offers.ofTargets(), func(o *Offer) bool { return o.isProgram }) {
		warnFolders(c.files, log)
	}
	warnVariants(c.offers, log)
}

// warnFolders warns about packs in subfolders: the engine's clients can't install them.
func warnFolders(files []*File, log zerolog.Logger) {
	warned := 0
	for _, f := range files {
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

// warnVariants logs the offered variants, and warns about files that no client takes.
func warnVariants(all offers, log zerolog.Logger) {
	bases := all.moduleBases()
	if len(bases) == 0 {
		return
	}
	game := product.GameOf(bases)
	if game == "" {
		slices.Sort(bases)
		log.Warn().Strs("names", slices.Compact(bases)).Msg("The modules are named after several games: a client takes those that are named after it")
		return
	}
	for _, o := range all.ofTargets() {
		if len(o.moduleBases()) > 0 {
			log.Info().Str("target", o.target).Str("game", game).Str("variants", all.describeVariants(o)).Msg("Modules are offered")
		}
		strays := o.unmatched(game)
		for _, name := range strays[:min(len(strays), maxUnmatched)] {
			log.Warn().Str("target", o.target).Str("file", name).Msgf("No client takes this file: it is not named after a variant of %s", game)
		}
		if more := len(strays) - maxUnmatched; more > 0 {
			log.Warn().Str("target", o.target).Msgf("No client takes %d more files", more)
		}
	}
}

// warnContent warns if Compat.Content names an identity that the offered packs do not have: clients would fetch them, find the
// difference, and not play.
func warnContent(c *Catalogue, log zerolog.Logger) {
	named := c.declared.Content
	if !compat.IsDerivedContent(named) {
		return
	}
	for _, o := range c.offers.all() {
		if is := o.contentIdentity(); is != named && c.declared.Targets[o.target].Content != is {
			log.Warn().Str("target", o.target).Str("packs", is).Msgf("Compat.Content is %s, and the packs on offer are others: clients will not play with them", named)
			return
		}
	}
}

// targetNames are the names of all targets.
func targetNames() (names []string) {
	for _, t := range product.Targets() {
		names = append(names, string(t))
	}
	return names
}
