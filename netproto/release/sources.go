package release

import (
	"cmp"
	"fmt"
	"slices"
)

const (
	// MaxSources is the size in bytes of the largest list of sources: MaxSet contents of some 300 bytes each. It is held in memory.
	MaxSources = 64 << 20
	// MaxIndexFiles is the largest number of files in one chunk index.
	MaxIndexFiles = MaxSet
)

// Encoding is how a content is stored in its object. The words are stored in lists of sources and never change.
type Encoding string

const (
	// EncodedZstd is one zstd frame, or several.
	EncodedZstd Encoding = "zstd"
	// EncodedStored is the content itself, so the object has its digest and size.
	EncodedStored Encoding = "stored"
	// EncodedBrotli is one brotli stream.
	EncodedBrotli Encoding = "brotli"
)

// Source is where to fetch one content without a patch.
type Source struct {
	Content  Digest   // SHA-256 of the file
	Whole    Object   // the whole file
	Encoding Encoding // of Whole
	Index    Object   // the chunk index that describes it; zero if absent
	Entry    uint32   // index of the file in Index; 0 without one
}

// Sources lists where to fetch the contents of a set, one entry for each content, sorted by Content. Clients fetch it
// only when no patch fits. See docs/RELEASE-FORMAT.md, "Sources".
type Sources []Source

// NewSources sorts a copy of list. It does not check it; Encode does.
func NewSources(list []Source) Sources {
	s := Sources(slices.Clone(list))
	slices.SortFunc(s, func(a, b Source) int { return compareSums(a.Content, b.Content) })
	return s
}

func compareSums(a, b Digest) int { return slices.Compare(a.sum[:], b.sum[:]) }

// ParseSources reads a list of sources. Any form but the canonical one is a *FormatError.
func ParseSources(data []byte) (Sources, error) {
	var s Sources
	if err := readDocument("sources", data, MaxSources, s.code); err != nil {
		return nil, err
	}
	return s, nil
}

// Encode writes the canonical form. An unsorted list, or one that ParseSources would reject, is an error.
func (s Sources) Encode() ([]byte, error) { return writeDocument("sources", MaxSources, s.code) }

// Find finds the source of a content.
func (s Sources) Find(content Digest) (Source, bool) {
	i, found := slices.BinarySearchFunc(s, content, func(e Source, d Digest) int { return compareSums(e.Content, d) })
	if !found || content.Algorithm != SHA256 {
		return Source{}, false
	}
	return s[i], true
}

// Pack returns the object of a list of sources and its reference.
func (s Sources) Pack() (object []byte, ref Object, err error) {
	data, err := s.Encode()
	if err != nil {
		return nil, Object{}, err
	}
	if object, err = pack(data); err != nil {
		return nil, Object{}, fmt.Errorf("pack sources: %w", err)
	}
	return object, ObjectOf(object), nil
}

// UnpackSources unpacks the object of a list of sources. Bytes that don't match ref are an *ObjectError and are not unpacked.
func UnpackSources(object []byte, ref Object) (Sources, error) {
	data, err := unpackVerified("sources", object, ref, MaxSources)
	if err != nil {
		return nil, err
	}
	return ParseSources(data)
}

func (s *Sources) code(c *canon) {
	var last Digest
	codeList(c, "sources", (*[]Source)(s), MaxSet, func(c *canon, e *Source) {
		e.code(c)
		if !last.IsZero() && cmp.Compare(compareSums(last, e.Content), 0) >= 0 {
			c.fail("contents are not in order, or one stands twice")
		}
		last = e.Content
	})
}

// code is the layout of one source. The keys are in the order of their bytes; without an index its key is left out.
func (e *Source) code(c *canon) {
	encoding := string(e.Encoding)
	c.literal(`{"content":`)
	c.digest("content", &e.Content)
	c.literal(`,"encoding":`)
	c.text("encoding", &encoding, maxName, encodingFault)
	if !c.reading && !e.Index.IsZero() || c.reading && c.follows(`,"index":`) {
		c.literal(`,"index":{"entry":`)
		entry := uint64(e.Entry)
		c.number("entry", &entry, MaxIndexFiles-1)
		c.literal(`,"object":`)
		e.Index.code(c, "index", MaxObject)
		c.literal(`}`)
		e.Entry = uint32(entry)
	} else if e.Entry != 0 {
		c.fail("an entry without an index")
	}
	c.literal(`,"whole":`)
	e.Whole.code(c, "whole", MaxObject)
	c.literal(`}`)
	e.Encoding = Encoding(encoding)
	if e.Encoding == EncodedStored && e.Whole.Sum != e.Content {
		c.fail("a stored object is not the content")
	}
}

func encodingFault(s string) string {
	if s != string(EncodedZstd) && s != string(EncodedStored) && s != string(EncodedBrotli) {
		return "is none of zstd, brotli and stored"
	}
	return ""
}
