package deflate

import (
	"bufio"
	"cmp"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"collet/platform/interrupt"
)

// A file is a row of gaps and streams; the last gap may be empty. In its form the streams of the recipe are inflated, and all else is as in
// the file.

const (
	// batchBytes is how many bytes of results are in memory at once: 8 MiB. A larger stream is done alone, as a stream.
	batchBytes = 8 << 20
	// batchStreams is the largest number of streams in a batch.
	batchStreams = 4096
	// pageBytes is the size of a buffer for copies and reads.
	pageBytes = 64 << 10
)

// FileError says that a file does not fit its recipe, or that its form does not give it: the recipe or the file is not the expected one.
type FileError struct{ Reason string }

func (e *FileError) Error() string { return "expand a file: " + e.Reason }

// part is one stream of a form.
type part struct {
	stream
	at     int64  // its place in the form, inflated or not
	params Params // zero: it is as in the file
}

// parts joins the streams of a file with their recipe.
func parts(list []stream, r Recipe) ([]part, error) {
	if len(list) != r.Streams() {
		return nil, &FileError{fmt.Sprintf("it has %d streams, the recipe has %d", len(list), r.Streams())}
	}
	result, shift := make([]part, 0, len(list)), int64(0)
	for i, p := range r.params() {
		s := list[i]
		result = append(result, part{s, s.start + shift, p})
		if p != (Params{}) {
			shift += s.plain - s.size
		}
	}
	return result, nil
}

// FormSize is the size of the form of a file, in bytes. Errors are those of the file, and *FileError.
func FormSize(file io.ReaderAt, size int64, r Recipe) (int64, error) {
	list, err := scan(file, size, size, nil)
	if err != nil {
		return 0, err
	}
	all, err := parts(list, r)
	return sizeOfForm(all, size), err
}

// sizeOfForm is the size of the form of a file with these parts.
func sizeOfForm(all []part, size int64) int64 {
	for _, p := range all {
		if p.params != (Params{}) {
			size += p.plain - p.size
		}
	}
	return size
}

// Expand writes the form of a file, of at most limit bytes. It uses all cores and some 10 MiB of memory. Errors are those of ctx, of the
// file and of out, and *FileError.
func Expand(ctx context.Context, out io.Writer, file io.ReaderAt, size, limit int64, r Recipe) error {
	file = &lockedReader{r: file}
	list, err := scan(file, size, size, nil)
	if err != nil {
		return err
	}
	all, err := parts(list, r)
	if err != nil {
		return err
	}
	if n := sizeOfForm(all, size); n > limit {
		return &FileError{fmt.Sprintf("its form would have %d bytes, the most is %d", n, limit)}
	}
	return inOrder(ctx, &ordered{
		out: out, gaps: file, parts: all, end: size,
		gap:  func(p part) (from, to int64) { return p.start, p.start + p.size },
		size: func(p part) int64 { return p.plain },
		make: func(_ int, p part, out io.Writer) error { return inflate(ctx, out, file, p.stream) },
	})
}

// Rebuild writes the file with a form. It uses all cores, and some 10 MiB of memory with tables of 0.4 MiB a core. Errors are those of ctx,
// of the form and of out, and *FileError. The caller verifies the file.
func Rebuild(ctx context.Context, out io.Writer, form io.ReaderAt, formSize, fileSize int64, r Recipe) error {
	params := r.params()
	list, err := scan(form, formSize, fileSize, func(i int) bool { return i < len(params) && params[i] != Params{} })
	if err != nil {
		return err
	}
	all, err := parts(list, r)
	if err != nil {
		return err
	}
	encoders := make([]*encoder, runtime.GOMAXPROCS(0))
	return inOrder(ctx, &ordered{
		out: out, gaps: form, parts: all, end: formSize,
		gap:  func(p part) (from, to int64) { return p.at, p.at + p.plain },
		size: func(p part) int64 { return p.size },
		make: func(worker int, p part, out io.Writer) error {
			if encoders[worker] == nil {
				encoders[worker] = newEncoder()
			}
			in := interrupt.Reader(ctx, io.NewSectionReader(form, p.at, p.plain))
			exact := &exactWriter{out, p.size}
			err := encoders[worker].encode(p.params, in, exact)
			if err == nil && exact.left > 0 {
				err = errSize
			}
			return err
		},
	})
}

var errSize = &FileError{"a stream is compressed to another size"}

// exactWriter refuses more than left bytes.
type exactWriter struct {
	out  io.Writer
	left int64
}

func (w *exactWriter) Write(b []byte) (int, error) {
	if int64(len(b)) > w.left {
		return 0, errSize
	}
	w.left -= int64(len(b))
	return w.out.Write(b)
}

// lockedReader serializes reads of a file that allows only one at a time.
type lockedReader struct {
	mu sync.Mutex
	r  io.ReaderAt
}

func (l *lockedReader) ReadAt(b []byte, at int64) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.ReadAt(b, at)
}

