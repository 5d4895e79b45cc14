package release

import (
	"fmt"
	"io"
)

// A set patch turns one set into another. It is one object for each pair of sets and is made by the publisher. On the wire
// (numbers are unsigned LEB128; signed ones are folded: 0, −1, 1, −2, …):
//
//	magic    "CS" 1
//	from     the first 4 bytes of the SHA-256 of the old listing
//	to       the same of the new listing
//	raw      size of the delta
//	coded    size of what follows<<1, plus 1 if that is the delta by brotli; else it is the delta itself
//	delta    see setpatch_delta.go
//	sums     SHA-256 of each new content, in the order of the stream
//	group*   for each group of the delta its bytes
//
// The stream is all new contents one behind the other, ordered by the extension of their file and its path. A group is so
// many of them. Its bytes are either the size of a patch (docs/RELEASE-FORMAT.md, "Patch") and the patch, or,
// if the group is whole, for every 64 MiB of it and for the rest: the encoding (1 byte), the size, and the whole object.
const (
	setPatchMagic = "CS\x01"
	// setCheck is how many bytes of a digest stand for a listing. They find a mistake; the head, which names this patch by
	// its SHA-256 and says what it is from, is what vouches.
	setCheck = 4
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
	Listing Listing
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
	Sum  Digest
	Size int64
}

// ContentError says that a content came out of a set patch with another digest than it should: the patch is wrong, or an
// old file is not what the old listing says.
type ContentError struct {
	Path string // of a file that has the content
	Want Digest
}

func (e *ContentError) Error() string {
	return fmt.Sprintf("content of %q does not come out as %v: an old file or the patch is damaged; fetch it another way", e.Path, e.Want)
}

// SetPatch is a set patch whose delta was read: what will be in the new set is known, and nothing was applied yet. It
// belongs to one goroutine.
type SetPatch struct {
	r       *setStream
	old     Listing
	listing Listing
	delta   *setDelta
}

// OpenSetPatch reads the beginning of a set patch for whoever has the set old, and checks that it leads to the listing with
// the digest to, which a verified head names. A patch that does not, or that is damaged, is a *FormatError; an error of the
// reader comes back as it is. It holds the delta in memory: at most MaxSetDelta, beside both listings.
func OpenSetPatch(patch io.Reader, old Listing, to Digest) (*SetPatch, error) {
	p := &SetPatch{r: newSetStream(patch), old: old}
	from, err := old.Digest()
	if err != nil {
		return nil, err
	}
	err = p.read(from, to)
	if err == nil {
		if got, e := p.listing.Digest(); e != nil || got != to {
			err = p.r.wrong("does not lead to the listing that the head names", e)
		}
	}
	if err != nil {
		return nil, p.r.fault(err)
	}
	return p, nil
}

// read reads everything before the groups.
func (p *SetPatch) read(from, to Digest) error {
	head := make([]byte, len(setPatchMagic)+2*setCheck)
	if _, err := io.ReadFull(p.r, head); err != nil || string(head[:len(setPatchMagic)]) != setPatchMagic {
		return p.r.wrong("is no set patch, or one of another format", err)
	}
	head = head[len(setPatchMagic):]
	if string(head[:setCheck]) != string(from.sum[:setCheck]) || string(head[setCheck:]) != string(to.sum[:setCheck]) {
		return p.r.wrong("is for another pair of sets", nil)
	}
	raw, err := p.r.delta()
	if err != nil {
		return err
	}
	if p.delta, p.listing, err = readDelta(raw, p.old); err != nil {
		return p.r.wrong(err.Error(), nil)
	}
	for _, c := range p.delta.stream() {
		if _, err := io.ReadFull(p.r, p.delta.fresh[c].sum.sum[:]); err != nil {
			return p.r.wrong("is cut off in its digests", err)
		}
		p.delta.fresh[c].sum.Algorithm = SHA256
	}
	for i := range p.listing {
		if f := &p.listing[i]; f.Sum.IsZero() {
			f.Sum = p.delta.fresh[p.delta.contentOf[i]].sum
		}
	}
	return nil
}

// Listing is the new set. It is the caller's to read.
func (p *SetPatch) Listing() Listing { return p.listing }

// Contents are the new contents in the order in which Apply gives them.
func (p *SetPatch) Contents() []SetContent {
	list := make([]SetContent, 0, len(p.delta.fresh))
	for _, c := range p.delta.stream() {
		list = append(list, SetContent{p.delta.fresh[c].sum, p.delta.fresh[c].size})
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
