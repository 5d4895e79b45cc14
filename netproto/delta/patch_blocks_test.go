package delta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"collet/platform/testlevel"
)

// TestBlocks: what is put into blocks, in any pieces, comes out as it was, and a block is given on when it is full.
func TestBlocks(t *testing.T) {
	data := noise(1, 5*blockSize+777)
	for _, most := range []int{1000, pieceSize - 1, pieceSize} {
		k := newBlocks(int64(len(data)))
		var err error
		go func() {
			defer k.end()
			for rest := data; len(rest) > 0 && err == nil; {
				var b []byte
				if b, err = k.reserve(t.Context(), min(most, len(rest))); err == nil {
					rest = rest[copy(b, rest):]
				}
			}
			err = errors.Join(err, k.flush(t.Context()))
		}()
		var got []byte
		count := 0
		for b := range k.full {
			if len(b) > blockSize {
				t.Fatalf("a block of %d bytes", len(b))
			}
			got = append(got, b...)
			count++
			k.free <- b
		}
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("pieces of %d: %v, %d bytes of %d", most, err, len(got), len(data))
		}
		if least := len(data)/blockSize + 1; count < least || count > 2*least {
			t.Errorf("pieces of %d came in %d blocks", most, count)
		}
	}
}

// TestBlocksAreAsSmallAsTheContents: little output takes little memory.
func TestBlocksAreAsSmallAsTheContents(t *testing.T) {
	k := newBlocks(10)
	b, err := k.reserve(t.Context(), 10)
	if err != nil || len(b) != 10 || cap(k.b) != 10 {
		t.Errorf("%v, %d bytes, a block of %d", err, len(b), cap(k.b))
	}
	if len(k.free) != blockCount-1 {
		t.Errorf("%d blocks are free", len(k.free))
	}
}

// TestBlocksStop: a maker that waits for a block ends with its context, and one that is stopped gives nothing on.
func TestBlocksStop(t *testing.T) {
	k := newBlocks(1 << 40)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		for {
			if _, err := k.reserve(ctx, pieceSize); err != nil {
				ended <- err
				return
			}
		}
	}()
	for range blockCount {
		<-k.full // and none is given back
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	k = newBlocks(100)
	if _, err := k.reserve(t.Context(), 50); err != nil {
		t.Fatal(err)
	}
	if err := k.flush(ctx); !errors.Is(err, context.Canceled) || len(k.full) != 0 {
		t.Errorf("passed on after the end: %v", err)
	}
}

// slowDisk is a writer that fails after some bytes.
type slowDisk struct {
	left int
	err  error
}

func (d *slowDisk) Write(b []byte) (int, error) {
	if d.left -= len(b); d.left < 0 {
		return 0, d.err
	}
	return len(b), nil
}

// TestApplyEndsItsGoroutine: whatever goes wrong, and wherever, nothing goes on behind the end of ApplyPatch, and no old
// content and no byte of the patch is read any more.
func TestApplyEndsItsGoroutine(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	old := make([]byte, 12*blockSize) // what is right compresses at once
	copy(old, noise(1, 5000))
	fresh := append(noise(2, 100), old...)
	patch, _ := made(t, [][]byte{old}, [][]byte{fresh})
	broken := errors.New("the disk is full")
	for _, room := range []int{0, 1, blockSize, 3*blockSize + 1, 7 * blockSize, len(fresh) - 1} {
		w := &watched{Reader: bytes.NewReader(patch), at: bytes.NewReader(old)}
		err := ApplyPatch(t.Context(), w, []Old{{w, int64(len(old))}}, []int64{int64(len(fresh))}, func(int) (io.Writer, error) { return &slowDisk{room, broken}, nil })
		if err != broken {
			t.Errorf("room for %d bytes: %v", room, err)
		}
		w.end(t, fmt.Sprintf("room for %d bytes", room))
	}
	for _, after := range []int{0, 1, 2, 9} {
		ctx, stop := context.WithCancel(t.Context())
		w := &watched{Reader: bytes.NewReader(patch), at: bytes.NewReader(old)}
		err := ApplyPatch(ctx, w, []Old{{w, int64(len(old))}}, []int64{int64(len(fresh))}, func(int) (io.Writer, error) { return &stopping{after, stop}, nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("stopped after %d writes: %v", after, err)
		}
		w.end(t, fmt.Sprintf("stopped after %d writes", after))
		stop()
	}
}

// stopping ends a context at one of its writes.
type stopping struct {
	after int
	stop  func()
}

func (s *stopping) Write(b []byte) (int, error) {
	if s.after == 0 {
		s.stop()
	}
	s.after--
	return len(b), nil
}

// watched is a patch and an old content that notice reads behind the end.
type watched struct {
	*bytes.Reader
	at    io.ReaderAt
	mu    sync.Mutex
	ended bool
	late  int
}

func (w *watched) note() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		w.late++
	}
}

