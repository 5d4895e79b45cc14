package demo

import (
	"context"

	"collet/build/pack/archive"
	"collet/build/pack/bundle"
)

// entry is one file of a pack.
type entry struct {
	name string // slash-separated
	data []byte
}

// writePack writes a resource pack as packages of games have it. Packs of the demo are small, so nothing interrupts it.
func writePack(path string, entries []entry) error {
	tree := make(bundle.Tree, len(entries))
	for i, e := range entries {
		tree[i] = bundle.Entry{Path: e.name, Mode: bundle.Plain, Data: e.data}
	}
	return archive.Zip(context.Background(), tree, path, archive.Options{})
}
