package delta

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/andybalholm/brotli"
	"github.com/minio/sha256-simd"

	"collet/netproto/chunk"
	"collet/netproto/release"
)

// SetPatchOptions tune MakeSetPatch. The zero value is right for a publisher.
type SetPatchOptions struct {
	// Workers is how many cores to use; 0 means all.
	Workers int
	// MaxMemory is the memory limit in bytes; 0 means DefaultPatchMemory. Larger contents are first compared block by
	// block, and carried whole if even the rest is too large.
	MaxMemory int64
	// MaxBytes is the size of the largest useful patch in bytes; 0 means no limit. Beyond it the error is ErrPatchTooLarge.
	MaxBytes int64
	// LongResource is the size in bytes from which a resource is compared block by block; 0 means DefaultLongResource.
	LongResource int64
	// Sums makes the patch carry the digests of new contents even if it is small enough to omit them.
	Sums bool
	// Group is the largest number of new bytes in one group; 0 means DefaultGroup.
	Group int64
	// Progress, if not nil, is called from one goroutine at a time with the completed and total bytes of new contents.
	Progress func(done, total int64)
}

const (
	// DefaultPatchMemory is 1.5 GiB: patches of modules of 110 MB, on a small studio's machine.
	DefaultPatchMemory = 1536 << 20
	// DefaultLongResource is 128 MiB. Matching a smaller pack as a whole gains a percent, and a patch of a larger one takes minutes.
	DefaultLongResource = 128 << 20
	// DefaultGroup is 64 MiB: larger groups gain little, and cost the publisher memory.
	DefaultGroup = 64 << 20
)

// ErrPatchTooLarge says that a patch would exceed SetPatchOptions.MaxBytes or a cap.
var ErrPatchTooLarge = errors.New("the patch exceeds its size limit")

// SetPatchStats describes a set patch.
type SetPatchStats struct {
	Bytes    int64 // of the patch
	Contents int   // new contents
	Fresh    int64 // their bytes
	Read     int64 // bytes of old files that it refers to
	Groups   int

	// Alien are the new contents that share less than a twentieth of their bytes with old ones. A patch can't make them smaller.
	Alien []release.Digest
}

// alienShare is the divisor of a content's size up to which shared bytes don't count: short sequences recur in all texts.
const alienShare = 20

// noteShared adds the contents of a group to Alien whose shared bytes are too few. patched counts them in the part that the
// group encodes, for each content.
func (m *setMaker) noteShared(g int, news []New, patched []int64) {
	for member, c := range m.delta.members(g) {
		fresh := m.delta.fresh[c]
		shared := fresh.size - news[member].Size // what a long content copies
		if patched != nil {
			shared += patched[member]
		}
		if shared < fresh.size/alienShare {
			m.stats.Alien = append(m.stats.Alien, fresh.sum)
		}
	}
}

// MakeSetPatch writes a patch that turns the set old into the set fresh. Its memory is that of its options. Its time is
// proportional to the new contents: brotli at its best takes a second for a megabyte. It stops soon after ctx ends.
// Errors are those of ctx, of the sources and of out, and ErrPatchTooLarge.
func MakeSetPatch(ctx context.Context, out io.Writer, old, fresh SetSide, o SetPatchOptions) (stats SetPatchStats, err error) {
	m, err := newSetMaker(out, old, fresh, o)
	if err != nil {
		return SetPatchStats{}, err
	}
	defer func() { err = errors.Join(err, m.olds.close(), m.news.close()) }()
	if err := m.planGroups(ctx); err != nil {
		return SetPatchStats{}, err
	}
	if o.Sums || slices.ContainsFunc(m.delta.fresh, m.isHost) || m.stats.Contents == 0 || m.stats.Fresh > MaxComputed {
		err := m.writeHeader(formSums)
		if err == nil {
			err = m.writeGroups(ctx)
		}
		return m.stats, err
	}
	err = m.writeSmall(ctx)
	return m.stats, err
}

