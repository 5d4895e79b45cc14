package chunk

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"runtime"
)

// shelf is a release folder in memory: packs by name.
type shelf struct {
	packs map[[32]byte][]byte
}

type shelfPack struct {
	bytes.Buffer
	to *shelf
}

func (p *shelfPack) Close() error {
	p.to.packs[sha256.Sum256(p.Bytes())] = bytes.Clone(p.Bytes())
	return nil
}

func newShelf() *shelf { return &shelf{packs: map[[32]byte][]byte{}} }

func (s *shelf) Create() (io.WriteCloser, error) { return &shelfPack{to: s}, nil }

// publish packs contents and returns their indexes and the packs that are new.
func (s *shelf) publish(t failer, o PackOptions, contents ...[]byte) ([]*Index, []PackRef) {
	t.Helper()
	o.Create = s.Create
	p, err := NewPacker(o)
	if err != nil {
		t.Fatal(err)
	}
	var made []*Index
	for _, c := range contents {
		ix, err := p.Add(context.Background(), GrainFor(int64(len(c))), bytes.NewReader(c))
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, ix)
	}
	refs, err := p.Close()
	if err != nil {
		t.Fatal(err)
	}
	for i, ix := range made {
		if ix.Size() != int64(len(contents[i])) {
			t.Fatalf("index of %d bytes for a file of %d", ix.Size(), len(contents[i]))
		}
		if err := ix.check(); err != nil {
			t.Fatal(err)
		}
	}
	return made, refs
}

// link counts what is fetched from a shelf, and can damage it.
type link struct {
	from    *shelf
	opened  []Range
	bytes   int64
	live    int
	mangle  func(r Range, data []byte) []byte
	refuses error
}

type linkStream struct {
	io.Reader
	of *link
}

func (s linkStream) Close() error { s.of.live--; return nil }

func (l *link) open(_ context.Context, r Range) (io.ReadCloser, error) {
	if l.refuses != nil {
		return nil, l.refuses
	}
	pack, there := l.from.packs[r.Pack.Digest]
	if !there || int64(len(pack)) != r.Pack.Size {
		return nil, fmt.Errorf("no pack %x of %d bytes", r.Pack.Digest, r.Pack.Size)
	}
	data := pack[r.Offset : r.Offset+r.Size]
	if l.mangle != nil {
		data = l.mangle(r, bytes.Clone(data))
	}
	l.opened = append(l.opened, r)
	l.bytes += r.Size
	l.live++
	return linkStream{bytes.NewReader(data), l}, nil
}

// shelfDisk is a Disk in memory.
type shelfDisk struct {
	sources [][]byte // nil: gone
	files   []*shelfFile
}

type shelfFile struct{ data []byte }

func (f *shelfFile) Write(p []byte) (int, error) { f.data = append(f.data, p...); return len(p), nil }

func (f *shelfFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(f.data).ReadAt(p, off)
}

func (d *shelfDisk) Source(n int) (io.ReaderAt, error) {
	if d.sources[n] == nil {
		return nil, fmt.Errorf("source %d: %w", n, ErrGone)
	}
	return bytes.NewReader(d.sources[n]), nil
}

func (d *shelfDisk) Create(n int) (Output, error) {
	if n != len(d.files) {
		return nil, errors.New("created out of order")
	}
	d.files = append(d.files, &shelfFile{})
	return d.files[n], nil
}

func (d *shelfDisk) Written(n int) (io.ReaderAt, error) { return d.files[n], nil }

// rebuild builds contents from old ones that are here and what is fetched; it returns the link with its counts.
func rebuild(t failer, s *shelf, old [][]byte, indexes []*Index, contents [][]byte, gap int64) *link {
	t.Helper()
	p, err := NewPlan(indexes)
	if err != nil {
		t.Fatal(err)
	}
	for n, o := range old {
		if err := p.OfferFile(context.Background(), n, GrainFor(int64(len(o))), bytes.NewReader(o)); err != nil {
			t.Fatal(err)
		}
	}
	ranges := p.Missing(gap)
	l := &link{from: s}
	d := &shelfDisk{sources: old}
	if err := p.Assemble(context.Background(), d, l.open); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, d, contents)
	if l.live != 0 {
		t.Fatalf("%d ranges were left open", l.live)
	}
	planned := int64(0)
	for _, r := range ranges {
		planned += r.Size
	}
	if len(l.opened) != len(ranges) || l.bytes != planned {
		t.Fatalf("%d ranges of %d bytes were opened, %d of %d were planned", len(l.opened), l.bytes, len(ranges), planned)
	}
	return l
}

func sameFiles(t failer, d *shelfDisk, contents [][]byte) {
	t.Helper()
	for n, c := range contents {
		if n >= len(d.files) || !bytes.Equal(d.files[n].data, c) {
			t.Fatalf("file %d came out different", n)
		}
	}
}

// chunkNoise is bytes that don't compress, chunkProse bytes that do.
func chunkNoise(seed int64, size int) []byte {
	b := make([]byte, size)
	rand.New(rand.NewSource(seed)).Read(b)
	return b
}

func chunkProse(seed int64, size int) []byte {
	r := rand.New(rand.NewSource(seed))
	words := make([][]byte, 2000)
	for i := range words {
		words[i] = make([]byte, 2+r.Intn(9))
		for j := range words[i] {
			words[i][j] = byte('a' + r.Intn(26))
		}
	}
	var b []byte
	for len(b) < size {
		b = append(append(b, words[int(float64(len(words))*r.Float64()*r.Float64())]...), ' ')
	}
	return b[:size]
}

// failer is what a helper needs of a test, be it the testing package's or rapid's.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// newReaderOf reads pieces one behind the other.
func newReaderOf(pieces ...[]byte) *bufio.Reader {
	return bufio.NewReader(bytes.NewReader(bytes.Join(pieces, nil)))
}

// countedReads counts how often it is read.
type countedReads struct {
	io.ReaderAt
	reads int
}

func (c *countedReads) ReadAt(b []byte, at int64) (int, error) {
	c.reads++
	return c.ReaderAt.ReadAt(b, at)
}

// allocated is how many bytes were allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
