package host

import "collet/netproto/product"

// variant names the variant of the game that this program is, for the log. game is the name of the plain build and base the
// one that packaging gave this one. Where packaging gave none, nobody knows of which game a base name is.
func variant(game, base string) string {
	if v, is := product.ParseVariant(game, base); is {
		return v.String()
	}
	return "unknown"
}
