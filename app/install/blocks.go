package install

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"collet/netproto/release"
	"collet/platform"
	"collet/platform/span"
)

// This file is about repair. The checksums of the blocks of every large verified file are kept, so that damaged blocks can
// be told from intact ones. They only save traffic. A file is accepted only if its whole digest matches, and missing,
// damaged or wrong checksums cost a larger download.

const (
	// blockSize is the unit of repair, in bytes. 1 MiB is the most that one request transfers: a flipped bit costs one
	// request, and a pack of 4 GiB needs a list of 16 KiB.
	blockSize = 1 << 20
	// sumSize is the size of a block's CRC-32C. It only has to detect accidental damage, because the whole digest decides.
	// It costs a tenth of a digest.
	sumSize = crc32.Size
	// maxBlocks is the largest list of checksums that is kept, in bytes; it serves a file of 1 TiB.
	maxBlocks = 4 << 20
)

const (
	// blocksDir holds the block checksums, one file for each digest; inside Names.Cache.
	blocksDir = "blocks"
	// blocksHeader begins such a file; a file with another header has another layout and counts as missing.
	blocksHeader = "collet blocks 2"
)

// blockSums are the concatenated checksums of the blocks of one file.
type blockSums []byte

// at is the checksum of block i, or nil if it is out of range.
func (s blockSums) at(i int64) []byte {
	if i < 0 || (i+1)*sumSize > int64(len(s)) {
		return nil
	}
	return s[i*sumSize : (i+1)*sumSize]
}

// blockHash computes the block checksums of the bytes written to it, up to a limit. A nil one does nothing.
type blockHash struct {
	sum    uint32 // of the current block
	left   int64  // bytes to the limit
	filled int    // bytes of the current block
	sums   blockSums
}

// newBlockHash returns a blockHash for a file of this size, or nil if blocks save nothing or the file is too large.
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
			b.sums, b.filled, b.sum = b.checksums(), 0, 0
		}
	}
	return n, nil
}

// checksums are the checksums so far, including the one of a partial block.
func (b *blockHash) checksums() blockSums {
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

// blockStore holds the block checksums of verified files, one file for each digest. It is the only writer of its folder.
// Losing it only costs traffic, so its errors are logged and not returned.
type blockStore struct {
	fs     platform.FS
	folder string
	log    zerolog.Logger

	offered []release.File // of the last plan: their checksums are kept; nil before
	partial bool           // only an offer names all needed files, because some are in a base
}

func newBlockStore(fsys platform.FS, cache string, partial bool, log zerolog.Logger) *blockStore {
	return &blockStore{fs: fsys, folder: path.Join(cache, blocksDir), partial: partial, log: log}
}

// name is the name of the checksum file for this digest.
func (s *blockStore) name(digest release.Digest) string {
	_, digits, _ := strings.Cut(digest.String(), ":")
	return path.Join(s.folder, digits)
}

// blocksTitle is the first line of such a file.
func blocksTitle(digest release.Digest, size int64, sums blockSums) string {
	return fmt.Sprintf("%s %s %d %d %08x", blocksHeader, digest, size, blockSize, crc32.Checksum(sums, castagnoli))
}

// load reads the checksums of a file; it returns nil if they are invalid.
func (s *blockStore) load(digest release.Digest, size int64) blockSums {
	data, err := platform.ReadFile(s.fs, s.name(digest), maxBlocks+1024)
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

// save saves the checksums of an intact file. They are not synced: a torn list counts as missing.
func (s *blockStore) save(digest release.Digest, size int64, sums blockSums) {
	if sums == nil || slices.Equal(s.load(digest, size), sums) {
		return
	}
	name := s.name(digest)
	err := s.fs.MkdirAll(path.Dir(name), 0o755)
	if err == nil {
		err = platform.WriteHint(s.fs, name, append([]byte(blocksTitle(digest, size, sums)+"\n"), sums...))
	}
	if err != nil {
		s.log.Debug().Err(err).Msg("sums of blocks not kept")
	}
}

// drop removes checksums that turned out to be wrong.
func (s *blockStore) drop(digest release.Digest) {
	if err := platform.RemoveIfThere(s.fs, s.name(digest)); err != nil {
		s.log.Debug().Err(err).Msg("sums of blocks not removed")
	}
}

// prune removes the checksums of files that no set needs any more. Only an offer names the files of a base, so without an
// offer the checksums of an install with a base stay.
func (s *blockStore) prune(l lists) {
	if s.partial && s.offered == nil {
		return
	}
	needed := map[string]bool{}
	for _, f := range s.offered {
		needed[s.name(f.Digest)] = true
	}
	for _, e := range slices.Concat(l.Set, l.Files, l.Parts, l.Adopted) {
		needed[s.name(e.Digest)] = true
	}
	for _, u := range l.Undo {
		needed[s.name(u.Digest)] = true
	}
	entries, err := s.fs.ReadDir(s.folder)
	for _, e := range entries {
		if name := path.Join(s.folder, e.Name()); !needed[name] {
			err = errors.Join(err, platform.RemoveIfThere(s.fs, name))
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Debug().Err(err).Msg("old sums of blocks not removed")
	}
}

// salvage describes the intact blocks of a damaged file.
type salvage struct {
	from platform.FS // of the intact file
	sums blockSums   // of the file as it should be
	bad  span.Set[int64]
}

// damaged lists the blocks whose checksums differ, for a file of this size.
func damaged(known, actual blockSums, size int64) (bad span.Set[int64]) {
	for i := int64(0); i*blockSize < size; i++ {
		if !bytes.Equal(known.at(i), actual.at(i)) {
			bad.Add(span.Of(i*blockSize, min((i+1)*blockSize, size)))
		}
	}
	return bad
}
