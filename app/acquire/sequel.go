package acquire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"collet/app/download"
	"collet/netproto/release"
)

const (
	// sequelPatience is how long the sequel may be too slow before its files are requested one by one, as without it.
	sequelPatience = 3 * time.Second
	// sequelStep is how many bytes must arrive in that time, unless a part is completed: a modem of 56 kbit/s is faster.
	sequelStep = 8 << 10
	// sequelPage is how many bytes are read at once.
	sequelPage = 128 << 10
)

// sequel is the file of one mirror with the updates since the installed release, see release.EncodeSequel. It is requested together with
// the timestamp, which it needs, so that an update costs as many round trips as one download. Its parts are unverified. Each part is
// returned once, so a caller that finds it wrong gets the file itself when it asks again.
//
// mu guards the fields below it. Only the goroutine of read adds parts and data.
type sequel struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	has    func() release.SequelReader // what a relative sequel may leave out; called in the goroutine of read
	keep   *download.Pieces            // keeps received bytes for a later process
	count  func(n int)                 // called with the number of received bytes

	mu    sync.Mutex
	parts []*sequelPart
	table bool          // parts are known
	next  chan struct{} // nil unless there is no relative sequel; closed when the packed one is needed
	over  bool          // reading has ended
	step  chan struct{} // closed when one of these changes
	used  bool          // a part was returned
}

// sequelPart is a file of the sequel, with the bytes received so far.
type sequelPart struct {
	name  string
	size  int64
	data  []byte
	taken bool
}

// startSequel begins to read the sequel to an entry. It calls has and count from another goroutine.
func startSequel(ctx context.Context, mirror download.Mirror, entry release.Entry, has func() release.SequelReader, keep *download.Pieces, count func(n int), log zerolog.Logger) *sequel {
	ctx, cancel := context.WithCancel(ctx)
	q := &sequel{cancel: cancel, has: sync.OnceValue(has), keep: keep, count: count, step: make(chan struct{})}
	q.done.Go(func() {
		err := q.read(ctx, mirror, entry)
		q.change(func() { q.over = true })
		if err != nil && ctx.Err() == nil && !errors.Is(err, fs.ErrNotExist) {
			log.Info().Err(err).Str("mirror", mirror.Name()).Msg("the sequel did not arrive; its files are requested by name")
		}
	})
	return q
}

// close cancels reading and waits for its end. On nil it does nothing.
func (q *sequel) close() {
	if q != nil {
		q.cancel()
		q.done.Wait()
	}
}

// change changes the state under the lock and wakes waiting callers.
func (q *sequel) change(do func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	do()
	close(q.step)
	q.step = make(chan struct{})
}

// read reads the whole sequel into memory, at most release.MaxSequel bytes. New players have the packed one only, and so have clients that
// lack their list or head. Folders of earlier publishers lack the relative one, and it may leave out more than a client has.
func (q *sequel) read(ctx context.Context, mirror download.Mirror, entry release.Entry) error {
	patience := time.AfterFunc(sequelPatience, q.cancel)
	defer patience.Stop()
	relative := entry.Number != 0 && len(q.has().List) > 0 && len(q.has().Head) > 0
	first := entry.PackedSequelPath()
	if relative {
		first = entry.RelativeSequelPath()
	}
	body, r, table, err := q.open(ctx, mirror, first)
	missing := errors.Is(err, fs.ErrNotExist)
	if relative && (missing || errors.Is(err, release.ErrOtherKnownData)) {
		patience.Stop()
		if missing {
			if err := q.awaitNeed(ctx); err != nil {
				return err
			}
		}
		patience.Reset(sequelPatience)
		body, r, table, err = q.open(ctx, mirror, entry.PackedSequelPath())
	}
	if err != nil {
		return err
	}
	defer body.Close()
	if len(table) > 0 { // that of the newest release is empty, and may come after what was kept is removed
		q.keep.Add(entry.SequelPath(), -1, 0, nil)
	}
	for _, p := range table {
		if p.Data != nil {
			q.keep.Add(p.Name, p.Size, 0, p.Data)
		}
	}
	q.change(func() {
		for _, p := range table {
			q.parts = append(q.parts, &sequelPart{name: p.Name, size: p.Size, data: p.Data})
		}
		q.table = true
	})
	page := make([]byte, sequelPage)
	came := 0
	for _, p := range q.parts {
		for left := p.size - int64(len(p.data)); left > 0; {
			n, err := r.Read(page[:min(int64(len(page)), left)])
			q.keep.Add(p.name, p.size, p.size-left, page[:n])
			left, came = left-int64(n), came+n
			q.change(func() { p.data = append(p.data, page[:n]...) })
			if err != nil && left > 0 {
				return err
			}
			if came >= sequelStep || left == 0 {
				patience.Reset(sequelPatience)
				came = 0
			}
		}
	}
	return nil
}