// ordered is a row of parts to be made by several workers and written in order.
type ordered struct {
	out   io.Writer
	gaps  io.ReaderAt // has what is between the parts
	parts []part
	end   int64                                         // of gaps
	gap   func(p part) (from, to int64)                 // the place of a part in gaps
	size  func(p part) int64                            // of the result for a part
	make  func(worker int, p part, out io.Writer) error // makes the result for a part
}

// inOrder writes all parts with parameters and what is between them. Batches of small parts are made at once.
func inOrder(ctx context.Context, o *ordered) error {
	made := slices.DeleteFunc(slices.Clone(o.parts), func(p part) bool { return p.params == Params{} })
	at, buffer := int64(0), make([]byte, pageBytes)
	results := make([]limitedBuffer, min(len(made), batchStreams))
	var arena []byte // for the results of a batch
	for len(made) > 0 {
		n, total := 0, int64(0)
		for n < min(len(made), batchStreams) && (n == 0 || total+o.size(made[n]) <= batchBytes) {
			total += o.size(made[n])
			n++
		}
		if total <= batchBytes {
			arena = slices.Grow(arena[:0], batchBytes)
			for i, p := range made[:n] {
				end := len(arena) + int(o.size(p))
				results[i] = limitedBuffer{arena[len(arena):len(arena):end], int(o.size(p))}
				arena = arena[:end]
			}
			if err := o.makeBatch(ctx, made[:n], results); err != nil {
				return err
			}
		}
		for i, p := range made[:n] {
			from, to := o.gap(p)
			if err := copyRange(ctx, o.out, o.gaps, at, from, buffer); err != nil {
				return err
			}
			at = to
			var err error
			if total <= batchBytes {
				_, err = o.out.Write(results[i].b)
			} else {
				err = o.make(0, p, o.out)
			}
			if err != nil {
				return err
			}
		}
		made = made[n:]
	}
	return copyRange(ctx, o.out, o.gaps, at, o.end, buffer)
}

// makeBatch makes the results of some parts in the buffers of results, the largest first.
func (o *ordered) makeBatch(ctx context.Context, batch []part, results []limitedBuffer) error {
	order := make([]int, len(batch))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(o.size(batch[b]), o.size(batch[a])) })
	var next atomic.Int64
	workers, ctx := errgroup.WithContext(ctx)
	for worker := range min(runtime.GOMAXPROCS(0), len(batch)) {
		workers.Go(func() error {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(order) {
					return nil
				}
				if err := o.make(worker, batch[order[i]], &results[order[i]]); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return workers.Wait()
}

// limitedBuffer is a buffer that never grows.
type limitedBuffer struct {
	b     []byte
	limit int
}

func (l *limitedBuffer) Write(b []byte) (int, error) {
	if len(l.b)+len(b) > l.limit {
		return 0, errSize
	}
	l.b = append(l.b, b...)
	return len(b), nil
}

// copyRange copies the bytes of r from a place up to another.
func copyRange(ctx context.Context, out io.Writer, r io.ReaderAt, from, to int64, buffer []byte) error {
	n, err := io.CopyBuffer(struct{ io.Writer }{out}, interrupt.Reader(ctx, io.NewSectionReader(r, from, to-from)), buffer)
	if err == nil && n < to-from {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// inflate inflates a stream of a file. A stream that is damaged or has other sizes is a *FileError.
func inflate(ctx context.Context, out io.Writer, file io.ReaderAt, s stream) error {
	in := newInflater(ctx, file, s)
	n, err := io.Copy(out, io.LimitReader(in, s.plain))
	if err == nil && n < s.plain {
		err = errInflated
	}
	if err == nil {
		err = in.checkEnd()
	}
	return err
}

var errInflated = &FileError{"a stream is inflated to another size"}

// inflater inflates a stream of a file.
type inflater struct {
	compressed *io.LimitedReader
	buffer     *bufio.Reader
	plain      io.ReadCloser
}

func newInflater(ctx context.Context, file io.ReaderAt, s stream) *inflater {
	in := &io.LimitedReader{R: interrupt.Reader(ctx, io.NewSectionReader(file, s.start, s.size)), N: s.size}
	buffer := bufio.NewReaderSize(in, int(min(s.size, pageBytes)))
	return &inflater{in, buffer, flate.NewReader(buffer)}
}

// Read implements io.Reader. Damage is a *FileError.
func (i *inflater) Read(b []byte) (int, error) {
	n, err := i.plain.Read(b)
	var corrupt flate.CorruptInputError
	if errors.As(err, &corrupt) || err == io.ErrUnexpectedEOF {
		err = &FileError{"a stream is damaged: " + err.Error()}
	}
	return n, err
}

// checkEnd checks that the stream ends here, and its compressed bytes, too.
func (i *inflater) checkEnd() error {
	var more [1]byte
	switch n, err := i.Read(more[:]); {
	case n > 0 || err == nil:
		return errInflated
	case err != io.EOF:
		return err
	case i.compressed.N > 0 || i.buffer.Buffered() > 0:
		return &FileError{"a stream ends before its place does"}
	}
	return nil
}
