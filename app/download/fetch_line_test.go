package download_test

import (
	"bytes"
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collet/app/download"
	"collet/platform/faultfs"
	"collet/platform/interrupt"
	"collet/platform/testlevel"
)

// line is a memory that counts its requests under way, and may let them share one speed.
type line struct {
	*memory
	shared bool

	mu     sync.Mutex
	flying int64
	since  time.Time
	spent  [32]time.Duration // with so many under way
	free   time.Time         // when what was asked of the shared line has been sent
}

func (l *line) Get(ctx context.Context, name string, from, to, limit int64) (io.ReadCloser, error) {
	l.change(1)
	r, err := l.memory.Get(ctx, name, from, to, limit)
	if err != nil {
		l.change(-1)
		return nil, err
	}
	f := r.(*flow)
	if l.shared {
		f.m = &memory{name: l.name}
	}
	return &lineFlow{f, l, ctx, false}, nil
}

func (l *line) change(by int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !l.since.IsZero() {
		l.spent[l.flying] += now.Sub(l.since)
	}
	l.since = now
	l.flying += by
}

// typical is the number of requests with which most time was spent.
func (l *line) typical() (most int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, spent := range l.spent {
		if spent > l.spent[most] {
			most = int64(n)
		}
	}
	return most
}

type lineFlow struct {
	*flow
	l      *line
	ctx    context.Context
	closed bool
}

func (f *lineFlow) Read(p []byte) (int, error) {
	if !f.l.shared {
		return f.flow.Read(p)
	}
	p = p[:min(len(p), int(f.l.rate/50))]
	n, err := f.flow.Read(p)
	f.l.mu.Lock()
	now := time.Now()
	if f.l.free.Before(now) {
		f.l.free = now
	}
	f.l.free = f.l.free.Add(time.Duration(n) * time.Second / time.Duration(f.l.rate))
	wait := f.l.free.Sub(now)
	f.l.mu.Unlock()
	if late := interrupt.Sleep(f.ctx, wait); late != nil {
		return 0, late
	}
	return n, err
}

func (f *lineFlow) Close() error {
	if !f.closed {
		f.closed = true
		f.l.change(-1)
	}
	return f.flow.Close()
}

// TestRangesWindow has a first answer that hangs: the others fetch no more than the window, and the first one is requested again on a
// working connection, long before Patience.
func TestRangesWindow(t *testing.T) {
	testlevel.Slow(t)
	data := random(24_000_000, 1)
	synctest.Test(t, func(t *testing.T) {
		mirror := remembering("a", data)
		mirror.latency = 10 * time.Millisecond
		mirror.hold = func(ctx context.Context, n int, from int64) {
			if n <= 2 && from == 0 {
				<-ctx.Done()
			}
		}
		f := fetcherInBubble(t, mirror)
		defer f.Close()
		began, most := time.Now(), int64(0)
		var got []byte
		err := f.Ranges(t.Context(), object(data), []download.Range{{Start: 0, End: 24_000_000}}, nil, func(_ int, _ int64, piece []byte) error {
			if len(got) == 0 {
				for _, r := range mirror.requests() {
					most += r.End - r.Start
				}
			}
			got = append(got, piece...)
			return nil
		})
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("wrong bytes, or %v", err)
		}
		if most > 18<<20 || most < 4<<20 {
			t.Errorf("%d bytes were asked for before the first one came", most)
		}
		within(t, time.Since(began), 0, 5*time.Second)
	})
}

// growing is a memory whose answers begin as TCP does: ten packets, then twice as many after each round trip, up to a speed.
type growing struct {
	*memory
	most int // bytes in a round trip
}

func (g *growing) Get(ctx context.Context, name string, from, to, limit int64) (io.ReadCloser, error) {
	r, err := g.memory.Get(ctx, name, from, to, limit)
	if err != nil {
		return nil, err
	}
	return &growingFlow{r.(*flow), g, ctx, 10 * 1460, 0}, nil
}

type growingFlow struct {
	*flow
	g            *growing
	ctx          context.Context
	window, left int
}

func (f *growingFlow) Read(p []byte) (int, error) {
	if f.left == 0 {
		if err := interrupt.Sleep(f.ctx, f.g.latency); err != nil {
			return 0, err
		}
		f.left, f.window = f.window, min(2*f.window, f.g.most)
	}
	n, err := f.flow.Read(p[:min(len(p), f.left)])
	f.left -= n
	return n, err
}

// TestInOrder: bytes that are used in order come by one request, although it begins slowly, unless it stays slow.
func TestInOrder(t *testing.T) {
	for _, test := range []struct {
		name        string
		size, speed int
		one         bool
	}{{"as fast as its end", 3 << 20, 6_250_000, true}, {"15 seconds", 9 << 20, 625_000, true}, {"a minute", 9 << 20, 150_000, false}} {
		synctest.Test(t, func(t *testing.T) {
			data := random(test.size, 1)
			m := &growing{remembering("a", data), test.speed / 10}
			m.latency = 100 * time.Millisecond
			f, err := download.NewFetcher([]download.Mirror{m}, download.FetchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			s, _ := spoolOn(t, faultfs.New(faultfs.Config{}))
			o := object(data)
			o.Arrived = func(io.ReaderAt, int64) {}
			if err := f.Whole(t.Context(), o, s, nil); err != nil || !bytes.Equal(content(t, s, o), data) {
				t.Errorf("%s: wrong bytes, or %v", test.name, err)
			}
			if n := len(m.requests()); (n == 1) != test.one {
				t.Errorf("%s: %d requests", test.name, n)
			}
		})
	}
}
