package delta

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/andybalholm/brotli"

	"collet/netproto/release"
)

// changesWriter encodes one block.
type changesWriter struct {
	ops, text, sums []byte
	before          string
	known           map[release.Digest]int // contents, by their number
	indexes         []release.Object
}

// changesBlock encodes the new state of the files with these sorted paths.
func changesBlock(paths []string, to release.Listing, sources release.Sources) ([]byte, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	w := &changesWriter{known: map[release.Digest]int{}}
	for _, p := range paths {
		f, stays := to.Find(p)
		s, found := sources.Find(f.Sum)
		switch {
		case !stays:
			w.writePath(changeGone, p)
		case !found:
			return nil, fmt.Errorf("the sources lack the content of %q", p)
		default:
			w.writeFile(f, s)
		}
	}
	body := binary.AppendUvarint(nil, uint64(len(w.ops)))
	body = append(append(body, w.ops...), w.text...)
	return append(codeChanges(body), w.sums...), nil
}

// slowChanges is the size in bytes up to which a body is compressed at the best level: a second of one core for 300 KB.
const slowChanges = 512 << 10

// codeChanges compresses a body as codeDelta does.
func codeChanges(body []byte) []byte {
	if len(body) <= slowChanges {
		return codeDelta(nil, body, brotli.BestCompression)
	}
	return codeDelta(nil, body, brotli.DefaultCompression)
}

func (w *changesWriter) writePath(kind byte, name string) {
	shared := sharedHead(w.before, name)
	w.ops = append(w.ops, kind)
	w.writeNumber(int64(shared))
	w.writeNumber(int64(len(name) - shared))
	w.text = append(w.text, name[shared:]...)
	w.before = name
}

func (w *changesWriter) writeNumber(n int64) { w.ops = binary.AppendUvarint(w.ops, uint64(n)) }

func (w *changesWriter) writeObject(o release.Object) {
	w.writeNumber(o.Size)
	sum, _ := o.Sum.SHA256()
	w.sums = append(w.sums, sum[:]...)
}

func (w *changesWriter) writeFile(f release.ListedFile, s release.Source) {
	kind := byte(slices.Index(setUses(), f.Use)) << 1
	if f.Mode == release.ProgramMode {
		kind |= changeRuns
	}
	if at, again := w.known[f.Sum]; again {
		w.writePath(kind|changeAgain<<4, f.Path)
		w.writeNumber(int64(len(w.known) - 1 - at))
		return
	}
	w.known[f.Sum] = len(w.known)
	kind |= byte(slices.Index(changeEncodings(), s.Encoding)) << 4
	if !s.Index.IsZero() {
		kind |= changeIndex
	}
	w.writePath(kind, f.Path)
	w.writeObject(release.Object{Sum: f.Sum, Size: f.Size})
	if s.Encoding != release.EncodedStored {
		w.writeObject(s.Whole)
	}
	if s.Index.IsZero() {
		return
	}
	if at := slices.Index(w.indexes, s.Index); at >= 0 {
		w.writeNumber(int64(len(w.indexes) - at))
	} else {
		w.writeNumber(0)
		w.writeObject(s.Index)
		w.indexes = append(w.indexes, s.Index)
	}
	w.writeNumber(int64(s.Entry))
}

// changesReader decodes blocks.
type changesReader struct {
	named map[string]bool
	paths []string // in the order of the blocks
	files []release.ListedFile
	from  []release.Source
	raw   int64 // decoded bytes that bodies may still have

	ops, text, sums *numberParser // of the current block
	before          string
	begin           int // of the block's contents, in from
	indexes         []release.Object
	sizes           []int64 // of the block's contents
}

func newChangesReader() *changesReader {
	return &changesReader{named: map[string]bool{}, raw: maxChangesRaw}
}

// readBlock decodes the block between two offsets of the object.
func (r *changesReader) readBlock(data []byte, from, to int64) error {
	if from == to {
		return nil
	}
	body, sums, err := r.decodeBody(data[from:to])
	if err == nil {
		err = r.readOps(body, sums)
	}
	if err != nil {
		return changesFault(int(from), "a block %v", err)
	}
	return nil
}

// decodeBody decompresses the body of a block.
func (r *changesReader) decodeBody(block []byte) (body, sums []byte, err error) {
	in := &numberParser{b: block}
	coded := in.number("size of the body", 2*maxChangesRaw+1)
	raw := coded >> 1
	if coded&1 == 1 {
		raw = in.number("decoded size of the body", maxChangesRaw)
	}
	body = in.bytes(coded >> 1)
	if in.err != nil {
		return nil, nil, in.err
	}
	if r.raw -= raw; r.raw < 0 {
		return nil, nil, fmt.Errorf("brings the bodies to more than %d bytes", maxChangesRaw)
	}
	if coded&1 == 0 {
		return body, in.b, nil
	}
	body, err = readExactly(brotli.NewReader(bytes.NewReader(body)), raw)
	return body, in.b, err
}