// open requests a sequel and reads its table. The caller closes body, unless there is an error.
func (q *sequel) open(ctx context.Context, mirror download.Mirror, name string) (body io.Closer, r *bufio.Reader, table []release.SequelPart, err error) {
	answer, err := mirror.Get(ctx, name, 0, -1, release.MaxSequel)
	if err != nil {
		return nil, nil, nil, err
	}
	r = bufio.NewReaderSize(countedReader{answer, q.count}, sequelPage)
	if table, err = release.ReadSequelTable(r, q.has); err != nil {
		return nil, nil, nil, errors.Join(err, answer.Close())
	}
	return answer, r, table, nil
}

// awaitNeed waits until a part is asked for: a client without an update needs no sequel.
func (q *sequel) awaitNeed(ctx context.Context) error {
	needed := make(chan struct{})
	q.change(func() { q.next = needed })
	select {
	case <-needed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// needNext requests the packed sequel if there is no relative one, and reports whether its table is not there yet. It holds mu.
func (q *sequel) needNext() bool {
	if q.next == nil || q.table || q.over {
		return false
	}
	select {
	case <-q.next:
	default:
		close(q.next)
	}
	return true
}

// countedReader reports the number of bytes of each read to count.
type countedReader struct {
	io.Reader
	count func(n int)
}

func (r countedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.count(n)
	return n, err
}

// takePart waits for a part and returns it. It is false if the file is not a part, was returned before, or does not arrive; then the caller
// requests the file by its name. It is also false while the packed sequel is requested in place of a missing relative one: a folder may have neither,
// and both requests together save a round trip. progress, which may be nil, is called with the number of received bytes.
func (q *sequel) takePart(ctx context.Context, name string, progress func(done int64)) ([]byte, bool) {
	if q == nil {
		return nil, false
	}
	for reported := int64(0); ; {
		part, here, step := q.findPart(name)
		switch {
		case part == nil && step == nil:
			return nil, false
		case part != nil && here == part.size:
			return part.data, true
		case progress != nil && here > reported:
			reported = here
			progress(here)
		}
		select {
		case <-step:
		case <-ctx.Done():
			return nil, false
		}
	}
}

// findPart finds a part and its number of received bytes, and marks a complete one as taken. If part and step are nil, the part does not
// arrive.
func (q *sequel) findPart(name string) (part *sequelPart, here int64, step <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, p := range q.parts {
		if p.name == name && !p.taken {
			part, here = p, int64(len(p.data))
		}
	}
	switch {
	case part != nil && here == part.size:
		part.taken, q.used = true, true
	case q.over, q.table && part == nil, q.needNext():
		return nil, 0, nil
	}
	return part, here, q.step
}

// waitForPart waits for the table and reports whether a part can still be taken, or may still arrive.
func (q *sequel) waitForPart(ctx context.Context, name string) bool {
	for q != nil {
		q.mu.Lock()
		q.needNext()
		table, over, step := q.table, q.over, q.step
		there := slices.ContainsFunc(q.parts, func(p *sequelPart) bool {
			return p.name == name && !p.taken && (!over || int64(len(p.data)) == p.size)
		})
		q.mu.Unlock()
		if table || over {
			return there
		}
		select {
		case <-step:
		case <-ctx.Done():
			return false
		}
	}
	return false
}

// wasUsed reports whether a part was returned.
func (q *sequel) wasUsed() bool {
	if q == nil {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used
}
