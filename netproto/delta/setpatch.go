package delta

import (
	"fmt"
	"io"

	"collet/netproto/release"
)

// A set patch turns one set into another. The publisher makes one object for each pair of sets. The format (numbers are
// unsigned LEB128; signed ones are zigzag: 0, −1, 1, −2, …):
//
//	magic    "CS"
//	form     1 byte: 1 the sums are included, 2 they are to be computed
//	coded    size of the encoded delta<<1, plus 1 if it is compressed with brotli
//	raw      size of the delta, if it is compressed
//	delta    see setpatch_delta.go
//	sums     of form 1: SHA-256 of each new content, in the order of the stream
//	group*   for each group of the delta its bytes
//
// The stream is the concatenation of all new contents, ordered by the extension of their file and its path. A group is a
// number of consecutive contents. Its bytes are either the size of a patch and the patch (docs/RELEASE-FORMAT.md,
// "Patch") from its first frame on; or, if the group is whole, for every 64 MiB of it and for the rest: the encoding (1
// byte), the size, and the whole object. A patch at the end has no size. The set patch does not name its two listings.
// The head names them and authenticates these bytes, and another old listing gives another new one.
const (
	setPatchMagic = "CS"
	formSums      = 1
	formComputed  = 2
	// wholePiece is how many bytes of a whole group are in one object: 64 MiB, which the publisher makes in memory.
	wholePiece = 64 << 20
)

// Caps of a receiver. A publisher respects them.
const (
	// MaxSetDelta is the size of the largest delta in bytes: release.MaxSet new paths of a hundred bytes. It is held in memory.
	MaxSetDelta = 24 << 20
	// maxSetGroups is the largest number of groups in a set patch: 64 MiB each, a terabyte.
	maxSetGroups = 1 << 14
	// maxCopies is the largest number of copies in all long contents of a set patch: 24 bytes of memory each, 12 MiB.
	maxCopies = 1 << 19
)

// SetSource opens files of one set, by their index in its listing. It may be called from several goroutines; each result
// is used by one goroutine at a time.
type SetSource interface {
	Open(file int) (SetFile, error)
}

// SetFile is one open file of a set. The function that opened it closes it.
type SetFile interface {
	io.ReaderAt
	io.Closer
}

// SetSide is one set, for MakeSetPatch.
type SetSide struct {
	Listing release.Listing
	Source  SetSource
}

// SetSink receives the new contents while a set patch is applied, sequentially in the order of SetPatch.Contents.
type SetSink interface {
	// Begin returns the destination of the content, which is written once and sequentially.
	Begin(content int) (io.Writer, error)
	// End follows when the whole content was written and its SHA-256 was right. Without it the content is useless.
	End(content int) error
}

// SetContent is a new content in a set patch. Every file of the new listing with this digest has it.
type SetContent struct {
	Sum  release.Digest // zero until HasListing
	Size int64
	Path string      // of the first file that has it
	Use  release.Use // of that file
}

// ContentError says that a content of a set patch has a wrong digest: either the patch is wrong, or an old file differs
// from the old listing.
type ContentError struct {
	Path string // of a file that has the content
	Want release.Digest
}

func (e *ContentError) Error() string {
	return fmt.Sprintf("content of %q does not come out as %v: an old file or the patch is damaged; fetch it another way", e.Path, e.Want)
}

// SetPatch is a set patch with a decoded delta, before it is applied. The new listing is known then, or at least the
// sizes in it: see HasListing. It belongs to one goroutine.
type SetPatch struct {
	r          *input
	old        release.Listing
	to         release.Digest
	listing    release.Listing
	delta      *setDelta
	hasListing bool
	applied    bool
}

// OpenSetPatch reads the beginning of a set patch for the set old. It checks that the result is the listing with the
// digest to, which a verified head names, if the patch carries digests. Another result or a malformed patch is a
// *release.FormatError; an error of the reader is returned unchanged. It holds the delta in memory, at most MaxSetDelta,
// beside both listings.
func OpenSetPatch(patch io.Reader, old release.Listing, to release.Digest) (*SetPatch, error) {
	p := &SetPatch{r: newSetInput(patch), old: old, to: to}
	err := p.readHeader()
	if err == nil && p.hasListing {
		err = p.verifyListing()
	}
	if err != nil {
		return nil, p.r.fault(err)
	}
	return p, nil
}

// readHeader reads everything before the groups.
func (p *SetPatch) readHeader() error {
	head := make([]byte, len(setPatchMagic)+1)
	if _, err := io.ReadFull(p.r, head); err != nil || string(head[:len(setPatchMagic)]) != setPatchMagic {
		return p.r.wrong("is no set patch", err)
	}
	form := head[len(setPatchMagic)]
	if form != formSums && form != formComputed {
		return p.r.wrong(fmt.Sprintf("is of form %d, which this version does not know", form), nil)
	}
	raw, err := readRawDelta(p.r)
	if err != nil {
		return err
	}
	if p.delta, p.listing, err = readDelta(raw, p.old); err != nil {
		return p.r.wrong(err.Error(), nil)
	}
	if form == formComputed {
		return p.checkCaps()
	}
	for _, c := range p.delta.stream() {
		var sum [32]byte
		if _, err := io.ReadFull(p.r, sum[:]); err != nil {
			return p.r.wrong("is cut off in its digests", err)
		}
		p.delta.fresh[c].sum = release.SHA256Digest(sum)
	}
	p.hasListing = true
	return nil
}

// Listing is the new set, or nil until HasListing. It is read-only.
func (p *SetPatch) Listing() release.Listing {
	if !p.hasListing {
		return nil
	}
	return p.listing
}

// Contents returns the new contents in the order of Apply.
func (p *SetPatch) Contents() []SetContent {
	list := make([]SetContent, 0, len(p.delta.fresh))
	for _, c := range p.delta.stream() {
		f := p.delta.fresh[c]
		list = append(list, SetContent{f.sum, f.size, f.path, p.listing[f.file].Use})
	}
	return list
}

// Reads returns the files of the old set that Apply reads, by their index in the old listing, each once. New files with
// the content of an old file are not included; the caller copies them.
func (p *SetPatch) Reads() []int {
	var list []int
	seen := map[int]bool{}
	add := func(i int) {
		if !seen[i] {
			seen[i] = true
			list = append(list, i)
		}
	}
	for g := range p.delta.groups {
		for _, i := range p.delta.references(g, p.old) {
			add(i)
		}
		for _, l := range p.delta.groups[g].longs {
			add(l.old)
		}
	}
	return list
}
