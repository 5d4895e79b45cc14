package catalogue

import (
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"collet/netproto/product"
	"collet/netproto/release"
)

// maxUnmatched is how many files are named in warnings of one kind; more of them have the same cause.
const maxUnmatched = 10

// Game is the name of the game in its modules' names; empty if they differ or there are no modules.
func (c *Catalogue) Game() string { return product.GameOf(c.bases()) }

// bases are the base names of all modules, with duplicates.
func (c *Catalogue) bases() (bases []string) {
	for _, o := range c.allOffers()[1:] {
		bases = append(bases, o.bases()...)
	}
	return bases
}

// bases are the base names of the target's modules.
func (o *Offer) bases() (bases []string) {
	target := product.Target(o.target)
	for _, f := range o.files {
		if base := target.PayloadBase(f.Path); f.Role == release.Binary && base != "" && target.LibraryName(base) == f.Path {
			bases = append(bases, base)
		}
	}
	return bases
}

// Variants are the game's variants that clients of a target are offered, in the order of the files.
func (c *Catalogue) Variants(target string) (list []product.Variant) {
	o, known := c.offers[target]
	if !known {
		return nil
	}
	game := c.Game()
	for _, base := range o.bases() {
		if v, is := product.ParseVariant(game, base); is {
			list = append(list, v)
		}
	}
	return list
}

// variantWords describes the variants of a target, by their base names if the game is unknown.
func (c *Catalogue) variantWords(o *Offer) string {
	words := o.bases()
	if c.Game() != "" {
		words = nil
		for _, v := range c.Variants(o.target) {
			words = append(words, v.String())
		}
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, "; ")
}

// warnVariants logs the offered variants, and warns about files that no client takes.
func (c *Catalogue) warnVariants(log zerolog.Logger) {
	bases := c.bases()
	if len(bases) == 0 {
		return
	}
	game := product.GameOf(bases)
	if game == "" {
		slices.Sort(bases)
		log.Warn().Strs("names", slices.Compact(bases)).Msg("The modules are named after several games: a client takes those that are named after it")
		return
	}
	for _, o := range c.allOffers()[1:] {
		if len(o.bases()) > 0 {
			log.Info().Str("target", o.target).Str("game", game).Str("variants", c.variantWords(o)).Msg("Modules are offered")
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

// unmatched are the target's own files that are not named after a variant of the game.
func (o *Offer) unmatched(game string) (names []string) {
	for _, f := range o.files {
		if _, is := product.ParseVariant(game, product.Target(o.target).PayloadBase(f.Path)); !is && f.Target != "" {
			names = append(names, f.Path)
		}
	}
	return names
}
