package delta

import (
	"fmt"
	"io"

	"collet/netproto/release"
)

// A set patch turns one set into another. It is one object for each pair of sets and is made by the publisher. On the wire
// (numbers are unsigned LEB128; signed ones are folded: 0, −1, 1, −2, …):
//
//	magic    "CS"
//	form     1 byte: 1 the sums are there, 2 they are to be computed
//	coded    size of the delta as it lies there<<1, plus 1 if it is by brotli
//	raw      size of the delta, if it is by brotli
//	delta    see setpatch_delta.go
//	sums     of form 1: SHA-256 of each new content, in the order of the stream
//	group*   for each group of the delta its bytes
//
// The stream is all new contents one behind the other, ordered by the extension of their file and its path. A group is so
// many of them. Its bytes are either the size of a patch and the patch (docs/RELEASE-FORMAT.md, "Patch") from its first
// frame on, or, if the group is whole, for every 64 MiB of it and for the rest: the encoding (1 byte), the size, and the
// whole object. A patch at the end has no size. What it is from and to is not said: the head says that and vouches for
// these bytes, and another old listing leads to another new one.
const (
	setPatchMagic = "CS"
	formSums      = 1
	formComputed  = 2
	// wholePiece is how much of a whole group lies in one object: 64 MiB, made in memory by the publisher.
	wholePiece = 64 << 20
)

// Caps of what a receiver takes. A publisher stays below them.
const (
	// MaxSetDelta is the largest delta in bytes: MaxSet new paths of a hundred bytes. It is held in memory.
	MaxSetDelta = 24 << 20
	// maxSetGroups is how many groups a set patch has: 64 MiB each, a terabyte.
	maxSetGroups = 1 << 14
	// maxCopies is how many copies all long contents of a set patch have: 24 bytes of memory each, 12 MiB.
	maxCopies = 1 << 19
)

// SetSource opens files of one set, by their place in its listing. It may be called from several goroutines; what it
// returns is read by one at a time.
type SetSource interface {
	Open(file int) (SetFile, error)
}

// SetFile is one open file of a set. Whoever opened it closes it.
type SetFile interface {
	io.ReaderAt
	io.Closer
}

// SetSide is a set as the maker of a patch needs it.
type SetSide struct {
	Listing release.Listing
	Source  SetSource
}

// SetSink takes the new contents while a set patch is applied, one after the other in the order of SetPatch.Contents.
type SetSink interface {
	// Begin returns where the content goes; it is written once, from its start to its end.
	Begin(content int) (io.Writer, error)
	// End follows when all of the content was written and its SHA-256 was right. Without it the content is worthless.
	End(content int) error
}

// SetContent is a new content that a set patch carries. Every file of the new listing with this digest has it.
type SetContent struct {
	Sum  release.Digest // zero as long as the set patch is not Known
	Size int64
	Path string      // of the first file that has it
	Use  release.Use // of that
}

// ContentError says that a content came out of a set patch with another digest than it should: the patch is wrong, or an
// old file is not what the old listing says.
type ContentError struct {
	Path string // of a file that has the content
	Want release.Digest
}

func (e *ContentError) Error() string {
	return fmt.Sprintf("content of %q does not come out as %v: an old file or the patch is damaged; fetch it another way", e.Path, e.Want)
}

// SetPatch is a set patch whose delta was read, and nothing was applied yet. What will be in the new set is known then, or
// at least the sizes of it: see Known. It belongs to one goroutine.
type SetPatch struct {
	r       *setStream
	old     release.Listing
	to      release.Digest
	listing release.Listing
	delta   *setDelta
	known   bool
	applied bool
}

// OpenSetPatch reads the beginning of a set patch for whoever has the set old, and checks that it leads to the listing with
// the digest to, which a verified head names, if that can be said yet. A patch that does not, or that is damaged, is a
// *release.FormatError; an error of the reader comes back as it is. It holds the delta in memory: at most MaxSetDelta, beside both
// listings.
func OpenSetPatch(patch io.Reader, old release.Listing, to release.Digest) (*SetPatch, error) {
	p := &SetPatch{r: newSetStream(patch), old: old, to: to}
	err := p.read()
	if err == nil && p.known {
		err = p.settle()
	}
	if err != nil {
		return nil, p.r.fault(err)
	}
	return p, nil
}

// read reads everything before the groups.
func (p *SetPatch) read() error {
	head := make([]byte, len(setPatchMagic)+1)
	if _, err := io.ReadFull(p.r, head); err != nil || string(head[:len(setPatchMagic)]) != setPatchMagic {
		return p.r.wrong("is no set patch", err)
	}
	form := head[len(setPatchMagic)]
	if form != formSums && form != formComputed {
		return p.r.wrong(fmt.Sprintf("is of form %d, which nobody knows here", form), nil)
	}
	raw, err := p.r.delta()
	if err != nil {
		return err
	}
	if p.delta, p.listing, err = readDelta(raw, p.old); err != nil {
		return p.r.wrong(err.Error(), nil)
	}
	if form == formComputed {
		return p.bounded()
	}
	for _, c := range p.delta.stream() {
		var sum [32]byte
		if _, err := io.ReadFull(p.r, sum[:]); err != nil {
			return p.r.wrong("is cut off in its digests", err)
		}
		p.delta.fresh[c].sum = release.SHA256Digest(sum)
	}
	p.known = true
	return nil
}

// Listing is the new set, or nil as long as the set patch is not Known. It is the caller's to read.
func (p *SetPatch) Listing() release.Listing {
	if !p.known {
		return nil
	}
	return p.listing
}

// Contents are the new contents in the order in which Apply gives them.
func (p *SetPatch) Contents() []SetContent {
	list := make([]SetContent, 0, len(p.delta.fresh))
	for _, c := range p.delta.stream() {
		f := p.delta.fresh[c]
		list = append(list, SetContent{f.sum, f.size, f.path, p.listing[f.file].Use})
	}
	return list
}

// Reads lists the files of the old set that Apply reads, by their place in the old listing, each once. Files of the new
// listing whose content is that of an old file are the caller's to take over and not among them.
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
