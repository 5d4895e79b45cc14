package delta

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"collet/netproto/release"
)

// The changes of a release are a delta index for clients with an older listing and no set patch. One object has everything
// that the listing and the list of sources say about recently changed files, the newest changes first. A client reads a
// prefix whose length depends on its listing. So one object serves every older release, and the head need not name any.
//
//	magic   "CC" 1
//	steps   their number
//	step*   from: first 8 bytes of the SHA-256 of an older listing; size of its block. The newest first
//	block*  in this order: the state of the files that changed after that listing, without those of earlier blocks;
//	        0 bytes if there are none
//
// Numbers are unsigned LEB128. A block is:
//
//	coded   size of the encoded body<<1, plus 1 if it is compressed with brotli
//	raw     size of the body, if it is compressed
//	body    size of the ops; op*; text
//	sums    32 bytes each, in the order of their use by ops
//
//	op      kind, 1 byte: 1 the file is removed, and only its path follows · use<<1 · 8 it is a program ·
//	          encoding<<4: 0 stored, 1 zstd, 2 brotli, 3 it has a content of an earlier op · 64 there is a chunk index
//	        path: bytes shared with the path of the op before; number of further bytes, which are in text
//	        content, of encoding 3: how many contents of ops with another encoding ago (0: the last one). Else its size,
//	          and its digest from sums; unless it is stored, size of the whole object, and its digest from sums; if there
//	          is an index, how many objects with indexes ago (1: the last new one), or 0 for a new one, its size and its
//	          digest from sums; then the entry
//
// Paths are sorted within a block, and each path is in one block only. A block describes the state in the new release,
// regardless of intermediate ones, so an encoder takes only paths from older changes.
const (
	changesMagic = "CC\x01"
	// MaxChangeSteps is the largest number of older listings: a release a week for ten years.
	MaxChangeSteps = 512
	// MaxChangesTable is the size of the largest table in bytes, including the magic.
	MaxChangesTable = len(changesMagic) + 2 + MaxChangeSteps*(len(ChangeMark{})+4)
	// maxChangesRaw is the decoded size of all bodies of one object in bytes: contents and paths at the size of release.MaxChanges.
	maxChangesRaw = 24 << 20
)

const (
	changeGone  = 1
	changeRuns  = 8
	changeIndex = 64
	// changeAgain is the encoding of a content that an earlier op of the block already has.
	changeAgain = 3
)

// changeEncodings is the order of encodings in a block. It never changes.
func changeEncodings() []release.Encoding {
	return []release.Encoding{release.EncodedStored, release.EncodedZstd, release.EncodedBrotli}
}

// ChangeMark distinguishes the listings of a product: the beginning of the digest. A result based on it is verified with a whole digest.
type ChangeMark [8]byte

// MarkOf returns the mark of the listing with this digest.
func MarkOf(listing release.Digest) (m ChangeMark) {
	sum, _ := listing.SHA256()
	copy(m[:], sum[:])
	return m
}

// ChangeStep is the changes since one older listing.
type ChangeStep struct {
	From  ChangeMark
	Paths []string // of added, changed or removed files, sorted
}

// ChangedPaths returns the paths that differ between two listings, sorted.
func ChangedPaths(old, fresh release.Listing) (paths []string) {
	for len(old) > 0 || len(fresh) > 0 {
		switch {
		case len(fresh) == 0 || len(old) > 0 && old[0].Path < fresh[0].Path:
			paths, old = append(paths, old[0].Path), old[1:]
		case len(old) == 0 || fresh[0].Path < old[0].Path:
			paths, fresh = append(paths, fresh[0].Path), fresh[1:]
		default:
			if old[0] != fresh[0] {
				paths = append(paths, fresh[0].Path)
			}
			old, fresh = old[1:], fresh[1:]
		}
	}
	return paths
}

// Changes is the parsed table of such an object. It is read-only.
type Changes struct {
	steps []changeBlock
	begin int64 // of the first block
}

// changeBlock is one step of the table.
type changeBlock struct {
	from ChangeMark
	size int64
}

// ReadChangesTable parses the table from the first bytes of the object: MaxChangesTable of them, or all. A malformed
// table is a *release.FormatError.
func ReadChangesTable(data []byte) (*Changes, error) {
	if !bytes.HasPrefix(data, []byte(changesMagic)) {
		return nil, changesFault(0, "is no list of changes")
	}
	in := &numberParser{b: data[len(changesMagic):]}
	count := in.number("number of older listings", MaxChangeSteps)
	c := &Changes{}
	left := int64(release.MaxChanges)
	for range count {
		var b changeBlock
		copy(b.from[:], in.bytes(int64(len(b.from))))
		b.size = in.number("size of a block", left)
		left -= b.size
		if in.err != nil {
			break
		}
		c.steps = append(c.steps, b)
	}
	c.begin = int64(len(data) - len(in.b))
	switch {
	case in.err != nil:
		return nil, changesFault(len(data)-len(in.b), "%v", in.err)
	case count == 0:
		return nil, changesFault(int(c.begin), "is for no older listing")
	}
	return c, nil
}

