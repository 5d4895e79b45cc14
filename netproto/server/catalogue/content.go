package catalogue

import (
	"github.com/rs/zerolog"

	"collet/netproto/compat"
	"collet/netproto/release"
)

// identify derives the identities of the offered packs: the common one, and those of targets with different packs.
func (c *Catalogue) identify(d *declaration) {
	d.Content = c.common.content()
	for name, o := range c.offers {
		if own := o.content(); own != d.Content {
			t := d.Targets[name]
			t.Content = own
			d.Targets[name] = t
		}
	}
}

// content is the identity of the packs of an offer.
func (o *Offer) content() string {
	var packs []compat.Pack
	for _, f := range o.files {
		if sum, known := f.Digest.SHA256(); f.Role == release.Resource && known {
			packs = append(packs, compat.Pack{Path: f.Path, Size: f.Size, Sum: sum})
		}
	}
	return compat.DerivedContent(packs)
}

// warnContent warns if Compat.Content names an identity that the offered packs do not have: clients would fetch them, find the
// difference, and not play.
func (c *Catalogue) warnContent(log zerolog.Logger) {
	named := c.declared.Content
	if !compat.IsDerivedContent(named) {
		return
	}
	for _, o := range c.allOffers() {
		if is := o.content(); is != named && c.declared.Targets[o.target].Content != is {
			log.Warn().Str("target", o.target).Str("packs", is).Msgf("Compat.Content is %s, and the packs on offer are others: clients will not play with them", named)
			return
		}
	}
}
