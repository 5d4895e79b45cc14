package download

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Patience is how long a request may deliver no byte before it counts as stalled: the same as on the updater connection
// (session.DefaultIdleTimeout).
const Patience = 30 * time.Second

// ErrClosed says that the Fetcher was closed.
var ErrClosed = errors.New("the fetcher was closed")

// FetchOptions configure a Fetcher. The zero value is valid.
type FetchOptions struct {
	Cap         int64         // bytes a second of all calls together; 0 is unlimited. SetCap changes it
	MinInFlight int           // 0 is the constant of this name
	MaxInFlight int           // 0 is the constant of this name
	Patience    time.Duration // 0 is the constant of this name
	Now         func() time.Time
	Log         zerolog.Logger

	Count func(n int)   // called concurrently with the number of bytes received, as they arrive; may be nil
	Calls *atomic.Int64 // number of calls that have not returned, of all fetchers that share it; nil: not counted
}

func (o FetchOptions) withDefaults() FetchOptions {
	if o.MinInFlight <= 0 {
		o.MinInFlight = MinInFlight
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = MaxInFlight
	}
	o.MaxInFlight = max(o.MaxInFlight, o.MinInFlight)
	if o.Patience <= 0 {
		o.Patience = Patience
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Count == nil {
		o.Count = func(int) {}
	}
	if o.Calls == nil {
		o.Calls = new(atomic.Int64)
	}
	return o
}

// Fetcher fetches files of one release folder from several mirrors. It is safe for concurrent use; calls share the number of requests
// in flight, the rate limit and the statistics of the mirrors. NewFetcher makes one; the caller closes it.
type Fetcher struct {
	o        FetchOptions
	throttle *throttle
	gate     gate
	stats    *statistics
	pages    sync.Pool // of *[]byte, pageSize long

	mu     sync.Mutex
	closed bool
	calls  map[*call]struct{}
	idle   sync.WaitGroup // calls that have not returned
}

// call is a call of a method that has not returned.
type call struct{ cancel context.CancelCauseFunc }

// NewFetcher makes a Fetcher. The order of the mirrors counts until their rates are known. The caller keeps the mirrors, and closes
// them after the Fetcher.
func NewFetcher(mirrors []Mirror, o FetchOptions) (*Fetcher, error) {
	if len(mirrors) == 0 {
		return nil, errors.New("fetcher: internal error: no mirror is given")
	}
	o = o.withDefaults()
	f := &Fetcher{
		o: o, throttle: newThrottle(o.Cap, o.Now), stats: &statistics{window: newWindow(o.MinInFlight, o.MaxInFlight)}, calls: map[*call]struct{}{},
		pages: sync.Pool{New: func() any { page := make([]byte, pageSize); return &page }},
	}
	for i, mirror := range mirrors {
		f.stats.mirrors = append(f.stats.mirrors, &rankedMirror{mirror: mirror, index: i})
	}
	return f, nil
}

// SetCap changes the rate limit in bytes a second, also for requests in flight; 0 is unlimited.
func (f *Fetcher) SetCap(bytesPerSecond int64) { f.throttle.setRate(bytesPerSecond) }

// Pause stops all traffic until Resume: no request is made, and those in flight are not read, so that servers stop sending once the
// buffers of the connections are full. Time limits are suspended. Calls do not return meanwhile.
func (f *Fetcher) Pause() { f.gate.pause() }

// Resume ends a Pause. Requests that were interrupted meanwhile are made again, and do not count as failures.
func (f *Fetcher) Resume() { f.gate.resume() }

// Close ends all calls with ErrClosed and waits for them. It may be called more than once.
func (f *Fetcher) Close() {
	f.mu.Lock()
	f.closed = true
	for c := range f.calls {
		c.cancel(ErrClosed)
	}
	f.mu.Unlock()
	f.idle.Wait()
}

// enter registers a call. The caller calls the returned function at its end.
func (f *Fetcher) enter(ctx context.Context) (context.Context, func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, nil, ErrClosed
	}
	inner, cancel := context.WithCancelCause(ctx)
	c := &call{cancel}
	f.calls[c] = struct{}{}
	f.idle.Add(1)
	f.o.Calls.Add(1)
	return inner, func() {
		f.o.Calls.Add(-1)
		cancel(nil)
		f.mu.Lock()
		delete(f.calls, c)
		f.mu.Unlock()
		f.idle.Done()
	}, nil
}

// cause is why a call's context ended: ErrClosed or the error of the caller's context.
func cause(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), ErrClosed) {
		return ErrClosed
	}
	return ctx.Err()
}

// Measured returns the current estimates: the rate of all requests together in bytes a second, the time from a request to its answer,
// and the number of requests that may be in flight. Zero is unknown.
func (f *Fetcher) Measured() (rate float64, roundTrip time.Duration, inFlight int) {
	return f.stats.link()
}
