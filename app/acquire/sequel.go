package acquire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"collet/app/download"
	"collet/netproto/release"
	"collet/netproto/release/trust"
)

const (
	// sequelPatience is how long the sequel may be too slow before everything is asked for one by one, as without it.
	sequelPatience = 3 * time.Second
	// sequelStep is how many bytes it has to bring in that time, unless that completes one of its parts: a modem of 56 kbit/s
	// brings more.
	sequelStep = 8 << 10
	// sequelPage is how many bytes are read at once.
	sequelPage = 128 << 10
)

// sequel is what one place says that comes after the installed release, see release.EncodeSequel. It is asked for together
// with the timestamp, which it is of no use without, so that an update costs as many round trips as one download. Its
// parts are unverified; each is given away once, so that a caller that finds one wrong gets the file itself when it asks again.
//
// The goroutine of read writes; got and over change under the lock.
type sequel struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	keep   *download.Pieces // takes what comes, for a later process
	count  func(n int)      // is told how many bytes came

	mu    sync.Mutex
	parts []*sequelPart
	table bool          // parts are known
	over  bool          // nothing more comes
	step  chan struct{} // closed when one of these changes
	used  bool          // something was given away
}

// sequelPart is a file of it, as far as it has come.
type sequelPart struct {
	name  string
	size  int64
	data  []byte
	taken bool
}

// startSequel begins to read a sequel.
func startSequel(ctx context.Context, mirror download.Mirror, name string, keep *download.Pieces, count func(n int), log zerolog.Logger) *sequel {
	ctx, cancel := context.WithCancel(ctx)
	q := &sequel{cancel: cancel, keep: keep, count: count, step: make(chan struct{})}
	q.done.Go(func() {
		err := q.read(ctx, mirror, name)
		q.change(func() { q.over = true })
		if err != nil && ctx.Err() == nil && !errors.Is(err, fs.ErrNotExist) {
			log.Info().Err(err).Str("way", mirror.Name()).Msg("what comes next is asked for file by file")
		}
	})
	return q
}

// requestSequel asks the first mirror for the sequel to the release that is probably installed. While the line is paused
// or capped, everything is requested one by one.
func (s *Source) requestSequel(ctx context.Context, likely installedRelease) {
	s.setSequel(nil)
	paused, limit := s.valve.state()
	if paused || limit > 0 || likely.Channel != s.o.Channel || likely.Target != s.o.Target || s.o.Product != "" && likely.Product != s.o.Product {
		return
	}
	if likely.Number == 0 {
		return
	}
	entry := release.Entry{Product: likely.Product, Channel: likely.Channel, Target: likely.Target, Number: likely.Number}
	if name := entry.SequelPath(); !s.small.Has(name) { // what came of it before a stop is not asked for again, and the rest of it by name
		s.setSequel(startSequel(context.WithoutCancel(ctx), s.mirrors[0], name, s.small, s.countFetched, s.o.Log)) // Fetch needs it, too
	}
}

// setSequel puts a sequel in the place of the one before, which it closes.
func (s *Source) setSequel(next *sequel) {
	s.mu.Lock()
	before := s.sequel
	s.sequel = next
	s.mu.Unlock()
	before.close()
}

// following is the sequel; nil without one.
func (s *Source) following() *sequel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sequel
}

// close ends it and waits.
func (q *sequel) close() {
	if q != nil {
		q.cancel()
		q.done.Wait()
	}
}

// change does something to the state and wakes who waits.
func (q *sequel) change(do func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	do()
	close(q.step)
	q.step = make(chan struct{})
}

