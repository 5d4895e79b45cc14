package host

import "collet/netproto/product"

// variant names this program's variant of the game, for the log. game is the configured name of the game, base the packaged name of
// this program or else its file name. It is "unknown" if base is not a variant of game.
func variant(game, base string) string {
	if v, is := product.ParseVariant(game, base); is {
		return v.String()
	}
	return "unknown"
}
