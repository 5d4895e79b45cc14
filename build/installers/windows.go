// Package installers holds the texts that installers are made of: scripts with gaps for what a game is called and which files
// it has, and the words that players read. The makers in build/pack fill the gaps; nothing else is here.
package installers

import "embed"

// Windows holds setup.nsi.tmpl, product.wxs.tmpl and texts.<language>.json.
//
//go:embed windows
var Windows embed.FS
