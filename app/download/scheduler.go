package download

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"time"

	"collet/platform/span"
)

const (
	// smallestRequest is the least size of a request in bytes, if that much is missing: about what the first round trips of a new
	// connection deliver.
	smallestRequest = 64 << 10
	// largestRequest is the largest request in bytes. An interrupted one loses no bytes, but a slow one delays the end.
	largestRequest = 16 << 20
	// tailRequest is the least size of a request in bytes after the first ones have ended.
	tailRequest = 512 << 10
	// wholeWorth is the divisor for the share of a file that must be wanted to fetch all of it from a whole-file server, if the
	// caller has other strategies: a quarter.
	wholeWorth = 4
	// tickEvery is the interval at which requests in flight are checked.
	tickEvery = 100 * time.Millisecond
)

// sink receives the bytes that a scheduler fetches. write is called by requests, concurrently; the scheduler's goroutine calls the other
// methods.
type sink interface {
	// write handles bytes of a mirror from the offset at. It keeps no data.
	write(ctx context.Context, from *rankedMirror, at int64, data []byte) error
	// advance continues with the received bytes. It is called after each event.
	advance(ctx context.Context) error
	// restart says that a stream begins at this offset, and that its bytes replace received ones.
	restart(at int64)
	// fits reports whether there is room for a request of size bytes at an offset.
	fits(at, size int64) bool
	// setSize says how large the file is. It is only called if Object.Size was unknown.
	setSize(size int64)
}

// scheduler fetches ranges of one file from several mirrors, for one call of a Fetcher. run is called on the caller's goroutine; each
// request has its own.
type scheduler struct {
	f       *Fetcher
	o       Object
	limit   int64 // largest size of the file
	sink    sink
	largest int64 // largest request in bytes
	stream  bool  // one request at a time, which is made again from its start after an interruption
	small   bool  // a document, which is only of use when complete, and whose size stays unknown
	tries   tries
	wake    chan struct{} // wakes run for the next advance
	ended   chan *request
	started time.Time

	// of run's goroutine
	pending   []Range // ranges not requested yet, in order; the last one's end may be open
	requests  map[*request]struct{}
	full      bool      // there is no room for the next request
	landed    bool      // a request has ended
	succeeded time.Time // when a request last ended without an error

	mu sync.Mutex // guards the progress of requests, and o.Size while they run
}

func (f *Fetcher) newScheduler(o Object, limit int64, to sink) *scheduler {
	return &scheduler{
		f: f, o: o, limit: limit, sink: to, largest: largestRequest, tries: make(tries, len(f.stats.mirrors)), started: f.o.Now(),
		wake: make(chan struct{}, 1), ended: make(chan *request), requests: map[*request]struct{}{},
	}
}

// run returns when all ranges have been received, or with an error. Its requests have ended then.
func (s *scheduler) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.drain(cancel)
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		if err := s.sink.advance(ctx); err != nil {
			return err
		}
		if err := s.launch(ctx); err != nil || len(s.pending) == 0 && len(s.requests) == 0 {
			return err
		}
		select {
		case r := <-s.ended:
			if err := s.handleEnd(ctx, r); err != nil {
				return err
			}
		case <-s.wake:
		case <-tick.C:
			s.watch(ctx)
		case <-ctx.Done():
			return cause(ctx)
		}
	}
}

// drain cancels the requests and waits for them.
func (s *scheduler) drain(cancel func()) {
	cancel()
	for len(s.requests) > 0 {
		s.remove(<-s.ended)
	}
}

func (s *scheduler) remove(r *request) {
	delete(s.requests, r)
	s.f.stats.endRequest()
}

// launch makes requests while ranges are pending and a mirror is available.
func (s *scheduler) launch(ctx context.Context) error {
	for len(s.pending) > 0 {
		m, free, err := s.nextMirror()
		if m == nil || err != nil {
			return err
		}
		if s.f.stats.sendsWhole(m) && !s.stream {
			if s.o.Parts && span.Total(s.pending) < s.o.Size/wholeWorth {
				return &WrongError{Mirror: m.mirror.Name(), Name: s.o.Name, Kind: WrongWhole}
			}
			s.stream = true
			s.pending = []Range{span.Of(0, s.pending[len(s.pending)-1].End)} // to the last missing byte
		}
		size := s.requestSize(free)
		if s.full = !s.sink.fits(s.pending[0].Start, size); s.full {
			return nil
		}
		s.start(ctx, m, s.cutPending(size), false)
	}
	return nil
}

// nextMirror chooses the mirror to ask; free is how many more requests may be in flight. m is nil while enough requests are in flight,
// while all remaining mirrors rest, and while a whole-file server has to wait for the end of other requests.
func (s *scheduler) nextMirror() (m *rankedMirror, free int, err error) {
	if paused, _ := s.f.gate.state(); paused {
		return nil, 0, nil
	}
	free = s.f.stats.freeRequests()
	if s.stream {
		free = 1 - len(s.requests)
	}
	if free <= 0 && len(s.requests) > 0 {
		return nil, 0, nil
	}
	m, rest := s.f.stats.choose(s.mirrors(), s.f.o.Now())
	switch {
	case m == nil && !rest && len(s.requests) == 0:
		return nil, 0, s.tries.exhausted(s.o.Name)
	case m == nil, len(s.requests) > 0 && s.f.stats.sendsWhole(m):
		return nil, 0, nil
	}
	return m, max(free, 1), nil
}

// mirrors are the mirrors that may still be asked.
func (s *scheduler) mirrors() []*rankedMirror { return s.tries.usable(s.f.stats.mirrors) }

