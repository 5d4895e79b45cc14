package install

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
	"collet/platform/span"
)

// This file is about mending: of every large file that was once whole, the sums of its blocks are kept, so that damage can
// be told apart from what is still good. Sums are only ever a saving. A file is believed when its whole digest fits, and a
// list of sums that is missing, damaged or wrong costs a larger download.

const (
	// blockSize is the unit of mending, in bytes. Damage is a sector or a torn page, or half of the file; with 1 MiB, the
	// most that one request brings, a flipped bit costs one request, and a pack of 4 GiB a list of 16 KiB.
	blockSize = 1 << 20
	// sumSize is the size of a block's CRC-32C. It tells damage from luck, and nobody has to be fooled: the whole digest has
	// the last word. It costs a tenth of a digest.
	sumSize = crc32.Size
	// maxBlocks is the largest list of sums that is kept, in bytes: a file of 1 TiB.
	maxBlocks = 4 << 20
	// apart is from how many bytes on it pays to hash them on another processor while they are written.
	apart = 64 << 10
)

const (
	// blocksDir holds the sums of blocks, one file for each digest; inside Names.Cache.
	blocksDir = "blocks"
	// blocksHeader begins such a file; another one means another layout, and the file counts as absent.
	blocksHeader = "collet blocks 2"
)

// blockSums are the sums of the blocks of one file, one behind the other.
type blockSums []byte

// at is the sum of block i, nil where there is none.
func (s blockSums) at(i int64) []byte {
	if i < 0 || (i+1)*sumSize > int64(len(s)) {
		return nil
	}
	return s[i*sumSize : (i+1)*sumSize]
}

// blockHash sums the blocks of bytes that run through it, up to a limit. A nil one does nothing.
type blockHash struct {
	sum    uint32 // of the block under way
	left   int64  // bytes to the limit
	filled int    // bytes of the block under way
	sums   blockSums
}

// newBlockHash is for a file of this size, nil where blocks would gain nothing.
func newBlockHash(size int64) *blockHash {
	if size <= blockSize || size > maxBlocks/sumSize*blockSize {
		return nil
	}
	return &blockHash{left: size}
}

// Write implements io.Writer.
func (b *blockHash) Write(p []byte) (n int, err error) {
	n = len(p)
	if b == nil {
		return n, nil
	}
	p = p[:min(int64(len(p)), b.left)]
	b.left -= int64(len(p))
	for len(p) > 0 {
		n := min(len(p), blockSize-b.filled)
		b.sum = crc32.Update(b.sum, castagnoli, p[:n])
		if b.filled, p = b.filled+n, p[n:]; b.filled == blockSize {
			b.sums, b.filled, b.sum = b.all(), 0, 0
		}
	}
	return n, nil
}

// all are the sums so far, that of a block under way included.
func (b *blockHash) all() blockSums {
	if b == nil {
		return nil
	}
	if b.filled == 0 {
		return b.sums
	}
	return binary.LittleEndian.AppendUint32(b.sums, b.sum)
}

// bothHashes hashes a file as a whole and in blocks.
type bothHashes struct {
	hash   hash.Hash
	blocks *blockHash
}

// Write implements io.Writer.
func (h bothHashes) Write(p []byte) (int, error) {
	_, _ = h.blocks.Write(p)
	return h.hash.Write(p)
}

// blocksName is where the sums of a file with this digest lie.
func (d *Dir) blocksName(digest release.Digest) string {
	_, digits, _ := strings.Cut(digest.String(), ":")
	return path.Join(d.cfg.Names.Cache, blocksDir, digits)
}

// blocksTitle is the first line of such a file.
func blocksTitle(digest release.Digest, size int64, sums blockSums) string {
	return fmt.Sprintf("%s %s %d %d %08x", blocksHeader, digest, size, blockSize, crc32.Checksum(sums, castagnoli))
}

// loadBlocks reads the sums of a file; anything wrong with them is nil.
func (d *Dir) loadBlocks(digest release.Digest, size int64) blockSums {
	data, err := platform.ReadFile(d.fs, d.blocksName(digest), maxBlocks+1024)
	if err != nil {
		return nil
	}
	title, body, _ := bytes.Cut(data, []byte("\n"))
	sums := blockSums(body)
	if string(title) != blocksTitle(digest, size, sums) || int64(len(sums)) != (size+blockSize-1)/blockSize*sumSize {
		return nil
	}
	return sums
}

