package deflate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"
)

const (
	// sampleLargest and sampleSpread are how many of the largest streams, and of streams spread over the file, get all parameters tried.
	// The other streams try what was found there.
	sampleLargest = 16
	sampleSpread  = 16
)

// candidates are all parameters, the most usual ones first.
func candidates() (list []Params) {
	levels := []uint8{6, 9, 5, 1, 8, 7, 4, 3, 2}
	for _, level := range levels {
		list = append(list, Params{Level: level, MemLevel: 8}, Params{Level: level}, Params{Level: level, MemLevel: 9})
	}
	for _, level := range levels {
		list = append(list, Params{level, 8, true}, Params{level, 9, true})
	}
	return list
}

// Analyze makes the recipe of a file: it finds the parameters that make each stream again, bit for bit. The result is the same for any
// number of workers. A file without such streams gives a recipe that does not expand anything. Errors are those of ctx and of the file.
func Analyze(ctx context.Context, file io.ReaderAt, size int64, workers int) (Recipe, error) {
	list, err := scan(file, size, size, nil)
	if err != nil || len(list) == 0 {
		return Recipe{}, err
	}
	return analyze(ctx, &lockedReader{r: file}, list, make([]bool, len(list)), workers)
}

// analyze makes the recipe of a file with these streams. It allows concurrent reads. Those in keep stay as they are.
func analyze(ctx context.Context, file *lockedReader, list []stream, keep []bool, workers int) (Recipe, error) {
	found := make([]Params, len(list))
	var todo []int
	for i := range list {
		if !keep[i] {
			todo = append(todo, i)
		}
	}
	var likely []Params
	e := newEncoder()
	for _, i := range samples(list, todo) {
		p, err := e.find(ctx, file, list[i], append(slices.Clone(likely), candidates()...))
		if err != nil {
			return Recipe{}, err
		}
		if found[i] = p; p != (Params{}) && !slices.Contains(likely, p) {
			likely = append(likely, p)
		}
	}
	var err error
	if len(likely) > 0 {
		err = findAll(ctx, file, list, todo, found, likely, workers)
	}
	var r Recipe
	for _, p := range found {
		r.add(p)
	}
	return r, err
}

// AnalyzeForm is Analyze with the size of the form. The size is 0 if no stream can be made again, or if the form would have more than most
// bytes or be more than maxExpansion times the file.
func AnalyzeForm(ctx context.Context, file io.ReaderAt, size, most int64, workers int) (r Recipe, form int64, err error) {
	if r, err = Analyze(ctx, file, size, workers); err != nil || !r.Expands() {
		return r, 0, err
	}
	if form, err = FormSize(file, size, r); !fits(form, size, most) {
		form = 0
	}
	return r, form, err
}

// fits reports whether a form of a file has at most most bytes, and not many times those of the file.
func fits(form, size, most int64) bool { return form <= most && form/maxExpansion <= size }

// samples selects streams of those in todo, the largest first.
func samples(list []stream, todo []int) []int {
	order := slices.Clone(todo)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(list[b].plain, list[a].plain) })
	chosen := slices.Clone(order[:min(len(order), sampleLargest)])
	for n := range min(sampleSpread, len(todo)) {
		if i := todo[n*len(todo)/sampleSpread]; !slices.Contains(chosen, i) {
			chosen = append(chosen, i)
		}
	}
	return chosen
}

// findAll finds the parameters of the streams in open that have none yet.
func findAll(ctx context.Context, file io.ReaderAt, list []stream, open []int, found, likely []Params, workers int) error {
	group, ctx := errgroup.WithContext(ctx)
	todo := make(chan int)
	group.Go(func() error {
		defer close(todo)
		for _, i := range open {
			if found[i] != (Params{}) {
				continue
			}
			select {
			case todo <- i:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range max(workers, 1) {
		group.Go(func() error {
			e := newEncoder()
			for i := range todo {
				p, err := e.find(ctx, file, list[i], likely)
				if err != nil {
					return err
				}
				found[i] = p
			}
			return nil
		})
	}
	return group.Wait()
}

var errDiffers = errors.New("the stream is not made by these parameters")

// find finds the first parameters that make a stream again, or none.
func (e *encoder) find(ctx context.Context, file io.ReaderAt, s stream, all []Params) (Params, error) {
	for _, p := range all {
		in := newInflater(ctx, file, s)
		original := &comparer{r: io.NewSectionReader(file, s.start, s.size)}
		plain := &io.LimitedReader{R: in, N: s.plain + 1}
		err := e.encode(p, plain, original)
		if err == nil && original.compared == s.size && plain.N == 1 {
			err = in.checkEnd()
			if err == nil {
				return p, nil
			}
		}
		var wrong *FileError
		switch {
		case err == nil || errors.Is(err, errDiffers):
		case errors.As(err, &wrong):
			return Params{}, nil
		default:
			return Params{}, err
		}
	}
	return Params{}, nil
}

// comparer compares what is written with a reader.
type comparer struct {
	r        io.Reader
	compared int64
	buffer   []byte
}

func (c *comparer) Write(b []byte) (int, error) {
	c.buffer = slices.Grow(c.buffer[:0], len(b))[:len(b)]
	n, err := io.ReadFull(c.r, c.buffer)
	if err == io.EOF || err == io.ErrUnexpectedEOF || err == nil && !bytes.Equal(b, c.buffer) {
		return 0, errDiffers
	}
	c.compared += int64(n)
	return len(b), err
}
