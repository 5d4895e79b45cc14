package catalogue

import (
	"maps"
	"slices"
	"strings"

	"collet/netproto/product"
	"collet/netproto/release"
)

// offers are the file lists of a catalogue for the clients of each target. They are immutable once encoded.
type offers struct {
	byTarget map[string]*Offer
	common   *Offer // for targets without files of their own
}

func newOffers() offers { return offers{byTarget: map[string]*Offer{}, common: &Offer{}} }

// targets are the names of all targets with files of their own, sorted.
func (o offers) targets() []string { return slices.Sorted(maps.Keys(o.byTarget)) }

// forTarget is the target's own offer, or the common-only one.
func (o offers) forTarget(target string) *Offer {
	if own, known := o.byTarget[target]; known {
		return own
	}
	return o.common
}

// beginTarget is the offer of a target; a new one has the common files.
func (o offers) beginTarget(target string) *Offer {
	own, known := o.byTarget[target]
	if !known {
		own = &Offer{target: target, files: slices.Clone(o.common.files)}
		o.byTarget[target] = own
	}
	return own
}

// ofTargets are the offers of all targets with files of their own, sorted.
func (o offers) ofTargets() (all []*Offer) {
	for _, target := range o.targets() {
		all = append(all, o.byTarget[target])
	}
	return all
}

// all is the common-only offer and those of the targets, sorted.
func (o offers) all() []*Offer { return append([]*Offer{o.common}, o.ofTargets()...) }

// encodeLists checks every offer by the rules of the clients, and encodes it.
func (o offers) encodeLists() error {
	for _, offer := range o.all() {
		if err := offer.checkRules(); err != nil {
			return err
		}
		if err := offer.encodeLists(); err != nil {
			return err
		}
	}
	return nil
}

// withoutModules is a new offer of a target's files except native modules.
func (o offers) withoutModules(target string) *Offer {
	left := &Offer{target: target}
	for _, f := range o.forTarget(target).files {
		if f.Role != release.Binary {
			left.files = append(left.files, f)
		}
	}
	return left
}

// moduleBases are the base names of all modules, with duplicates.
func (o offers) moduleBases() (bases []string) {
	for _, offer := range o.ofTargets() {
		bases = append(bases, offer.moduleBases()...)
	}
	return bases
}

// game is the name of the game in its modules' names; empty if they differ or there are no modules.
func (o offers) game() string { return product.GameOf(o.moduleBases()) }

// variants are the game's variants that clients of a target are offered, in the order of the files.
func (o offers) variants(target string) (list []product.Variant) {
	own, known := o.byTarget[target]
	if !known {
		return nil
	}
	game := o.game()
	for _, base := range own.moduleBases() {
		if v, is := product.ParseVariant(game, base); is {
			list = append(list, v)
		}
	}
	return list
}

// describeVariants describes the variants of an offer, by their base names if the game is unknown.
func (o offers) describeVariants(offer *Offer) string {
	words := offer.moduleBases()
	if o.game() != "" {
		words = nil
		for _, v := range o.variants(offer.target) {
			words = append(words, v.String())
		}
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, "; ")
}
