package publish

import (
	"context"
	"fmt"

	"collet/build/advice"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform"
)

// contents maps each blob to a readable source: the game folder, or the whole object of an earlier release. It is safe for concurrent use
// once it is filled.
type contents struct {
	folder *Folder
	at     map[release.Digest]location
}

type location struct {
	path string // in a set, for messages
	size int64

	fs   platform.FS // a game folder, or nil
	name string      // in it

	source release.Source // in the release folder
}

func newContents(f *Folder) *contents { return &contents{folder: f, at: map[release.Digest]location{}} }

// addGame adds the files of a game folder.
func (c *contents) addGame(g *game) {
	for _, f := range g.all() {
		if _, there := c.at[f.sum]; !there {
			c.at[f.sum] = location{path: f.path, size: f.info.Size(), fs: g.fs, name: f.name}
		}
	}
}

// addSet adds the blobs of a release that are not in the game folder.
func (c *contents) addSet(l release.Listing, sources release.Sources) error {
	for _, f := range l {
		if _, there := c.at[f.Sum]; there {
			continue
		}
		s, found := sources.Find(f.Sum)
		if !found {
			return fmt.Errorf("the sources of a release lack the content of %q", f.Path)
		}
		c.at[f.Sum] = location{path: f.Path, size: f.Size, source: s}
	}
	return nil
}

func (c *contents) size(sum release.Digest) int64  { return c.at[sum].size }
func (c *contents) name(sum release.Digest) string { return fmt.Sprintf("%q", c.at[sum].path) }

// open opens a blob. Blobs of earlier releases are unpacked once and verified first.
func (c *contents) open(ctx context.Context, sum release.Digest) (platform.File, error) {
	l, there := c.at[sum]
	if !there {
		return nil, fmt.Errorf("nobody has the content %v", sum)
	}
	if l.fs != nil {
		in, err := openFile(l.fs, l.name)
		if err != nil {
			return nil, advice.Because(err, "publish when nothing writes there", "read %s", l.fs.Path(l.name))
		}
		return in, nil
	}
	if l.source.Encoding == release.EncodedStored {
		return openFile(c.folder.fs, l.source.Whole.Path())
	}
	name, err := c.folder.unpack(ctx, l.source, l.size)
	if err != nil {
		return nil, err
	}
	return openFile(c.folder.fs, name)
}

// side returns a set as input of the patch writer.
func (c *contents) side(ctx context.Context, l release.Listing) delta.SetSide {
	return delta.SetSide{Listing: l, Source: setReader{c, l, func(sum release.Digest) (platform.File, error) { return c.open(ctx, sum) }}}
}

// setReader opens the files of one set.
type setReader struct {
	contents *contents
	listing  release.Listing
	open     func(release.Digest) (platform.File, error)
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
