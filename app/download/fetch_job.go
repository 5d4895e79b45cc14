package download

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"collet/platform/span"
)

const (
	// smallestRequest is the least size of a request in bytes, if that much is missing: about what the first flights of a new
	// connection deliver.
	smallestRequest = 64 << 10
	// firstRequest is the largest request to a mirror of unknown rate, in bytes.
	firstRequest = 8 << 20
	// largestRequest is the largest request in bytes. An interrupted one loses no bytes, but a slow one delays the end.
	largestRequest = 64 << 20
	// requestTime is how long a request should take: a round trip of 100 ms between two requests costs a fortieth of it.
	requestTime = 4 * time.Second
	// tailRequest is the least size of a request in bytes after the first ones have ended.
	tailRequest = 512 << 10
	// splitTime is the least remaining time of a request to be split: a new connection costs two round trips and has to get up to
	// speed.
	splitTime = time.Second
	// stuckTime is how long a connection may deliver no byte, in addition to two round trips, before a free one takes over.
	// Systems retransmit a lost packet after 200 ms at the earliest, and a lost first one after a second.
	stuckTime = 200 * time.Millisecond
	// wholeWorth is the divisor for the share of a file that must be wanted to fetch all of it from a whole-file server, if the
	// caller has other strategies: a quarter.
	wholeWorth = 4
	// tickEvery is the interval at which requests in flight are checked.
	tickEvery = 100 * time.Millisecond
	// busyTries is how often in a row the only remaining mirror may be busy.
	busyTries = 5
)

// job is the work of one call: ranges of one file, from several mirrors. run is called on the caller's goroutine; each flight has its
// own.
type job struct {
	f     *Fetcher
	o     Object
	limit int64 // largest size of the file
	alone bool  // one request at a time
	fresh bool  // an interrupted request is made again from its start
	small bool  // a document, which is only of use when complete
	most  int64 // largest request

	barred  map[*rankedMirror]bool                         // mirrors that must not be asked
	begin   func(at int64)                                 // a stream begins at this offset that replaces received bytes; may be nil
	sink    func(fl *flight, off int64, data []byte) error // handles received bytes; called by flights, keeps no data
	step    func() error                                   // called by run's goroutine after each event; may be nil
	room    func(at, size int64) bool                      // whether there is room for size bytes from offset at; may be nil
	learned func(size int64)                               // called when the file's size is known; may be nil
	wake    chan struct{}                                  // wakes run for the next step
	ended   chan landing                                   //
	gone    map[*rankedMirror]error                        // dropped mirrors, with the reason
	last    map[*rankedMirror]error                        // the last error of each mirror
	benched map[*rankedMirror]error                        // mirrors that failed too often, with requests still in flight
	strikes map[*rankedMirror]int                          // failures in a row

	mu      sync.Mutex
	pending []Range // ranges not requested yet, in order; the last one's end may be open
	flights map[*flight]struct{}
	started time.Time
	full    bool      // there is no room for the next request
	landed  bool      // a request has ended
	worked  time.Time // when a request last ended without an error
}

func newJob(f *Fetcher, o Object, limit int64) *job {
	return &job{
		f: f, o: o, limit: limit, most: largestRequest, wake: make(chan struct{}, 1), ended: make(chan landing),
		gone: map[*rankedMirror]error{}, last: map[*rankedMirror]error{}, benched: map[*rankedMirror]error{}, strikes: map[*rankedMirror]int{}, flights: map[*flight]struct{}{},
		started: f.o.Now(),
	}
}

// run returns when all ranges have been received, or with an error. Its flights have ended then.
func (j *job) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer j.drain(cancel)
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		if j.step != nil {
			if err := j.step(); err != nil {
				return err
			}
		}
		if err := j.launch(ctx); err != nil || j.over() {
			return err
		}
		select {
		case l := <-j.ended:
			if err := j.land(ctx, l); err != nil {
				return err
			}
		case <-j.wake:
		case <-tick.C:
			j.watch(ctx)
		case <-ctx.Done():
			return cause(ctx)
		}
	}
}

func (j *job) over() bool { return len(j.pending) == 0 && len(j.flights) == 0 }

// drain cancels the flights and waits for them.
func (j *job) drain(cancel func()) {
	cancel()
	for len(j.flights) > 0 {
		j.remove((<-j.ended).fl)
	}
}

func (j *job) remove(fl *flight) {
	j.mu.Lock()
	delete(j.flights, fl)
	j.mu.Unlock()
	j.f.mu.Lock()
	j.f.flying--
	j.f.mu.Unlock()
}

// mirrors are the mirrors that may still be asked.
func (j *job) mirrors() []*rankedMirror {
	return slices.DeleteFunc(slices.Clone(j.f.mirrors), func(m *rankedMirror) bool {
		return j.gone[m] != nil || j.benched[m] != nil || j.barred[m]
	})
}

// launch makes requests while ranges are pending and a mirror is available.
func (j *job) launch(ctx context.Context) error {
	for len(j.pending) > 0 {
		m, free, err := j.next()
		if m == nil || err != nil {
			return err
		}
		if m.whole && !j.alone {
			if j.o.Parts && span.Total(j.pending) < j.o.Size/wholeWorth {
				return &WrongError{Mirror: m.mirror.Name(), Name: j.o.Name, Kind: WrongWhole}
			}
			j.stream()
		}
		size := j.size(m, free)
		if j.full = j.room != nil && !j.room(j.pending[0].Start, size); j.full {
			return nil
		}
		j.start(ctx, m, j.cut(size), false)
	}
	return nil
}