func (w *watched) Read(b []byte) (int, error) { w.note(); return w.Reader.Read(b) }

func (w *watched) ReadAt(b []byte, at int64) (int, error) { w.note(); return w.at.ReadAt(b, at) }

func (w *watched) end(t *testing.T, what string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended = true; w.late > 0 {
		t.Errorf("%s: %d reads behind the end", what, w.late)
	}
}

// TestApplyWritesInLargePieces: matches of some bytes do not become writes of some bytes, nor reads.
func TestApplyWritesInLargePieces(t *testing.T) {
	old := words(1, sized(600_000, 60_000))
	fresh := bytes.Clone(old)
	for at := 100; at+300 < len(fresh); at += 300 {
		fresh = append(fresh[:at], append([]byte("#"), fresh[at:]...)...)
	}
	patch, stats := made(t, [][]byte{old}, [][]byte{fresh})
	if stats.Matches < 100 {
		t.Fatalf("only %d matches, so this shows nothing", stats.Matches)
	}
	from, to := &countedReads{ReaderAt: bytes.NewReader(old)}, &countedWrites{}
	err := ApplyPatch(t.Context(), bytes.NewReader(patch), []Old{{from, int64(len(old))}}, []int64{int64(len(fresh))}, func(int) (io.Writer, error) { return to, nil })
	if err != nil || !bytes.Equal(to.Bytes(), fresh) {
		t.Fatalf("%v, or it differs", err)
	}
	if most := len(fresh)/(blockSize/2) + 1; to.writes > most {
		t.Errorf("%d writes, the most is %d", to.writes, most)
	}
	if most := 2*len(old)>>pageBits + 2; from.reads > most {
		t.Errorf("%d reads, the most is %d", from.reads, most)
	}
}

type countedReads struct {
	io.ReaderAt
	reads int
}

func (c *countedReads) ReadAt(b []byte, at int64) (int, error) {
	c.reads++
	return c.ReaderAt.ReadAt(b, at)
}

type countedWrites struct {
	bytes.Buffer
	writes int
}

func (c *countedWrites) Write(b []byte) (int, error) { c.writes++; return c.Buffer.Write(b) }

// TestOldPages: reads through pages give what reads without them give, over borders of contents and through empty ones.
func TestOldPages(t *testing.T) {
	whole := noise(3, 11<<pageBits)
	var parts []Old
	for _, size := range []int{0, 1, 1<<pageBits - 1, 0, 0, 3, 1 << pageBits, 5 << pageBits, 100, 0, 1 << pageBits, 7} {
		at := int(newContents(parts).size())
		parts = append(parts, Old{bytes.NewReader(whole[at : at+size]), int64(size)})
	}
	whole = whole[:newContents(parts).size()]
	rapid.Check(t, func(t *rapid.T) {
		o := newOldPages(newContents(parts))
		for range 20 {
			at := rapid.IntRange(0, len(whole)).Draw(t, "at")
			b := make([]byte, rapid.IntRange(0, min(len(whole)-at, 3<<pageBits)).Draw(t, "size"))
			if err := o.readAt(b, int64(at)); err != nil || !bytes.Equal(b, whole[at:at+len(b)]) {
				t.Fatalf("%d bytes at %d: %v", len(b), at, err)
			}
		}
	})
}

// TestOldPagesReadNoOther: a content that no match needs is not touched, though it lies in the same page.
func TestOldPagesReadNoOther(t *testing.T) {
	broken := Old{faulty{errors.New("this content is gone")}, 40}
	here := words(1, 500)
	o := newOldPages(newContents([]Old{broken, {bytes.NewReader(here), 500}, broken}))
	b := make([]byte, 500)
	if err := o.readAt(b, 40); err != nil || !bytes.Equal(b, here) {
		t.Errorf("the good content: %v", err)
	}
	for _, at := range []int64{0, 39, 540, 579} {
		if err := o.readAt(b[:1], at); err == nil {
			t.Errorf("byte %d of a broken content is read", at)
		}
	}
	if err := o.readAt(b[:2], 539); err == nil {
		t.Error("bytes on both sides of the border are read")
	}
}