// readOps decodes the ops of a body.
func (r *changesReader) readOps(body, sums []byte) error {
	in := &numberParser{b: body}
	ops := in.bytes(in.number("size of the ops", maxChangesRaw))
	r.ops, r.text, r.sums = &numberParser{b: ops}, &numberParser{b: in.b}, &numberParser{b: sums}
	r.before, r.begin, r.indexes, r.sizes = "", len(r.from), nil, nil
	if in.err != nil {
		return in.err
	}
	for r.fault() == nil && len(r.ops.b) > 0 {
		r.readOp()
	}
	if err := r.fault(); err != nil {
		return err
	}
	if len(r.text.b) > 0 || len(r.sums.b) > 0 {
		return fmt.Errorf("has %d bytes of paths and %d of digests that nothing uses", len(r.text.b), len(r.sums.b))
	}
	return nil
}

func (r *changesReader) fault() error {
	for _, in := range []*numberParser{r.ops, r.text, r.sums} {
		if in.err != nil {
			return in.err
		}
	}
	return nil
}

func (r *changesReader) readOp() {
	kind := r.ops.number("an op", 0x7f)
	name := r.readPath()
	if r.fault() != nil {
		return
	}
	if len(r.paths) == release.MaxSet {
		r.ops.fail("brings the files to more than %d", release.MaxSet)
		return
	}
	r.paths = append(r.paths, name)
	r.named[name] = true
	if kind&changeGone != 0 {
		if kind != changeGone {
			r.ops.fail("has an op that does not exist")
		}
		return
	}
	f := release.ListedFile{Path: name, Use: setUses()[kind>>1&3], Mode: release.PlainMode}
	if kind&changeRuns != 0 {
		f.Mode = release.ProgramMode
	}
	r.readContent(&f, kind>>4&3, kind&changeIndex != 0)
	if r.fault() == nil {
		r.files = append(r.files, f)
	}
}

// readPath decodes the path of an op.
func (r *changesReader) readPath() string {
	shared := r.ops.number("what a path shares", int64(len(r.before)))
	rest := r.text.bytes(r.ops.number("the rest of a path", release.MaxPath))
	name := r.before[:shared] + string(rest)
	switch {
	case r.fault() != nil:
		return ""
	case name <= r.before:
		r.ops.fail("has paths that do not rise")
	case len(name) > release.MaxPath:
		r.ops.fail("has a path of %d bytes", len(name))
	case r.named[name]:
		r.ops.fail("names %q, as one before it does", name)
	}
	r.before = name
	return name
}

// readContent decodes the content of a file and its source.
func (r *changesReader) readContent(f *release.ListedFile, encoding int64, indexed bool) {
	if encoding == changeAgain {
		ago := r.ops.number("an earlier content", release.MaxSet)
		at := len(r.from) - 1 - int(ago)
		if at < r.begin || indexed {
			r.ops.fail("repeats a content that does not exist")
			return
		}
		f.Sum, f.Size = r.from[at].Content, r.sizes[at-r.begin]
		return
	}
	o := r.readObject("a file", release.MaxFile)
	f.Sum, f.Size = o.Sum, o.Size
	s := release.Source{Content: o.Sum, Whole: o, Encoding: changeEncodings()[encoding]}
	if s.Encoding != release.EncodedStored {
		s.Whole = r.readObject("a whole object", release.MaxObject)
	}
	if indexed {
		s.Index, s.Entry = r.readIndex()
	}
	r.from, r.sizes = append(r.from, s), append(r.sizes, f.Size)
}

func (r *changesReader) readIndex() (o release.Object, entry uint32) {
	switch ago := r.ops.number("an object with indexes", int64(len(r.indexes))); {
	case ago > 0:
		o = r.indexes[len(r.indexes)-int(ago)]
	default:
		o = r.readObject("an object with indexes", release.MaxObject)
		r.indexes = append(r.indexes, o)
	}
	return o, uint32(r.ops.number("an entry of an index", release.MaxIndexFiles-1))
}

func (r *changesReader) readObject(what string, limit int64) (o release.Object) {
	o.Size = r.ops.number("the size of "+what, limit)
	var sum [32]byte
	copy(sum[:], r.sums.bytes(int64(len(sum))))
	o.Sum = release.SHA256Digest(sum)
	return o
}
