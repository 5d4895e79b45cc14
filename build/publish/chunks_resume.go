package publish

import (
	"fmt"

	"collet/netproto/chunk"
	"collet/netproto/release"
	"collet/platform"
)

// chunksKey identifies a cut by all that it depends on: the blobs with their grains, the packs with known chunks, and the effort.
func (k *chunker) chunksKey(list []indexed, known []*chunk.Index) string {
	h := release.SHA256.NewHash()
	fmt.Fprintln(h, "effort", k.effort)
	for _, b := range list {
		fmt.Fprintln(h, "blob", b.sum, b.grain)
	}
	for _, ix := range known {
		for _, p := range ix.Packs {
			fmt.Fprintln(h, "pack", packObject(p).Sum)
		}
	}
	return "chunks " + release.SHA256.SumOf(h).String()
}

// findCut looks up the sets of indexes of a cut that was finished before. It returns nil if the ledger lacks one, or if it or
// one of its packs is gone or damaged.
func (k *chunker) findCut(cut string, list []indexed) map[release.Digest]indexRef {
	sets, complete := k.ledger.FindObjects(cut)
	if !complete {
		return nil
	}
	refs, packs := map[release.Digest]indexRef{}, map[chunk.PackRef]bool{}
	for _, o := range sets {
		data, err := platform.ReadFile(k.store.fs, o.Path(), o.Size)
		if err != nil || o.Verify(data) != nil {
			return nil
		}
		set, err := chunk.ParseIndexSet(data)
		if err != nil {
			return nil
		}
		for entry := range uint32(set.Len()) {
			ix, err := set.Index(entry)
			for err == nil && len(list) > 0 && list[0].skipped {
				list = list[1:]
			}
			if err != nil || len(list) == 0 {
				return nil
			}
			for _, p := range ix.Packs {
				if !packs[p] && !k.store.has(packObject(p)) {
					return nil
				}
				packs[p] = true
			}
			refs[list[0].sum] = indexRef{o, entry}
			list = list[1:]
		}
	}
	for _, o := range sets {
		k.store.touch(o)
	}
	for p := range packs {
		k.store.touch(packObject(p))
	}
	return refs
}
