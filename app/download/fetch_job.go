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
	// smallestRequest is how many bytes are asked for at least where there are more: the first flights of a fresh connection
	// bring about as much.
	smallestRequest = 64 << 10
	// firstRequest is the most that is asked for of a mirror of which nothing is known, in bytes.
	firstRequest = 8 << 20
	// largestRequest bounds what hangs on one connection, in bytes. A broken one loses nothing, but a slow one holds up.
	largestRequest = 64 << 20
	// requestTime is how long a request should take: the round trip between two on a connection costs a fortieth of it at 100 ms.
	requestTime = 4 * time.Second
	// tailRequest is the least that is asked for while others finish, in bytes.
	tailRequest = 512 << 10
	// splitTime is how long a request must still take to be worth cutting in two: a new connection costs two round trips and
	// has to get up to speed.
	splitTime = time.Second
	// stuckTime is how long nothing comes on a connection, beside two round trips, before another one that is free takes over.
	// Systems send a lost packet again after 200 ms at the earliest, and a lost first one after a second.
	stuckTime = 200 * time.Millisecond
	// wholeWorth is how much of a file has to be wanted for the whole of it to be taken from a place that sends nothing less,
	// where other means are left: a quarter.
	wholeWorth = 4
	// tickEvery is how often requests under way are looked at.
	tickEvery = 100 * time.Millisecond
	// busyTries is how often in a row the only mirror that is left may be busy.
	busyTries = 5
)

// job is what one call asks of the mirrors: ranges of one file. run belongs to the caller's goroutine, each flight has one of
// its own.
type job struct {
	f     *Fetcher
	o     Object
	limit int64 // most bytes that the file may have
	alone bool  // one request at a time
	fresh bool  // a request that broke is made again from its start
	small bool  // a document, of which nothing counts before its end
	most  int64 // largest request

	barred  map[*rankedMirror]bool                         // mirrors that are not to be asked
	begin   func(at int64)                                 // a stream begins there that replaces what has come; may be nil
	sink    func(fl *flight, off int64, data []byte) error // takes what came; called by flights, keeps no data
	step    func() error                                   // called in between by run's goroutine; may be nil
	room    func(at, size int64) bool                      // whether there is room for so many bytes from at on; may be nil
	learned func(size int64)                               // the file's size is known; may be nil
	wake    chan struct{}                                  // a word from sink to step
	ended   chan landing                                   //
	gone    map[*rankedMirror]error                        // mirrors that were left, and why
	last    map[*rankedMirror]error                        // what was wrong last
	benched map[*rankedMirror]error                        // mirrors that failed too often, with requests under way
	strikes map[*rankedMirror]int                          // failures in a row

	mu      sync.Mutex
	pending []Range // what was not asked for yet, in order; the last one's end may be open
	flights map[*flight]struct{}
	started time.Time
	full    bool      // there is no room for what is to be asked for next
	landed  bool      // a request has come to its end
	worked  time.Time // when one came to its end as it should
}

func newJob(f *Fetcher, o Object, limit int64) *job {
	return &job{
		f: f, o: o, limit: limit, most: largestRequest, wake: make(chan struct{}, 1), ended: make(chan landing),
		gone: map[*rankedMirror]error{}, last: map[*rankedMirror]error{}, benched: map[*rankedMirror]error{}, strikes: map[*rankedMirror]int{}, flights: map[*flight]struct{}{},
		started: f.o.Now(),
	}
}

// run returns when everything has come, or nothing more will. Its flights have ended then.
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

// drain ends what is under way and waits for it.
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

// mirrors are those that may still be asked.
func (j *job) mirrors() []*rankedMirror {
	return slices.DeleteFunc(slices.Clone(j.f.mirrors), func(m *rankedMirror) bool {
		return j.gone[m] != nil || j.benched[m] != nil || j.barred[m]
	})
}

// launch makes requests as long as there is something to ask for and a mirror to ask.
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

// next chooses the mirror to ask. It is nil while enough is under way, while all that are left want to rest, and while a
// server of whole files has to wait for the others' requests to end.
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

// stream turns to one request for everything, from the start of the file to the last byte that is missing.
func (j *job) stream() {
	j.alone, j.fresh = true, true
	j.pending = []Range{span.Of(0, j.pending[len(j.pending)-1].End)}
}

// size is how much to ask a mirror for, with so many requests free.
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

// cut takes at most size bytes from the front of what was not asked for yet. A rest that is hardly worth a request comes along.
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

// land takes note of the end of a request. What it did not bring is asked for again.
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

// giveBack puts a range back in its place.
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

// metadata reports whether a file is one of those that change, and of which the next one is asked for before it is there.
func (j *job) metadata() bool { return strings.HasPrefix(j.o.Name, "metadata/") }