// next chooses the mirror to ask. m is nil while enough requests are in flight, while all remaining mirrors rest, and while a
// whole-file server has to wait for the end of other requests.
func (j *job) next() (m *rankedMirror, free int, err error) {
	if paused, _ := j.f.gate.state(); paused {
		return nil, 0, nil
	}
	j.f.mu.Lock()
	defer j.f.mu.Unlock()
	free = j.f.pacer.n - j.f.flying
	if j.alone {
		free = 1 - len(j.flights)
	}
	if free <= 0 && len(j.flights) > 0 {
		return nil, 0, nil
	}
	m, wait := choose(j.mirrors(), j.f.o.Now())
	switch {
	case m == nil && !wait && len(j.flights) == 0:
		return nil, 0, j.exhausted()
	case m == nil, m.whole && len(j.flights) > 0:
		return nil, 0, nil
	}
	return m, max(free, 1), nil
}

// stream switches to one request for everything, from the start of the file to the last missing byte.
func (j *job) stream() {
	j.alone, j.fresh = true, true
	j.pending = []Range{span.Of(0, j.pending[len(j.pending)-1].End)}
}

// size is the size of the next request to a mirror, in bytes, if free more requests may be in flight.
func (j *job) size(m *rankedMirror, free int) int64 {
	if j.alone || j.pending[0].End == openEnd {
		return math.MaxInt64
	}
	left := span.Total(j.pending)
	most := int64(firstRequest)
	j.f.mu.Lock()
	if m.rate > 0 {
		most = int64(min(max(m.rate*requestTime.Seconds(), tailRequest), largestRequest))
	}
	n := int64(j.f.pacer.n)
	j.f.mu.Unlock()
	share := (left + int64(free) - 1) / int64(free)
	if j.landed {
		share = max(left/n, tailRequest)
	}
	return max(min(share, most, j.most), smallestRequest)
}

// cut takes about size bytes from the front of the pending ranges. A remainder that is too small for a request is included.
func (j *job) cut(size int64) Range {
	r := j.pending[0]
	if r.End == openEnd || r.Len()-size <= smallestRequest/4 {
		j.pending = j.pending[1:]
		return r
	}
	j.pending[0].Start += size
	return span.Of(r.Start, r.Start+size)
}

// start makes a request.
func (j *job) start(ctx context.Context, m *rankedMirror, r Range, probe bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	now := j.f.o.Now()
	_, pauses := j.f.gate.state()
	fl := &flight{m: m, from: r.Start, at: r.Start, claim: r.Start, to: r.End, began: now, last: now, since: now, mark: now, markAt: r.Start, pauses: pauses, probe: probe, cancel: cancel}
	if j.fresh && j.begin != nil {
		j.begin(r.Start)
	}
	j.f.mu.Lock()
	j.f.flying++
	m.used = now
	j.f.mu.Unlock()
	j.mu.Lock()
	j.flights[fl] = struct{}{}
	j.mu.Unlock()
	go func() {
		err := j.fly(ctx, fl, r.End)
		cancel(nil)
		j.ended <- landing{fl, err}
	}()
}

// land handles the end of a request. Its missing bytes become pending again.
func (j *job) land(ctx context.Context, l landing) error {
	j.remove(l.fl)
	j.landed = true
	fl, now := l.fl, j.f.o.Now()
	if from := fl.at; l.err != nil {
		if j.fresh {
			from = fl.from
		}
		if fl.to == openEnd || from < fl.to {
			j.giveBack(span.Of(from, fl.to))
		}
	}
	defer j.settle(fl.m)
	var own *ownError
	switch {
	case errors.As(l.err, &own) && ctx.Err() != nil:
		return cause(ctx)
	case errors.Is(l.err, errStuck):
		return nil
	case errors.As(l.err, &own):
		return own.err
	case l.err != nil:
		return j.blame(fl, l.err, now)
	}
	j.strikes[fl.m], j.worked = 0, now
	delete(j.benched, fl.m)
	j.f.delivered(fl, now)
	return nil
}

// giveBack inserts a range into the pending ones, in order.
func (j *job) giveBack(r Range) {
	i := 0
	for i < len(j.pending) && j.pending[i].Start < r.Start {
		i++
	}
	j.pending = slices.Insert(j.pending, i, r)
}

// exhausted is the error when no mirror is left.
func (j *job) exhausted() error {
	e := &ExhaustedError{Name: j.o.Name}
	everywhere := true
	for _, m := range j.f.mirrors {
		reason := j.gone[m]
		if reason == nil {
			reason = j.last[m]
		}
		if reason == nil {
			continue
		}
		var missing *MissingError
		everywhere = everywhere && errors.As(reason, &missing)
		e.Reasons = append(e.Reasons, reason)
	}
	if everywhere && len(e.Reasons) > 0 {
		return &MissingError{Name: j.o.Name}
	}
	return e
}

// metadata reports whether the file is a metadata file, whose next version is requested before it exists.
func (j *job) metadata() bool { return strings.HasPrefix(j.o.Name, "metadata/") }