func changesFault(at int, format string, values ...any) error {
	return &release.FormatError{Document: "changes", Offset: at, Reason: fmt.Sprintf(format, values...)}
}

// Reach is how many bytes from the beginning of the object a client needs that has the listing with this digest; 0 if
// the object does not cover that listing.
func (c *Changes) Reach(from release.Digest) int64 {
	if i := c.step(from); i >= 0 {
		return c.end(i)
	}
	return 0
}

// step is the newest step of a listing, or -1.
func (c *Changes) step(from release.Digest) int {
	mark := MarkOf(from)
	return slices.IndexFunc(c.steps, func(b changeBlock) bool { return b.from == mark && from.Algorithm == release.SHA256 })
}

// end is the end of a step's block.
func (c *Changes) end(step int) int64 {
	end := c.begin
	for _, b := range c.steps[:step+1] {
		end += b.size
	}
	return end
}

// Apply turns an older listing with its digest into the listing with the digest to, which a verified head names. It also returns
// the sources of the new contents. data is the beginning of the object, at least Reach bytes, and need not be authenticated: the
// listing is right, or the error is a *release.FormatError. The sources may be false, like those of any other mirror.
func (c *Changes) Apply(data []byte, old release.Listing, from, to release.Digest) (release.Listing, release.Sources, error) {
	step := c.step(from)
	if step < 0 || int64(len(data)) < c.end(step) {
		return nil, nil, fmt.Errorf("changes are not for the listing %v, or less than %d bytes came", from, c.Reach(from))
	}
	r, err := c.read(data, step+1)
	if err != nil {
		return nil, nil, err
	}
	list := make([]release.ListedFile, 0, len(old)+len(r.files))
	for _, f := range old {
		if !r.named[f.Path] {
			list = append(list, f)
		}
	}
	fresh := release.NewListing(append(list, r.files...))
	sum, err := fresh.Digest()
	if err != nil || sum != to {
		return nil, nil, changesFault(int(c.end(step)), "lead to another listing than %v", to)
	}
	return fresh, r.sources(), nil
}

// Steps returns the changed paths of the whole object, for encoding the next one.
func (c *Changes) Steps(object []byte) ([]ChangeStep, error) {
	if int64(len(object)) != c.end(len(c.steps)-1) {
		return nil, changesFault(len(object), "have %d bytes by their table", c.end(len(c.steps)-1))
	}
	var steps []ChangeStep
	r := newChangesReader()
	for i, b := range c.steps {
		before := len(r.paths)
		if err := r.readBlock(object, c.end(i)-b.size, c.end(i)); err != nil {
			return nil, err
		}
		steps = append(steps, ChangeStep{b.from, slices.Clone(r.paths[before:])})
	}
	return steps, nil
}

// read decodes the first blocks.
func (c *Changes) read(data []byte, blocks int) (*changesReader, error) {
	r := newChangesReader()
	for i, b := range c.steps[:blocks] {
		if err := r.readBlock(data, c.end(i)-b.size, c.end(i)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// EncodeChanges encodes the changes of a release from steps, the newest first. A path belongs to the first step that has
// it. Sources must have all needed contents of to. The oldest steps are dropped if the object would exceed limit bytes,
// or MaxChangeSteps; nil is returned if not even the first step fits.
func EncodeChanges(steps []ChangeStep, to release.Listing, sources release.Sources, limit int64) ([]byte, error) {
	limit = min(limit, release.MaxChanges)
	named := map[string]bool{}
	var table, blocks []byte
	count := uint64(0)
	for _, s := range steps[:min(len(steps), MaxChangeSteps)] {
		var paths []string
		for _, p := range s.Paths {
			if !named[p] {
				named[p] = true
				paths = append(paths, p)
			}
		}
		slices.Sort(paths)
		block, err := changesBlock(paths, to, sources)
		if err != nil {
			return nil, fmt.Errorf("write changes: %w", err)
		}
		more := binary.AppendUvarint(append(slices.Clone(table), s.From[:]...), uint64(len(block)))
		if int64(len(changesMagic)+2+len(more)+len(blocks)+len(block)) > limit || len(named) > release.MaxSet {
			break
		}
		table, blocks, count = more, append(blocks, block...), count+1
	}
	if count == 0 {
		return nil, nil
	}
	return append(append(binary.AppendUvarint([]byte(changesMagic), count), table...), blocks...), nil
}

// sources returns the decoded sources, each content once.
func (r *changesReader) sources() release.Sources {
	list := release.NewSources(r.from)
	return slices.CompactFunc(list, func(a, b release.Source) bool { return a.Content == b.Content })
}
