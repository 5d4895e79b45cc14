package release

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// A packed sequel is a sequel whose signed lists and head are compressed together. They are half digests, which no
// compression makes smaller in hex, and half text that is nearly the same in every folder. So the digests are cut out, and
// the text is compressed with a dictionary. It has another name than the plain sequel, which earlier clients ask for.
//
//	"CQ" 2 · uvarint text · uvarint coded · uvarint sums · one zstd frame of coded bytes · sums × 32 bytes · the other parts
//
// The frame decodes to the text, with sequelDictionary as raw dictionary number 1. In the text, byte 1 stands for the next
// of the sums in lower-case hex, and byte 2 with a byte n behind it for sum number n again, from 0. The result, the front,
// is a line of name, space and size for each part, an empty line, and the bytes of the first parts, to the end of a part.
const (
	// packedBegin is the magic number; its last byte is the version.
	packedBegin = "CQ\x02"
	// nextSum and earlierSum stand for digests in the text.
	nextSum, earlierSum = 1, 2
	sumSize             = 32
	// maxRepeated is how many sums can be repeated: a byte has their number.
	maxRepeated = 256
	// dictionaryNumber is the number of sequelDictionary in the frames.
	dictionaryNumber = 1
)

// sequelDictionary is part of the format of a packed sequel.
const sequelDictionary = `objects/ 1234
{"bytes":241072,"changes":{"sha256":"` + "\x01" + `","size":1234},"channel":"stable","compatibility":"","components":"","count":49,"format":1,"hostABI":0,"hostBuild":0,"listing":{"packed":{"sha256":"` +
	"\x01" + `","size":2486},"sha256":"` + "\x01" + `","size":7607},"logic":0,"mirrors":["https://"],"notes":{"en":{"sha256":"` + "\x01" + `","size":123}},"number":6,"patches":[{"from":"` +
	"\x01" + `","patch":{"sha256":"` + "\x01" + `","size":42}},{"from":"` + "\x01" + `","patch":{"sha256":"` + "\x01" + `","size":42}}],"product":"game","published":"2026-11-24T18:42:49Z","sources":{"sha256":"` +
	"\x01" + `","size":3884},"target":"Linux-x64","version":"6"}metadata/7.snapshot.json 468
metadata/7.targets.json 1307
releases/` + "\x02\x02" + `.release 1422

{"signatures":[{"keyid":"` + "\x01" + `","sig":"` + "\x01\x01" + `"}],"signed":{"_type":"snapshot","expires":"2027-02-22T18:42:49Z","meta":{"targets.json":{"hashes":{"sha256":"` +
	"\x01" + `"},"length":1307,"version":7}},"spec_version":"1.0.31","version":7}}{"signatures":[{"keyid":"` + "\x01" + `","sig":"` + "\x01\x01" +
	`"}],"signed":{"_type":"targets","expires":"2027-11-24T18:42:49Z","spec_version":"1.0.31","targets":{"game/stable/Linux-x64/1":{"custom":{"hold":false,"killed":false,"number":1,"percent":100},"hashes":{"sha256":"` +
	"\x01" + `"},"length":563},"game/stable/Windows-win64/2":{"custom":{"hold":false,"killed":false,"number":2,"percent":100},"hashes":{"sha256":"` + "\x01" + `"},"length":1422}},"version":7}}{"bytes":`

// PackedSequelPath is the path of the packed sequel to an entry: sequels/<64 hex>.sequel, the SHA-256 of the entry's path in
// the signed list and "/packed".
func (e Entry) PackedSequelPath() string {
	return "sequels/" + sumOf([]byte(e.Path()+"/packed")).Hex() + ".sequel"
}

// PackSequel is EncodeSequel for a packed sequel, or with known data for a relative one. Parts before the first object are
// compressed. zstd's best level would take 70 MB of tables for each sequel, and a tenth of a second, for three bytes less.
func PackSequel(parts []SequelPart, known KnownData) ([]byte, error) {
	if _, err := EncodeSequel(parts); err != nil {
		return nil, err
	}
	var front, rest bytes.Buffer
	for _, p := range parts {
		fmt.Fprintf(&front, "%s %d\n", p.Name, len(p.Data))
	}
	front.WriteByte('\n')
	for _, p := range parts {
		if rest.Len() > 0 || strings.HasPrefix(p.Name, "objects/") {
			rest.Write(p.Data)
		} else {
			front.Write(p.Data)
		}
	}
	text, sums, ok := cutSums(front.Bytes(), sumsOf(known.text))
	if !ok {
		return nil, fmt.Errorf("a packed sequel can't have the control characters of its documents")
	}
	dictionary := dictionaryWith(known.text)
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(windowFor(len(dictionary)+len(text))),
		zstd.WithSingleSegment(true), zstd.WithEncoderDictRaw(dictionaryNumber, dictionary))
	if err != nil {
		return nil, err
	}
	coded := enc.EncodeAll(text, nil)
	if err := enc.Close(); err != nil {
		return nil, err
	}
	out := known.begin()
	for _, n := range []int{len(text), len(coded), len(sums) / sumSize} {
		out = binary.AppendUvarint(out, uint64(n))
	}
	return append(append(append(out, coded...), sums...), rest.Bytes()...), nil
}

// dictionaryWith is the dictionary of a sequel with known data, which may be empty.
func dictionaryWith(known []byte) []byte { return append([]byte(sequelDictionary), known...) }