// writeGroups writes all groups.
func (m *setMaker) writeGroups(ctx context.Context) error {
	for g := range m.delta.groups {
		if err := m.writeGroup(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// computedGain is the smallest fraction of a patch that the digests must be to be omitted: a hundredth. Without them a
// client writes all contents twice.
const computedGain = 100

// writeSmall writes a patch that may omit the digests, if it is small enough.
func (m *setMaker) writeSmall(ctx context.Context) error {
	var groups bytes.Buffer
	out := m.out
	m.out = &groups
	err := m.writeGroups(ctx)
	if m.out = out; err != nil {
		return err
	}
	form, size := byte(formComputed), len(m.listings.encode())+groups.Len()
	if size > MaxComputedPatch || m.stats.Contents*sha256.Size*computedGain < size {
		form = formSums
	}
	if err := m.writeHeader(form); err != nil {
		return err
	}
	_, err = m.out.Write(groups.Bytes())
	return err
}

// setMaker is the state of one MakeSetPatch.
type setMaker struct {
	out        io.Writer
	old, fresh SetSide
	options    SetPatchOptions
	olds, news *setFiles
	listings   *deltaWriter
	delta      *setDelta
	stats      SetPatchStats
	done       int64
}

func newSetMaker(out io.Writer, old, fresh SetSide, o SetPatchOptions) (*setMaker, error) {
	m := &setMaker{out: out, old: old, fresh: fresh, options: o, olds: newSetFiles(old.Source), news: newSetFiles(fresh.Source)}
	if m.options.MaxMemory == 0 {
		m.options.MaxMemory = DefaultPatchMemory
	}
	if m.options.LongResource == 0 {
		m.options.LongResource = DefaultLongResource
	}
	if m.options.Group == 0 {
		m.options.Group = DefaultGroup
	}
	if m.options.Progress == nil {
		m.options.Progress = func(int64, int64) {}
	}
	for _, l := range []release.Listing{old.Listing, fresh.Listing} {
		if _, err := l.Digest(); err != nil {
			return nil, err
		}
	}
	m.listings = compareListings(old.Listing, fresh.Listing)
	m.delta = m.listings.delta
	for _, c := range m.delta.fresh {
		m.stats.Contents++
		m.stats.Fresh += c.size
	}
	return m, nil
}

// write counts and writes bytes.
func (m *setMaker) write(b []byte) error {
	m.stats.Bytes += int64(len(b))
	if m.options.MaxBytes > 0 && m.stats.Bytes > m.options.MaxBytes {
		return ErrPatchTooLarge
	}
	_, err := m.out.Write(b)
	return err
}

// writeHeader writes everything before the groups.
func (m *setMaker) writeHeader(form byte) error {
	raw := m.listings.encode()
	if len(raw) > MaxSetDelta {
		return fmt.Errorf("write set patch: the delta has %d bytes, more than %d: %w", len(raw), MaxSetDelta, ErrPatchTooLarge)
	}
	b := codeDelta(append([]byte(setPatchMagic), form), raw, brotli.BestCompression)
	if form == formSums {
		for _, c := range m.delta.stream() {
			sum, _ := m.delta.fresh[c].sum.SHA256()
			b = append(b, sum[:]...)
		}
	}
	m.stats.Groups = len(m.delta.groups)
	return m.write(b)
}

// groupContent is the part of a content that a group encodes.
func (m *setMaker) groupContent(g, member int) New {
	group, c := &m.delta.groups[g], m.delta.fresh[m.delta.members(g)[member]]
	n := New{ReaderAt: m.news.reader(c.file), Size: c.size, Name: c.path}
	if l := group.long(member); l != nil {
		rest := newParts(n.ReaderAt, l.newLeft(c.size))
		n.ReaderAt, n.Size = rest, rest.size()
	}
	return n
}

// writeGroup writes one group.
func (m *setMaker) writeGroup(ctx context.Context, g int) error {
	var news []New
	bytes, total := int64(0), m.stats.Fresh
	for member := range m.delta.groups[g].count {
		news = append(news, m.groupContent(g, member))
		bytes += m.delta.fresh[m.delta.members(g)[member]].size
	}
	report := func(part float64) { m.options.Progress(m.done+int64(part*float64(bytes)), total) }
	var err error
	if m.delta.groups[g].whole {
		err = m.writeWholeGroup(ctx, g, news)
	} else {
		err = m.writePatchGroup(ctx, g, news, report)
	}
	m.done += bytes
	report(0)
	return err
}

// writePatchGroup writes a group as one patch.
func (m *setMaker) writePatchGroup(ctx context.Context, g int, news []New, report func(float64)) error {
	olds := setOlds(m.delta, g, m.old.Listing, m.olds)
	for _, o := range olds {
		m.stats.Read += o.Size
	}
	var patch bytes.Buffer
	made, err := MakePatch(ctx, &patch, olds, news, PatchOptions{Workers: m.options.Workers, Progress: report})
	if err != nil {
		return err
	}
	m.noteShared(g, news, made.Matched)
	sizes := make([]int64, len(news))
	for i, n := range news {
		sizes[i] = n.Size
	}
	body, known := bytes.CutPrefix(patch.Bytes(), patchHeader(olds, sizes))
	if !known {
		panic("delta: internal error: a patch does not begin as patches do")
	}
	var size []byte
	if g < len(m.delta.groups)-1 {
		size = binary.AppendUvarint(nil, uint64(len(body)))
	}
	return m.write(append(size, body...))
}

// writeWholeGroup writes a group as compressed whole objects.
func (m *setMaker) writeWholeGroup(ctx context.Context, g int, news []New) error {
	var readers []io.Reader
	left := int64(0)
	for _, n := range news {
		readers = append(readers, io.NewSectionReader(n.ReaderAt, 0, n.Size))
		left += n.Size
	}
	m.noteShared(g, news, nil)
	all := io.MultiReader(readers...)
	for left > 0 {
		piece := make([]byte, min(left, wholePiece))
		if _, err := io.ReadFull(all, piece); err != nil {
			return fmt.Errorf("of the new contents: %w", err)
		}
		var object memoryFile
		encoding, _, err := chunk.PackObject(ctx, &object, bytes.NewReader(piece), int64(len(piece)), chunk.PackObjectOptions{MaxBrotli: -1})
		if err != nil {
			return err
		}
		b := binary.AppendUvarint([]byte{byte(encoding)}, uint64(len(object.b)))
		if err := m.write(append(b, object.b...)); err != nil {
			return err
		}
		left -= int64(len(piece))
	}
	return nil
}

// memoryFile is a chunk.ObjectFile in memory. It is only written at its end, or truncated to nothing first.
type memoryFile struct{ b []byte }

// Write implements io.Writer.
func (f *memoryFile) Write(b []byte) (int, error) {
	f.b = append(f.b, b...)
	return len(b), nil
}

// Seek implements io.Seeker for the two used positions.
func (f *memoryFile) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekStart {
		return 0, errors.ErrUnsupported
	}
	return 0, nil
}

// Truncate implements chunk.ObjectFile.
func (f *memoryFile) Truncate(size int64) error {
	f.b = f.b[:size]
	return nil
}