// requestSize is the size of the next request in bytes, if free more requests may be in flight: a fair share of what is missing.
func (s *scheduler) requestSize(free int) int64 {
	if s.stream || s.pending[0].End == openEnd {
		return math.MaxInt64
	}
	left := span.Total(s.pending)
	if s.o.Arrived != nil {
		return left
	}
	share := (left + int64(free) - 1) / int64(free)
	if s.landed {
		share = max(left/int64(s.f.stats.allowedRequests()), tailRequest)
	}
	return max(min(share, s.largest), smallestRequest)
}

// cutPending removes about size bytes from the front of the pending ranges. A remainder that is too small for a request is included.
func (s *scheduler) cutPending(size int64) Range {
	r := s.pending[0]
	if r.End == openEnd || r.Len()-size <= smallestRequest/4 {
		s.pending = s.pending[1:]
		return r
	}
	s.pending[0].Start += size
	return span.Of(r.Start, r.Start+size)
}

// addPending inserts a range into the pending ones, in order.
func (s *scheduler) addPending(r Range) {
	i := 0
	for i < len(s.pending) && s.pending[i].Start < r.Start {
		i++
	}
	s.pending = append(s.pending[:i:i], append([]Range{r}, s.pending[i:]...)...)
}

// start makes a request.
func (s *scheduler) start(ctx context.Context, m *rankedMirror, of Range, probe bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	now := s.f.o.Now()
	_, pauses := s.f.gate.state()
	r := &request{s: s, m: m, from: of.Start, at: of.Start, claim: of.Start, to: of.End, began: now, last: now, since: now, mark: now, markAt: of.Start, pauses: pauses, probe: probe, cancel: cancel}
	if s.stream {
		s.sink.restart(of.Start)
	}
	s.f.stats.startRequest(m, now)
	s.requests[r] = struct{}{}
	go func() {
		r.err = r.run(ctx, of.End)
		cancel(nil)
		s.ended <- r
	}()
}

// handleEnd handles the end of a request. Its missing bytes become pending again. An error ends the whole call.
func (s *scheduler) handleEnd(ctx context.Context, r *request) error {
	s.remove(r)
	s.landed = true
	now := s.f.o.Now()
	if from := r.at; r.err != nil {
		if s.stream {
			from = r.from
		}
		if r.to == openEnd || from < r.to {
			s.addPending(span.Of(from, r.to))
		}
	}
	defer s.dropBenched(r.m)
	var own *ownError
	switch {
	case errors.As(r.err, &own) && ctx.Err() != nil:
		return cause(ctx)
	case errors.Is(r.err, errStuck):
		return nil
	case errors.As(r.err, &own):
		return own.err
	case r.err != nil:
		return s.blame(r, now)
	}
	s.succeeded = now
	s.tries.succeed(r.m)
	s.recordDelivery(r, now)
	return nil
}

// blame handles the failure of a request for its mirror. An error ends the whole call.
func (s *scheduler) blame(r *request, now time.Time) error {
	m, err := r.m, r.err
	try := s.tries.of(m)
	try.last = err
	s.f.o.Log.Debug().Err(err).Str("mirror", m.mirror.Name()).Int64("offset", r.at).Msg("request interrupted")
	if _, times := s.f.gate.state(); times != r.pauses {
		return nil // a pause may have caused it: servers drop paused connections
	}
	var missing *MissingError
	var wrong *WrongError
	var network *NetError
	switch {
	case errors.As(err, &missing):
		try.gone = err
		if s.small && strings.HasPrefix(s.o.Name, "metadata/") { // the next version is requested before it exists
			return err
		}
		return nil
	case errors.As(err, &network) && network.Kind == NetStalled:
		s.f.stats.reportFault()
	case !errors.As(err, &wrong):
	case wrong.Kind == WrongSlow:
		s.f.stats.recordSlow(m, r.at-r.markAt, now.Sub(r.mark))
		return nil
	case wrong.Kind == WrongWhole && s.f.stats.markWhole(m):
		return nil
	case isFinal[wrong.Kind], wrong.Kind == WrongLong && s.stream:
		try.gone = err
		s.f.stats.recordFailure(m, now, err)
		return nil
	case wrong.Kind == WrongBusy:
		s.f.stats.reportFault()
	}
	if r.at-r.from >= deliveredEnough && !s.stream {
		s.tries.succeed(m)
		s.recordDelivery(r, now)
		return nil
	}
	s.f.stats.recordFailure(m, now, err)
	limit := mirrorFailures
	if wrong != nil && wrong.Kind == WrongBusy && len(s.mirrors()) == 1 {
		limit = busyTries
	}
	if try.strikes++; try.strikes >= limit {
		try.benched = err
	}
	return nil
}

// dropBenched drops a mirror that failed too often, once none of its requests is in flight: one of them may still succeed.
func (s *scheduler) dropBenched(m *rankedMirror) {
	for r := range s.requests {
		if r.m == m {
			return
		}
	}
	if try := s.tries.of(m); try.benched != nil {
		try.gone, try.benched = try.benched, nil
	}
}

// recordDelivery records the rate of a request for its mirror, unless a pause or a rate limit distorted it.
func (s *scheduler) recordDelivery(r *request, now time.Time) {
	n := r.at - r.from
	if _, times := s.f.gate.state(); times != r.pauses || s.f.throttle.limit() > 0 {
		n = 0
	}
	s.f.stats.recordDelivery(r.m, n, now.Sub(r.began))
}