// cutSums replaces the digests in a front, but for known ones. ok is false if it has the bytes that stand for them.
func cutSums(front []byte, known map[string]bool) (text, sums []byte, ok bool) {
	seen := map[string]int{}
	for i := 0; i < len(front); {
		n := hexRun(front[i:])
		switch {
		case n >= 2*sumSize && known[string(front[i:i+2*sumSize])]:
			text = append(text, front[i:i+2*sumSize]...)
			i += 2 * sumSize
		case n >= 2*sumSize:
			digits := string(front[i : i+2*sumSize])
			if at, there := seen[digits]; there {
				text = append(text, earlierSum, byte(at))
			} else {
				if len(seen) < maxRepeated && len(sums)/sumSize == len(seen) {
					seen[digits] = len(seen)
				}
				text = append(text, nextSum)
				sums, _ = hex.AppendDecode(sums, []byte(digits))
			}
			i += 2 * sumSize
		case n > 0:
			text = append(text, front[i:i+n]...)
			i += n
		case front[i] == nextSum || front[i] == earlierSum:
			return nil, nil, false
		default:
			text = append(text, front[i])
			i++
		}
	}
	return text, sums, true
}

// hexRun is how many bytes at the begin of b are lower-case hexadecimal digits.
func hexRun(b []byte) int {
	n := 0
	for n < len(b) && (b[n] >= '0' && b[n] <= '9' || b[n] >= 'a' && b[n] <= 'f') {
		n++
	}
	return n
}

// readPackedTable reads the front of a packed sequel behind what comes before the size of the text. The parts in the front have
// their data.
func readPackedTable(r *bufio.Reader, known []byte) ([]SequelPart, error) {
	var sizes [3]int64
	for i, what := range []string{"size of the text", "size of its frame", "count of sums"} {
		n, err := sequelNumber(r, what, []int64{MaxSequel, MaxSequel, MaxSequel / sumSize}[i])
		if err != nil {
			return nil, err
		}
		sizes[i] = n
	}
	coded, err := readSequelBytes(r, sizes[1])
	if err != nil {
		return nil, err
	}
	sums, err := readSequelBytes(r, sizes[2]*sumSize)
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderDictRaw(dictionaryNumber, dictionaryWith(known)))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	text, err := dec.DecodeAll(coded, make([]byte, 0, sizes[0]))
	if err != nil || int64(len(text)) != sizes[0] {
		return nil, sequelFault("has a text that does not decode")
	}
	front, err := insertSums(text, sums)
	if err != nil {
		return nil, err
	}
	return splitFront(front)
}

// readSequelBytes reads n bytes. Their number is a peer's, so memory grows with what arrives.
func readSequelBytes(r io.Reader, n int64) ([]byte, error) {
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r, n); err != nil {
		return nil, tableError(err)
	}
	return b.Bytes(), nil
}

// insertSums is the inverse of cutSums.
func insertSums(text, sums []byte) ([]byte, error) {
	var front []byte
	used := 0
	for i := 0; i < len(text); i++ {
		at := -1
		switch {
		case text[i] == nextSum:
			at = used
			used++
		case text[i] == earlierSum && i+1 < len(text):
			i++
			at = int(text[i])
		case text[i] == earlierSum:
			return nil, sequelFault("ends in a sum")
		default:
			front = append(front, text[i])
		}
		if at >= used || at >= len(sums)/sumSize {
			return nil, sequelFault("lacks sum %d", at)
		}
		if at >= 0 {
			front = hex.AppendEncode(front, sums[at*sumSize:(at+1)*sumSize])
		}
		if len(front) > MaxSequel {
			return nil, sequelFault("has a front of more than %d bytes", MaxSequel)
		}
	}
	if used != len(sums)/sumSize {
		return nil, sequelFault("has %d sums and uses %d", len(sums)/sumSize, used)
	}
	return front, nil
}

// splitFront parses the front of a packed sequel.
func splitFront(front []byte) ([]SequelPart, error) {
	var parts []SequelPart
	for left := int64(MaxSequel); ; {
		line, _, found := strings.Cut(string(front[:min(len(front), maxSequelLine)]), "\n")
		if !found {
			return nil, sequelFault("ends in its table")
		}
		front = front[len(line)+1:]
		if line == "" {
			break
		}
		name, digits, _ := strings.Cut(line, " ")
		size, err := strconv.ParseInt(digits, 10, 64)
		if reason := partNameFault(name); reason != "" || err != nil || size < 0 || size > left || strconv.FormatInt(size, 10) != digits {
			return nil, sequelFault("has the line %q", line)
		}
		if left -= size; len(parts) == MaxSequelParts {
			return nil, sequelFault("has more than %d parts", MaxSequelParts)
		}
		parts = append(parts, SequelPart{Name: name, Size: size})
	}
	for i := range parts {
		if len(front) == 0 && parts[i].Size > 0 {
			break
		}
		if int64(len(front)) < parts[i].Size {
			return nil, sequelFault("ends in %s", parts[i].Name)
		}
		parts[i].Data, front = front[:parts[i].Size:parts[i].Size], front[parts[i].Size:]
	}
	if len(front) > 0 {
		return nil, sequelFault("has %d bytes behind its parts", len(front))
	}
	return parts, nil
}

// maxSequelLine is the length of the longest line of a table: a name, a space, and a size.
const maxSequelLine = maxSequelName + 24