// keepBlocks keeps the sums of a file that was found whole. They are not synced: a torn list counts as absent.
func (d *Dir) keepBlocks(digest release.Digest, size int64, sums blockSums) {
	if sums == nil || slices.Equal(d.loadBlocks(digest, size), sums) {
		return
	}
	name := d.blocksName(digest)
	err := d.fs.MkdirAll(path.Dir(name), 0o755)
	if err == nil {
		err = d.replaceUnsynced(name, append([]byte(blocksTitle(digest, size, sums)+"\n"), sums...))
	}
	if err != nil {
		d.log.Debug().Err(err).Msg("sums of blocks not kept")
	}
}

// replaceUnsynced replaces a file of which nothing depends on whether it outlives a power cut.
func (d *Dir) replaceUnsynced(name string, data []byte) error {
	f, err := d.fs.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.fs.Rename(name+".new", name)
	}
	if err != nil {
		err = errors.Join(err, removeIfThere(d.fs, name+".new"))
	}
	return err
}

// dropBlocks forgets sums that did not keep their word.
func (d *Dir) dropBlocks(digest release.Digest) {
	if err := removeIfThere(d.fs, d.blocksName(digest)); err != nil {
		d.log.Debug().Err(err).Msg("sums of blocks not removed")
	}
}

// pruneBlocks removes the sums of files that no set has any more: there are never more lists than files that matter. Which
// files of a base do, only the offer tells.
func (d *Dir) pruneBlocks() {
	if d.cfg.Base != nil && d.offered == nil {
		return
	}
	l, needed := d.journal.lists, map[string]bool{}
	for _, f := range d.offered {
		needed[path.Base(d.blocksName(f.Digest))] = true
	}
	for _, e := range slices.Concat(l.Set, l.Files, l.Parts, l.Adopted) {
		needed[path.Base(d.blocksName(e.Digest))] = true
	}
	for _, u := range l.Undo {
		needed[path.Base(d.blocksName(u.Digest))] = true
	}
	folder := path.Join(d.cfg.Names.Cache, blocksDir)
	entries, err := d.fs.ReadDir(folder)
	for _, e := range entries {
		if !needed[e.Name()] {
			err = errors.Join(err, removeIfThere(d.fs, path.Join(folder, e.Name())))
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Debug().Err(err).Msg("old sums of blocks not removed")
	}
}

// salvage is what is good of a file that is not, as a whole, what it should be.
type salvage struct {
	from platform.FS // holds the file, under its live name
	sums blockSums   // of the file as it should be
	bad  span.Set[int64]
}

// salvage compares what a file holds with what is known of its blocks. size is what the file has, and held are its sums if
// it was read a moment ago, nil otherwise. The answer is nil where nothing can be saved.
func (d *Dir) salvage(ctx context.Context, from platform.FS, e entry, size int64, held blockSums, progress func(done int64)) (*salvage, error) {
	known := d.loadBlocks(e.Digest, e.Size)
	if known == nil {
		return nil, nil
	}
	if held == nil {
		b := newBlockHash(e.Size)
		if err := d.readFrom(ctx, from, e.Live, b, progress); err != nil {
			return nil, err
		}
		held = b.all()
	}
	bad := damaged(known, held, e.Size)
	if len(bad) == 0 && size == e.Size {
		d.log.Warn().Str("file", e.Live).Msg("the sums of its blocks are wrong; the file is fetched as a whole")
		d.dropBlocks(e.Digest)
		return nil, nil
	}
	if len(bad) == 1 && bad[0] == (update.Range{End: e.Size}) {
		return nil, nil
	}
	return &salvage{from: from, sums: known, bad: bad}, nil
}

// damaged lists where the blocks of a file of this size are not what they should be.
func damaged(known, held blockSums, size int64) (bad span.Set[int64]) {
	for i := int64(0); i*blockSize < size; i++ {
		if !bytes.Equal(known.at(i), held.at(i)) {
			bad.Add(span.Of(i*blockSize, min((i+1)*blockSize, size)))
		}
	}
	return bad
}
