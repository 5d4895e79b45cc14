package chunk

import (
	"errors"

	"github.com/minio/sha256-simd"
)

// packState is a pack and the index entries that need its name, which is known only when the pack is complete.
type packState struct {
	ref   PackRef
	users []indexSlot
}

// indexSlot is a reference to a pack in an index.
type indexSlot struct {
	index *Index
	pack  int32
}

type place struct {
	pack   *packState
	offset int64
	packed int32
}

// chunkKey identifies a chunk alone, contextKey a chunk with its context: the hash of both sums.
type chunkKey struct {
	sum  ChunkSum
	size int32
}
type contextKey [16]byte

// fileIndex is an index under construction.
type fileIndex struct {
	*Index
	slots map[*packState]int32
}

// slotOf returns the number of a pack in this index and registers it for the pack's name.
func (f *fileIndex) slotOf(s *packState) int32 {
	n, there := f.slots[s]
	if !there {
		n = int32(len(f.Packs))
		f.slots[s] = n
		f.Packs = append(f.Packs, s.ref)
		s.users = append(s.users, indexSlot{f.Index, n})
	}
	return n
}

// addKnown records the places of an earlier index's chunks.
func (p *Packer) addKnown(ix *Index, byRef map[PackRef]*packState) {
	for i := range ix.Chunks {
		c := &ix.Chunks[i]
		ref := ix.Packs[c.Pack]
		if byRef[ref] == nil {
			byRef[ref] = &packState{ref: ref}
		}
		p.recordPlace(ix, i, place{byRef[ref], c.Offset, c.Packed})
	}
}

func (p *Packer) recordPlace(ix *Index, i int, at place) {
	c := &ix.Chunks[i]
	if c.Stored() {
		p.stored[chunkKey{c.Sum, c.Size}] = at
	} else {
		p.known[contextKeyOf(ix, i)] = at
	}
}

func (p *Packer) findPlace(ix *Index, i int) (place, bool) {
	if at, there := p.stored[chunkKey{ix.Chunks[i].Sum, ix.Chunks[i].Size}]; there {
		return at, true
	}
	at, there := p.known[contextKeyOf(ix, i)]
	return at, there
}

// contextKeyOf hashes the sums of chunk i and of its context.
func contextKeyOf(ix *Index, i int) contextKey {
	var sums [8 * (maxContext/MinChunk + 1)]byte
	n := copy(sums[:], ix.Chunks[i].Sum[:])
	left := ix.contextOf(i)
	for j := i - 1; left > 0; j-- {
		n += copy(sums[n:], ix.Chunks[j].Sum[:])
		left -= int(ix.Chunks[j].Size)
	}
	full := sha256.Sum256(sums[:n])
	return contextKey(full[:16])
}

// writePacked appends packed bytes to the current pack, or to a new one if they would make it too large.
func (p *Packer) writePacked(packed []byte) (place, error) {
	if p.current != nil && p.current.ref.Size+int64(len(packed)) > p.o.MaxSize {
		if err := p.finishPack(); err != nil {
			return place{}, err
		}
	}
	if p.current == nil {
		out, err := p.o.Create()
		if err != nil {
			return place{}, err
		}
		p.out, p.sum, p.current = out, sha256.New(), &packState{}
	}
	at := place{p.current, p.current.ref.Size, int32(len(packed))}
	p.sum.Write(packed)
	p.current.ref.Size += int64(len(packed))
	_, err := p.out.Write(packed)
	return at, err
}

// finishPack ends the current pack and sets its name in the indexes that use it.
func (p *Packer) finishPack() error {
	s := p.current
	p.current = nil
	p.sum.Sum(s.ref.Digest[:0])
	for _, u := range s.users {
		u.index.Packs[u.pack] = s.ref
	}
	s.users = nil
	p.finished = append(p.finished, s.ref)
	return p.out.Close()
}

// Close ends the last pack and returns all new packs, in the order of their creation. After an error of Add it only
// closes what is open.
func (p *Packer) Close() ([]PackRef, error) {
	err := p.err
	if p.current != nil {
		err = errors.Join(err, p.finishPack())
	}
	for _, e := range p.encoders {
		err = errors.Join(err, e.close())
	}
	p.encoders = nil
	return p.finished, err
}
