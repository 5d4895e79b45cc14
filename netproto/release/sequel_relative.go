package release

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// A relative sequel is a packed sequel from which the publisher leaves out what a client of its release has: releases of the
// signed list, the head of its own release, and the ids of the keys that sign lists. Both sides write these down as one text, the known data. It
// extends the dictionary, and digests that are in it are not cut from the sequel's text. So the size does not grow with the number of releases. A
// relative sequel has a name of its own, beside the packed sequel, which is for clients that lack the known data.
//
//	"CQ" 3 · mark · uvarint runs · runs × (4 bytes · uvarint count) · then as version 2 behind its magic number
//
// A run is releases of one product, channel and target: that whose head's digest begins with these bytes, and the count − 1
// before it, by number, in the client's list. So a release that has left the publisher's list since, or has joined it, changes
// nothing for a client with an older list. The mark is the first bytes of the SHA-256 of the known data.
const (
	// relativeBegin is the magic number; its last byte is the version.
	relativeBegin = "CQ\x03"
	// markSize is how many bytes of the SHA-256 of the known data are its mark. It only saves time: each part is verified.
	markSize = 4
	// runSize is how many bytes of a head's digest begin a run. If two releases of a list share them, the mark is wrong.
	runSize = 4
)

// ErrOtherKnownData says that a relative sequel leaves out something that this client does not have.
var ErrOtherKnownData = errors.New("the sequel leaves out what this client does not have")

// RelativeSequelPath is the path of the relative sequel to an entry: sequels/<64 hex>.sequel, the SHA-256 of the entry's path
// in the signed list and "/relative".
func (e Entry) RelativeSequelPath() string {
	return "sequels/" + sumOf([]byte(e.Path()+"/relative")).Hex() + ".sequel"
}

// KnownData is what a relative sequel leaves out, because its reader has it. The zero value is nothing.
type KnownData struct {
	runs []byte // count and runs, as in the file
	text []byte
}

// SequelReader is what a reader of relative sequels has. Lost parts are empty.
type SequelReader struct {
	List []Entry  // the releases of its signed list
	Head []byte   // the head of its release
	Keys []string // ids of the keys that may sign snapshots and lists by its newest root, sorted
}

// MakeKnownData makes the known data of runs, and of the head and the keys that a reader has. A run is releases of one product, channel
// and target in rising order, with no others between them in any list that has the sequel's release.
func MakeKnownData(runs [][]Entry, has SequelReader) KnownData {
	coded := binary.AppendUvarint(nil, uint64(len(runs)))
	for _, run := range runs {
		sum, _ := run[len(run)-1].Head.Sum.SHA256()
		coded = binary.AppendUvarint(append(coded, sum[:runSize]...), uint64(len(run)))
	}
	has.List = slices.Concat(runs...)
	return KnownData{coded, has.text()}
}

// text writes known data: the keys as a signature has them, all releases as the signed list has them while they are offered to
// all players, in its order, and the head.
func (h SequelReader) text() []byte {
	paths := map[string]Entry{}
	for _, e := range h.List {
		paths[e.Path()] = e
	}
	var b bytes.Buffer
	for _, id := range h.Keys {
		fmt.Fprintf(&b, `{"keyid":"%s","sig":"`, id)
	}
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		e := paths[p]
		fmt.Fprintf(&b, `"%s":{"custom":{"hold":false,"killed":false,"number":%d,"percent":100},"hashes":{"sha256":"%s"},"length":%d},`, p, e.Number, e.Head.Sum.Hex(), e.Head.Size)
	}
	b.Write(h.Head)
	return b.Bytes()
}

// begin is what stands before the packed form.
func (k KnownData) begin() []byte {
	if k.runs == nil {
		return []byte(packedBegin)
	}
	return slices.Concat([]byte(relativeBegin), markOf(k.text), k.runs)
}

// markOf is the mark of known data.
func markOf(text []byte) []byte {
	sum := sha256.Sum256(text)
	return sum[:markSize]
}

// readKnownData reads what stands between the magic number and the packed form, and makes the known data from what the reader
// has. Known data that the reader can't make are ErrOtherKnownData.
func readKnownData(r *bufio.Reader, has func() SequelReader) ([]byte, error) {
	mark := make([]byte, markSize)
	if _, err := io.ReadFull(r, mark); err != nil {
		return nil, tableError(err)
	}
	count, err := sequelNumber(r, "count of runs", MaxEntries)
	if err != nil {
		return nil, err
	}
	known := has()
	list := slices.SortedFunc(slices.Values(known.List), CompareEntries)
	known.List = nil
	lacks := false
	for range count {
		var first [runSize]byte
		if _, err := io.ReadFull(r, first[:]); err != nil {
			return nil, tableError(err)
		}
		n, err := sequelNumber(r, "size of a run", int64(MaxEntries-len(known.List)))
		if err != nil {
			return nil, err
		}
		run := findRun(list, first, int(n))
		lacks = lacks || run == nil
		known.List = append(known.List, run...)
	}
	text := known.text()
	if lacks || !bytes.Equal(mark, markOf(text)) {
		return nil, ErrOtherKnownData
	}
	return text, nil
}

// findRun finds a run in a list that is sorted by track and number; nil if it has none.
func findRun(list []Entry, first [runSize]byte, n int) []Entry {
	last := slices.IndexFunc(list, func(e Entry) bool {
		sum, is := e.Head.Sum.SHA256()
		return is && [runSize]byte(sum[:runSize]) == first
	})
	if begin := last - n + 1; last >= 0 && n > 0 && begin >= 0 && list[begin].Track() == list[last].Track() {
		return list[begin : last+1]
	}
	return nil
}

// sumsOf are the digests in a text.
func sumsOf(text []byte) map[string]bool {
	found := map[string]bool{}
	for i := 0; i < len(text); {
		n := hexRun(text[i:])
		if n >= 2*sumSize {
			n = 2 * sumSize
			found[string(text[i:i+n])] = true
		}
		i += max(n, 1)
	}
	return found
}
