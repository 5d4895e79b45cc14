package chunk

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
)

// TestPackStream: ranges are opened in their order, each once, when they are needed, and what lies between is passed over.
func TestPackStream(t *testing.T) {
	pack := chunkNoise(1, 1000)
	var opened []Range
	open := func(_ context.Context, r Range) (io.ReadCloser, error) {
		opened = append(opened, r)
		return io.NopCloser(bytes.NewReader(pack[r.Offset : r.Offset+r.Size])), nil
	}
	s := &packStream{ranges: []Range{{Offset: 10, Size: 100}, {Offset: 300, Size: 50}, {Offset: 900, Size: 100}}}
	for i, c := range []struct{ at, size, opened int }{{10, 20, 1}, {30, 5, 1}, {50, 60, 1}, {300, 50, 2}, {905, 95, 3}} {
		b := make([]byte, c.size)
		if err := s.read(t.Context(), open, int64(c.at), b); err != nil || !bytes.Equal(b, pack[c.at:c.at+c.size]) {
			t.Errorf("read %d: %v", i, err)
		}
		if len(opened) != c.opened {
			t.Errorf("after read %d, %d ranges were opened", i, len(opened))
		}
	}
	if err := errors.Join(s.close(), s.close()); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// TestPackStreamFaults: what opening, reading and closing say comes back.
func TestPackStreamFaults(t *testing.T) {
	mine := errors.New("mine")
	ranges := []Range{{Offset: 0, Size: 10}, {Offset: 20, Size: 10}}
	for name, c := range map[string]struct {
		open func(context.Context, Range) (io.ReadCloser, error)
		at   int64
		want error
	}{
		"opening": {func(context.Context, Range) (io.ReadCloser, error) { return nil, mine }, 0, mine},
		"reading": {func(context.Context, Range) (io.ReadCloser, error) { return io.NopCloser(failing(nil, mine)), nil }, 0, mine},
		"short": {func(context.Context, Range) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(make([]byte, 5))), nil
		}, 0, io.ErrUnexpectedEOF},
		"short before": {func(context.Context, Range) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(make([]byte, 1))), nil
		},
			3, io.ErrUnexpectedEOF},
	} {
		s := &packStream{ranges: ranges}
		if err := s.read(t.Context(), c.open, c.at, make([]byte, 7)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLocalWindow: what lies one behind the other is read at once, and other places, sources and short reads anew.
func TestLocalWindow(t *testing.T) {
	data := chunkNoise(1, 10_000)
	from := &countedReads{ReaderAt: bytes.NewReader(data)}
	var w localWindow
	for i, c := range []struct {
		source       int32
		at           int64
		size, extent int
		reads        int
	}{
		{1, 100, 50, 400, 1}, {1, 150, 50, 350, 1}, {1, 450, 50, 50, 1}, {1, 450, 51, 51, 2}, {1, 100, 50, 50, 3},
		{2, 100, 50, 50, 4}, {2, 9_950, 50, 200, 5}, {2, 9_960, 40, 40, 5},
	} {
		b, err := w.read(from, step{c.source, c.at}, c.size, c.extent)
		if err != nil || !bytes.Equal(b, data[c.at:int(c.at)+c.size]) {
			t.Errorf("read %d: %v", i, err)
		}
		if from.reads != c.reads {
			t.Errorf("read %d: %d reads of the source, want %d", i, from.reads, c.reads)
		}
	}
	if _, err := w.read(from, step{2, 9_990}, 11, 11); err == nil {
		t.Error("bytes behind the end are read")
	}
	if b, err := w.read(from, step{2, 9_990}, 10, 10); err != nil || !bytes.Equal(b, data[9_990:]) {
		t.Errorf("after a short read: %v", err)
	}
}

// TestUnexpected: only the end becomes another error.
func TestUnexpected(t *testing.T) {
	mine := errors.New("mine")
	for err, want := range map[error]error{io.EOF: io.ErrUnexpectedEOF, io.ErrUnexpectedEOF: io.ErrUnexpectedEOF, mine: mine} {
		if got := unexpectedEOF(err); got != want {
			t.Errorf("%v became %v", err, got)
		}
	}
}

// TestAssembleUnasked: a plan that has not been asked what is missing is not built.
func TestAssembleUnasked(t *testing.T) {
	p, err := NewPlan([]*Index{goldenIndex()})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Assemble(t.Context(), &shelfDisk{}, nil); err != errNotPlanned {
		t.Error(err)
	}
}

// TestWorthPacking: one byte in 32 has to be saved, three in a hundred of a whole object.
func TestWorthPacking(t *testing.T) {
	for size, most := range map[int]int{0: -1, 1: 0, 31: 30, 32: 30, 64: 61, 65_536: 63_487} {
		if worthPacking(size, most+1) || most >= 0 && !worthPacking(size, most) {
			t.Errorf("%d bytes: %d are not the most", size, most)
		}
	}
	if savesEnough(100, 97) || !savesEnough(100, 96) || savesEnough(0, 0) || !brotliWins(100, 96) || brotliWins(100, 97) {
		t.Error("the bounds of whole objects are others")
	}
}

// TestRepairStaysInItsPack: a chunk of another pack is not read from this one, although it begins where this one ends.
func TestRepairStaysInItsPack(t *testing.T) {
	chunks := []Chunk{{Pack: 0, Offset: 0, Packed: 10}, {Pack: 0, Offset: 10, Packed: 10}, {Pack: 1, Offset: 20, Packed: 10}}
	a := &assembly{plan: &Plan{files: []*Index{{Chunks: chunks}}, steps: [][]step{make([]step, len(chunks))}}}
	if size, n := a.repairRange(0, 8); size != 20 || n != 2 {
		t.Errorf("%d chunks of %d bytes", n, size)
	}
}