// TestOldPagesOfAShortContent: what is there of a content that is too short is read; what is not there is an error that
// says where.
func TestOldPagesOfAShortContent(t *testing.T) {
	here := words(1, 700)
	o := newOldPages(newContents([]Old{{bytes.NewReader(here), 900}}))
	b := make([]byte, 700)
	if err := o.readAt(b, 0); err != nil || !bytes.Equal(b, here) {
		t.Errorf("what is there: %v", err)
	}
	for _, at := range []int64{699, 700, 899} {
		err := o.readAt(b[:min(2, 900-at)], at)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("from %d: %v", at, err)
		}
	}
	if err := o.readAt(b, 0); err != nil || !bytes.Equal(b, here) {
		t.Errorf("what is there, after a fault: %v", err)
	}
}

// TestOldPagesKeep: pages that were just read are not read again.
func TestOldPagesKeep(t *testing.T) {
	r := &countedReads{ReaderAt: bytes.NewReader(noise(1, pageCount<<pageBits))}
	o := newOldPages(newContents([]Old{{r, pageCount << pageBits}}))
	b := make([]byte, 100)
	for range 3 {
		for page := range pageCount {
			if err := o.readAt(b, int64(page)<<pageBits+77); err != nil {
				t.Fatal(err)
			}
		}
	}
	if r.reads != pageCount {
		t.Errorf("%d reads for %d pages", r.reads, pageCount)
	}
}

// TestContents: the parts of contents, and what reading them says.
func TestContents(t *testing.T) {
	c := newContents(olds([]byte("abc"), nil, []byte("de"), nil))
	if c.size() != 5 || newContents(nil).size() != 0 {
		t.Errorf("sizes %d and %d", c.size(), newContents(nil).size())
	}
	for at, want := range []int{0, 0, 0, 2, 2} {
		if got := c.partAt(int64(at)); got != want {
			t.Errorf("byte %d lies in part %d, want %d", at, got, want)
		}
	}
	for from := range 5 {
		for to := from; to <= 5; to++ {
			b := make([]byte, to-from)
			if err := c.readAt(b, int64(from)); err != nil || string(b) != "abcde"[from:to] {
				t.Errorf("%d to %d: %q, %v", from, to, b, err)
			}
		}
	}
	if all, err := c.readAll(); err != nil || string(all) != "abcde" {
		t.Errorf("%q, %v", all, err)
	}
	mine := errors.New("mine")
	_, err := newContents([]Old{{bytes.NewReader([]byte("abc")), 3}, {faulty{mine}, 2}}).readAll()
	if !errors.Is(err, mine) || err.Error() != "read old content 1 at byte 0: mine" {
		t.Errorf("a fault: %v", err)
	}
}

// TestSourceKeepsTheReadersFault: what the reader says is told from what the bytes say.
func TestSourceKeepsTheReadersFault(t *testing.T) {
	testlevel.Slow(t)
	old, fresh := noise(1, 100_000), append(noise(1, 50_000), noise(2, 50_000)...)
	patch, _ := made(t, [][]byte{old}, [][]byte{fresh})
	mine := errors.New("mine")
	for _, cut := range []int{0, 1, 5, 20, len(patch) / 2, len(patch) - 1} {
		_, err := applied(io.MultiReader(bytes.NewReader(patch[:cut]), iotest.ErrReader(mine)), [][]byte{old}, []int64{int64(len(fresh))})
		if err != mine {
			t.Errorf("a reader that fails after %d bytes: %v", cut, err)
		}
	}
}

// TestApplyOverlaps: new bytes are made while others are written. The writer waits until the maker has read on.
func TestApplyOverlaps(t *testing.T) {
	old := make([]byte, 8*blockSize)
	patch, _ := made(t, [][]byte{old}, [][]byte{old})
	reads := make(chan struct{}, 1000)
	from := Old{signals{bytes.NewReader(old), reads}, int64(len(old))}
	first := true
	w := writerFunc(func(b []byte) (int, error) {
		if first {
			first = false
			for range 2 * blockSize / pieceSize {
				select {
				case <-reads:
				case <-time.After(2 * time.Minute):
					return 0, errors.New("nothing is made while the first block is written")
				}
			}
		}
		return len(b), nil
	})
	if err := ApplyPatch(t.Context(), bytes.NewReader(patch), []Old{from}, []int64{int64(len(old))}, func(int) (io.Writer, error) { return w, nil }); err != nil {
		t.Error(err)
	}
}

type signals struct {
	io.ReaderAt
	to chan struct{}
}

func (s signals) ReadAt(b []byte, at int64) (int, error) {
	s.to <- struct{}{}
	return s.ReaderAt.ReadAt(b, at)
}

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
