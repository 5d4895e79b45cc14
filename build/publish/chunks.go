package publish

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"collet/build/advice"
	"collet/build/publish/cache"
	"collet/netproto/chunk"
	"collet/netproto/release"
)

// indexed is the result of chunking one blob.
type indexed struct {
	sum     release.Digest
	grain   chunk.Grain
	skipped bool // it is too large for an index
	index   *chunk.Index
}

// indexRef locates a blob's chunk index: an entry in a set of indexes.
type indexRef struct {
	set   release.Object
	entry uint32
}

// chunker cuts blobs into chunks, and writes packs of them and their indexes.
type chunker struct {
	store   *objectStore
	ledger  *cache.Ledger
	meter   *meter
	workers int
	minimum int64 // size in bytes of a blob that is cut
	effort  chunk.Effort
}

// cut cuts blobs that are large enough. New chunks go into packs, and the indexes into sets. grains holds the grain of blobs that
// have an earlier version, so that a file keeps its grain. It returns where the indexes are.
func (k *chunker) cut(ctx context.Context, b *blobs, wanted []release.Digest, known []*chunk.Index, grains map[release.Digest]chunk.Grain) (map[release.Digest]indexRef, error) {
	var total int64
	var list []indexed
	for _, sum := range wanted {
		if n := b.size(sum); n >= k.minimum {
			grain, there := grains[sum]
			if !there {
				grain = chunk.GrainFor(n)
			}
			list = append(list, indexed{sum: sum, grain: grain, skipped: n > maxIndexed})
			total += n
		}
	}
	located := map[release.Digest]indexRef{}
	if len(list) == 0 {
		return located, nil
	}
	k.meter.startStep("chunks", "", total)
	cut := k.chunksKey(list, known)
	if before := k.findCut(cut, list); before != nil {
		return before, nil
	}
	var packs []*unfinished
	p, err := chunk.NewPacker(chunk.PackOptions{Known: known, Workers: k.workers, Effort: k.effort, Create: func() (io.WriteCloser, error) {
		u, err := k.store.create()
		if err == nil {
			packs = append(packs, u)
		}
		return withoutClose{u}, err
	}})
	if err != nil {
		return nil, err
	}
	err = k.addBlobs(ctx, b, p, list)
	refs, e := p.Close()
	if err = errors.Join(err, e); err != nil {
		for _, u := range packs {
			u.drop()
		}
		return nil, advice.Because(err, room(err), "cut files into chunks")
	}
	for i, ref := range refs {
		if err := k.store.finish(packs[i], packObject(ref), nil); err != nil {
			return nil, err
		}
	}
	return located, k.putIndexes(cut, list, located)
}

// putIndexes writes sets of indexes, each well below the client's limit, and enters them into the ledger.
func (k *chunker) putIndexes(cut string, list []indexed, refs map[release.Digest]indexRef) error {
	n := 0
	for ; len(list) > 0; n++ {
		var set []*chunk.Index
		var sums []release.Digest
		bytes := 0
		for len(list) > 0 && bytes < chunk.MaxIndexSet/2 {
			if ix := list[0].index; ix != nil {
				set, sums = append(set, ix), append(sums, list[0].sum)
				bytes += 16*len(ix.Chunks) + 48*len(ix.Packs) + 64
			}
			list = list[1:]
		}
		data, err := chunk.EncodeIndexSet(set)
		if err != nil {
			return advice.Because(err, "", "indexes of chunks")
		}
		o, key := release.ObjectOf(data), cache.RowKey(cut, n)
		if err := k.store.putAs(data, o, o.Path(), func() error { return k.ledger.AddResult(key, cache.Result{Object: o}) }); err != nil {
			return err
		}
		for i, sum := range sums {
			refs[sum] = indexRef{o, uint32(i)}
		}
	}
	return k.ledger.EndObjects(cut, n)
}

// withoutClose ignores Close, because finish syncs and closes the file.
type withoutClose struct{ *unfinished }

// Close implements io.Closer.
func (withoutClose) Close() error { return nil }

// maxIndexed is the largest file in bytes that is cut into chunks: 24 GiB, well below chunk.MaxIndexChunks of them at the
// average.
const maxIndexed = 24 << 30

// addBlobs adds each blob to the packs.
func (k *chunker) addBlobs(ctx context.Context, b *blobs, p *chunk.Packer, list []indexed) error {
	for i := range list {
		if list[i].skipped {
			continue // clients fetch it as a whole object or by a patch
		}
		in, err := b.openBlob(ctx, list[i].sum)
		if err != nil {
			return err
		}
		name := b.at[list[i].sum].path
		list[i].index, err = p.Add(ctx, list[i].grain, meteredReader{in, k.meter, name})
		in.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// meteredReader counts the bytes read.
type meteredReader struct {
	r     io.Reader
	meter *meter
	what  string
}

func (m meteredReader) Read(b []byte) (int, error) {
	n, err := m.r.Read(b)
	m.meter.addBytes(int64(n), m.what)
	return n, err
}

// indexes reads chunk indexes out of sets. It caches the last set.
type indexes struct {
	releases *releases
	object   release.Object
	set      *chunk.IndexSet
}

// readIndex reads the index of a source.
func (x *indexes) readIndex(s release.Source) (*chunk.Index, error) {
	if s.Index != x.object {
		data, err := x.releases.object(s.Index)
		if err == nil {
			err = s.Index.Verify(data)
		}
		if err != nil {
			return nil, err
		}
		if x.set, err = chunk.ParseIndexSet(data); err != nil {
			return nil, err
		}
		x.object = s.Index
	}
	return x.set.Index(s.Entry)
}

// sortBySet sorts sources so that each set is read once.
func sortBySet(sources []release.Source) []release.Source {
	list := slices.DeleteFunc(slices.Clone(sources), func(s release.Source) bool { return s.Index.IsZero() })
	slices.SortFunc(list, func(a, b release.Source) int {
		return cmp.Or(cmp.Compare(a.Index.Path(), b.Index.Path()), cmp.Compare(a.Entry, b.Entry))
	})
	return list
}
