package publish

import (
	"context"
	"fmt"

	"collet/build/advice"
	"collet/build/publish/game"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform"
)

// blobs maps each blob to a readable source: the game folder, or the whole object of an earlier release. It is safe for concurrent use
// once it is filled.
type blobs struct {
	unpacker *unpacker
	at       map[release.Digest]blobSource
}

type blobSource struct {
	path string // in a set, for messages
	size int64

	fs   platform.FS // a game folder, or nil
	name string      // in it

	source release.Source // in the release folder
}

func newBlobs(u *unpacker) *blobs { return &blobs{unpacker: u, at: map[release.Digest]blobSource{}} }

// addGame adds the files of a game folder.
func (b *blobs) addGame(g *game.Folder) {
	for _, f := range g.All() {
		if _, there := b.at[f.Sum]; !there {
			b.at[f.Sum] = blobSource{path: f.Path, size: f.Info.Size(), fs: g.FS, name: f.Name}
		}
	}
}

// addSet adds the blobs of a release that are not in the game folder.
func (b *blobs) addSet(l release.Listing, sources release.Sources) error {
	for _, f := range l {
		if _, there := b.at[f.Sum]; there {
			continue
		}
		s, found := sources.Find(f.Sum)
		if !found {
			return fmt.Errorf("the sources of a release lack the content of %q", f.Path)
		}
		b.at[f.Sum] = blobSource{path: f.Path, size: f.Size, source: s}
	}
	return nil
}

func (b *blobs) size(sum release.Digest) int64  { return b.at[sum].size }
func (b *blobs) name(sum release.Digest) string { return fmt.Sprintf("%q", b.at[sum].path) }

// openBlob opens a blob. Blobs of earlier releases are unpacked once and verified first.
func (b *blobs) openBlob(ctx context.Context, sum release.Digest) (platform.File, error) {
	l, there := b.at[sum]
	if !there {
		return nil, fmt.Errorf("content %v is not available", sum)
	}
	if l.fs != nil {
		in, err := openFile(l.fs, l.name)
		if err != nil {
			return nil, advice.Because(err, "publish when nothing writes there", "read %s", l.fs.Path(l.name))
		}
		return in, nil
	}
	if l.source.Encoding == release.EncodedStored {
		return openFile(b.unpacker.fs, l.source.Whole.Path())
	}
	name, err := b.unpacker.unpack(ctx, l.source, l.size)
	if err != nil {
		return nil, err
	}
	return openFile(b.unpacker.fs, name)
}

// side returns a set as input of the patch writer.
func (b *blobs) side(ctx context.Context, l release.Listing) delta.SetSide {
	return delta.SetSide{Listing: l, Source: setReader{b, l, func(sum release.Digest) (platform.File, error) { return b.openBlob(ctx, sum) }}}
}

// setReader opens the files of one set.
type setReader struct {
	blobs   *blobs
	listing release.Listing
	open    func(release.Digest) (platform.File, error)
}

// Open implements delta.SetSource.
func (s setReader) Open(i int) (delta.SetFile, error) { return s.open(s.listing[i].Sum) }

// setSums lists the blobs of a set without duplicates.
func setSums(l release.Listing) map[release.Digest]int64 {
	sums := map[release.Digest]int64{}
	for _, f := range l {
		sums[f.Sum] = f.Size
	}
	return sums
}