// read takes everything in that comes. The memory is that of release.MaxSequel.
func (q *sequel) read(ctx context.Context, mirror download.Mirror, name string) error {
	patience := time.AfterFunc(sequelPatience, q.cancel)
	defer patience.Stop()
	body, err := mirror.Get(ctx, name, 0, -1, release.MaxSequel)
	if err != nil {
		return err
	}
	defer body.Close()
	r := bufio.NewReaderSize(countedReader{body, q.count}, sequelPage)
	table, err := release.ReadSequelTable(r)
	if err != nil {
		return err
	}
	q.keep.Add(name, -1, 0, nil)
	q.change(func() {
		for _, p := range table {
			q.parts = append(q.parts, &sequelPart{name: p.Name, size: p.Size})
		}
		q.table = true
	})
	page := make([]byte, sequelPage)
	came := 0
	for _, p := range q.parts {
		for left := p.size; left > 0; {
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

// countedReader tells how many bytes are read.
type countedReader struct {
	io.Reader
	count func(n int)
}

func (r countedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.count(n)
	return n, err
}

// take waits for a part and gives it away. It is false for what is no part, was given away, or does not come; then the file is
// to be asked for by its name. progress, which may be nil, is told how many bytes of it are there.
func (q *sequel) take(ctx context.Context, name string, progress func(done int64)) ([]byte, bool) {
	if q == nil {
		return nil, false
	}
	for told := int64(0); ; {
		part, here, step := q.look(name)
		switch {
		case part == nil && step == nil:
			return nil, false
		case part != nil && here == part.size:
			return part.data, true
		case progress != nil && here > told:
			told = here
			progress(here)
		}
		select {
		case <-step:
		case <-ctx.Done():
			return nil, false
		}
	}
}

// look finds a part and how much of it has come; a complete one is given away. Without part and step there is nothing to wait
// for.
func (q *sequel) look(name string) (part *sequelPart, here int64, step <-chan struct{}) {
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
	case q.over, q.table && part == nil:
		return nil, 0, nil
	}
	return part, here, q.step
}

// brings waits for the table and reports whether a part can still be taken.
func (q *sequel) brings(ctx context.Context, name string) bool {
	for q != nil {
		q.mu.Lock()
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

// wasUsed reports whether anything was given away.
func (q *sequel) wasUsed() bool {
	if q == nil {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used
}

// misled reports whether something was not believed that may have come with the sequel. Each part is given away once, so the
// same question leads to the files themselves.
func (s *Source) misled(err error) bool {
	var lie *trust.Error
	if !errors.As(err, &lie) || !s.following().wasUsed() && !s.small.Used() {
		return false
	}
	s.small.Clear()
	s.o.Log.Warn().Err(err).Msg("what came with the sequel, or before a stop, is not believed; it is asked for by its name")
	return true
}

// before is a trust.Fetcher that looks into a sequel first, then at what came before a stop, and keeps what comes now.
type before struct {
	sequel *sequel
	small  *download.Pieces
	documents
}

// resuming is how documents, lists and small objects are asked for.
func (s *Source) resuming() trust.Fetcher {
	return before{s.following(), s.small, documents{s.fetcher}}
}

// Fetch implements trust.Fetcher.
func (b before) Fetch(ctx context.Context, name string, limit int64) (trust.Unverified, error) {
	if !inSequel(name) {
		return b.documents.Fetch(ctx, name, limit)
	}
	if data, is := b.sequel.take(ctx, name, nil); is && int64(len(data)) <= limit {
		return trust.UnverifiedBytes(data), nil
	}
	return unverified(b.Fetcher.SmallKept(ctx, name, limit, b.small))
}

// documents is a Fetcher as a trust.Fetcher.
type documents struct{ *download.Fetcher }

// Fetch implements trust.Fetcher.
func (d documents) Fetch(ctx context.Context, name string, limit int64) (trust.Unverified, error) {
	return unverified(d.Small(ctx, name, limit))
}

// unverified is what Small gave, as a trust.Fetcher says it.
func unverified(data []byte, err error) (trust.Unverified, error) {
	var wrong *download.WrongError
	if errors.As(err, &wrong) && wrong.Kind == download.WrongLong {
		err = errors.Join(trust.ErrTooLong, err)
	}
	if err != nil {
		return trust.Unverified{}, err
	}
	return trust.UnverifiedBytes(data), nil
}

// inSequel reports whether a file may be part of a sequel: the timestamp and the next root, which are asked for together with
// it, never are.
func inSequel(name string) bool {
	return !strings.HasSuffix(name, "/timestamp.json") && !strings.HasSuffix(name, ".root.json")
}
