package publish

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"collet/build/advice"
	"collet/netproto/chunk"
	"collet/netproto/release"
)

// indexed is the result of chunking one blob.
type indexed struct {
	sum   release.Digest
	grain chunk.Grain
	index *chunk.Index
}

// place locates a blob's chunk index: an entry in a set of indexes.
type place struct {
	set   release.Object
	entry uint32
}

// chunks cuts blobs that are large enough. New chunks go into packs, and the indexes into sets. grains holds the grain of blobs that
// have an earlier version, so that a file keeps its grain. It returns the places of the indexes.
func (f *Folder) chunks(ctx context.Context, c *contents, wanted []release.Digest, known []*chunk.Index, grains map[release.Digest]chunk.Grain) (map[release.Digest]place, error) {
	var total int64
	var list []indexed
	for _, sum := range wanted {
		if n := c.size(sum); n >= f.settings.ChunkMinimum {
			grain, there := grains[sum]
			if !there {
				grain = chunk.GrainFor(n)
			}
			list = append(list, indexed{sum: sum, grain: grain})
			total += n
		}
	}
	places := map[release.Digest]place{}
	if len(list) == 0 {
		return places, nil
	}
	f.meter.start("chunks", "", total)
	var packs []*unfinished
	p, err := chunk.NewPacker(chunk.PackOptions{Known: known, Workers: f.workers(), Create: func() (io.WriteCloser, error) {
		u, err := f.create()
		if err == nil {
			packs = append(packs, u)
		}
		return keepOpen{u}, err
	}})
	if err != nil {
		return nil, err
	}
	err = f.index(ctx, c, p, list)
	refs, e := p.Close()
	if err = errors.Join(err, e); err != nil {
		for _, u := range packs {
			u.drop()
		}
		return nil, advice.Because(err, room(err), "cut files into chunks")
	}
	for i, ref := range refs {
		if err := f.finish(packs[i], packObject(ref), nil); err != nil {
			return nil, err
		}
	}
	return places, f.putIndexes(list, places)
}

// putIndexes writes sets of indexes, each well below the client's limit.
func (f *Folder) putIndexes(list []indexed, places map[release.Digest]place) error {
	for len(list) > 0 {
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
		o, err := f.put(data)
		if err != nil {
			return err
		}
		for i, sum := range sums {
			places[sum] = place{o, uint32(i)}
		}
	}
	return nil
}

// keepOpen ignores Close, because finish syncs and closes the file.
type keepOpen struct{ *unfinished }

// Close implements io.Closer.
func (keepOpen) Close() error { return nil }

// maxIndexed is the largest file in bytes that is cut into chunks: 24 GiB, well below chunk.MaxIndexChunks of them at the
// average.
const maxIndexed = 24 << 30

// index adds each blob to the packs.
func (f *Folder) index(ctx context.Context, c *contents, p *chunk.Packer, list []indexed) error {
	for i := range list {
		if c.size(list[i].sum) > maxIndexed {
			continue // clients fetch it as a whole object or by a patch
		}
		in, err := c.open(ctx, list[i].sum)
		if err != nil {
			return err
		}
		name := c.at[list[i].sum].path
		list[i].index, err = p.Add(ctx, list[i].grain, meteredReader{in, f.meter, name})
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
	m.meter.add(int64(n), m.what)
	return n, err
}

// indexes reads chunk indexes out of sets. It caches the last set.
type indexes struct {
	folder *Folder
	object release.Object
	set    *chunk.IndexSet
}

// read reads the index of a source.
func (x *indexes) read(s release.Source) (*chunk.Index, error) {
	if s.Index != x.object {
		data, err := x.folder.object(s.Index)
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

// bySet sorts sources so that each set is read once.
func bySet(sources []release.Source) []release.Source {
	list := slices.DeleteFunc(slices.Clone(sources), func(s release.Source) bool { return s.Index.IsZero() })
	slices.SortFunc(list, func(a, b release.Source) int {
		return cmp.Or(cmp.Compare(a.Index.Path(), b.Index.Path()), cmp.Compare(a.Entry, b.Entry))
	})
	return list
}
