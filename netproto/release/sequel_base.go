package release

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
)

// A packed sequel from a release leaves out what its client has: the releases in its signed list, and its head. Both sides
// write these down as one text, the base, which goes on the dictionary. Such a sequel is of version 3: behind the magic
// number it has the mark of the base, and digests that are in the base stay in the text.
//
//	"CQ" 3 · mark of the base · then as version 2
const (
	// basedBegin is the magic number of a packed sequel with a base.
	basedBegin = "CQ\x03"
	// markSize is how many bytes of the SHA-256 of a base are its mark. It only saves time: parts are verified.
	markSize = 4
)

// ErrOtherBase says that a packed sequel was made for clients that have something else.
var ErrOtherBase = errors.New("the sequel leaves out what this client does not have")

// SequelBase is what clients of a release have for certain: of the signed list the releases of its product and channel up to its
// number, and its head, whose bytes these are. Their conditions in the list may have changed since, and are not part of it.
func SequelBase(from Entry, list []Entry, head []byte) []byte {
	var paths []string
	by := map[string]Entry{}
	for _, e := range list {
		if e.Product == from.Product && e.Channel == from.Channel && e.Number <= from.Number {
			paths = append(paths, e.Path())
			by[e.Path()] = e
		}
	}
	slices.SortFunc(paths, cmp.Compare)
	var base bytes.Buffer
	for _, p := range paths {
		e := by[p]
		fmt.Fprintf(&base, `"%s":{"custom":{"hold":false,"killed":false,"number":%d,"percent":100},"hashes":{"sha256":"%s"},"length":%d},`, p, e.Number, e.Head.Sum.Hex(), e.Head.Size)
	}
	base.Write(head)
	return base.Bytes()
}

// sumsOf are the digests in a text.
func sumsOf(text []byte) map[string]bool {
	found := map[string]bool{}
	for i := 0; i < len(text); {
		n := hexRun(text[i:])
		if n >= 2*sumSize {
			found[string(text[i:i+2*sumSize])] = true
			n = 2 * sumSize
		}
		i += max(n, 1)
	}
	return found
}

// markOf is the mark of a base.
func markOf(base []byte) []byte {
	sum := sha256.Sum256(base)
	return sum[:markSize]
}
