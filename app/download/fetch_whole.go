package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"collet/netproto/release"
	"collet/platform/span"
)

// Whole fetches an object into the spool, and resumes an earlier part. It returns nil only when the object is complete and has the
// right digest; then into.Open returns it until into.Remove. progress, which may be nil, is called on the calling goroutine with the
// number of bytes in the spool, ten times a second and at the end. The number falls if bytes turn out to be wrong.
//
// The error is a *MissingError if no mirror has the object, an *ExhaustedError, a *update.Fault of the disk, ctx's, or ErrClosed.
// Received bytes stay in the spool.
func (f *Fetcher) Whole(ctx context.Context, o Object, into *Spool, progress func(done int64)) (err error) {
	if _, is := o.Digest.SHA256(); !is {
		return fmt.Errorf("object %q: internal error: its SHA-256 is not known", o.Name)
	}
	ctx, leave, err := f.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	p, err := into.openPart(ctx, o.Digest, o.Size)
	if err != nil {
		return err
	}
	w := &whole{f: f, o: o, p: p, progress: progress, old: slices.Clone(p.have), stale: map[*rankedMirror]error{}, delivered: map[*rankedMirror]*span.Set[int64]{}}
	if w.progress == nil {
		w.progress = func(int64) {}
	}
	if !p.proved {
		err = w.fetch(ctx)
	}
	if err != nil && ctx.Err() != nil {
		err = cause(ctx)
	}
	return both(err, p.close(err == nil))
}

// both joins two errors; nil errors are left out, and a single one is returned unchanged.
func both(a, b error) error {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return errors.Join(a, b)
}

// whole is one call of Whole.
type whole struct {
	f        *Fetcher
	o        Object
	p        *part
	progress func(int64)

	old   span.Set[int64]         // ranges from before this call
	only  *rankedMirror           // the one mirror that is asked after wrong bytes; nil is all
	stale map[*rankedMirror]error // mirrors that delivered wrong bytes
	hash  chan struct{}           // wakes the hashing of the current round
	saved *checkpoints            // of the current round

	mu        sync.Mutex
	delivered map[*rankedMirror]*span.Set[int64] // ranges by the mirror that delivered them last
}

// fetch fetches missing ranges and verifies the object, until it is right or no mirror is left.
func (w *whole) fetch(ctx context.Context) error {
	for {
		err := w.round(ctx)
		var none *ExhaustedError
		var missing *MissingError
		switch {
		case errors.Is(err, errDigest):
			err = w.dropDoubtful()
		case w.only != nil && (errors.As(err, &none) || errors.As(err, &missing)):
			w.stale[w.only] = err // the other mirrors are tried without it
			err = w.switchMirror()
		default:
			return err
		}
		if err != nil {
			return err
		}
	}
}

var errDigest = errors.New("the digest is not that of the object")

// round fetches the missing ranges and hashes them meanwhile. errDigest means that the object is complete and wrong.
func (w *whole) round(ctx context.Context) error {
	inner, cancel := context.WithCancel(ctx)
	hash := w.p.hashing()
	w.hash = make(chan struct{}, 1)
	var running sync.WaitGroup
	var hashed error
	running.Go(func() { hashed = w.hashReceived(inner, hash) })
	err := w.fetchMissing(inner)
	close(w.hash)
	if err != nil {
		cancel()
	}
	running.Wait()
	cancel()
	switch {
	case err != nil:
		return err
	case hashed != nil:
		return hashed
	case hash.at != w.p.size:
		return fmt.Errorf("object %q: internal error: %d of %d bytes were hashed", w.o.Name, hash.at, w.p.size)
	}
	w.progress(hash.at)
	if hash.sum() != w.o.Digest {
		return errDigest
	}
	return nil
}

// hashReceived hashes the part up to the first gap, on each value of w.hash and when it is closed.
func (w *whole) hashReceived(ctx context.Context, hash *hashing) error {
	if w.o.Arrived != nil {
		defer w.o.Arrived(nil, 0)
	}
	for more := true; more; {
		_, more = <-w.hash
		if err := hash.upTo(ctx); err != nil {
			return err
		}
		if w.o.Arrived != nil {
			w.o.Arrived(w.p.file, hash.at)
		}
	}
	return nil
}

// fetchMissing fetches the missing ranges into the part. It does not ask mirrors that delivered wrong bytes, and only w.only if that is
// set.
func (w *whole) fetchMissing(ctx context.Context) error {
	have, size := w.p.state()
	s := w.f.newScheduler(Object{Name: w.o.Name, Size: size, Arrived: w.o.Arrived}, size, w)
	for _, m := range w.f.stats.mirrors {
		try := s.tries.of(m)
		try.last = w.stale[m]
		try.barred = w.stale[m] != nil || w.only != nil && m != w.only
	}
	if s.pending = have.Gaps(span.Of(0, size)); size < 0 {
		s.limit, s.pending = release.MaxObject, []Range{span.Of(have.Prefix(), openEnd)}
	}
	w.saved = &checkpoints{p: w.p, now: w.f.o.Now, at: w.f.o.Now()}
	return both(s.run(ctx), w.saved.wait())
}

// write implements sink. It records which mirror delivered the bytes.
func (w *whole) write(_ context.Context, from *rankedMirror, at int64, data []byte) error {
	if err := w.p.write(at, data); err != nil {
		return err
	}
	r := span.Of(at, at+int64(len(data)))
	w.mu.Lock()
	for other, set := range w.delivered {
		if other != from {
			set.Remove(r)
		}
	}
	if w.delivered[from] == nil {
		w.delivered[from] = new(span.Set[int64])
	}
	w.delivered[from].Add(r)
	w.mu.Unlock()
	wake(w.hash)
	return nil
}

// advance implements sink.
func (w *whole) advance(context.Context) error {
	w.progress(w.p.bytes())
	return w.saved.saveIfDue()
}

func (w *whole) setSize(size int64)   { w.p.setSize(size) }
func (*whole) restart(int64)          {} // the bytes are written over
func (*whole) fits(int64, int64) bool { return true }

// dropDoubtful drops the bytes that may be wrong. Ranges from before this call are dropped first. Then the ranges of the mirror that delivered
// most are kept, and that mirror is asked for the rest. If it already was the only mirror, it is at fault.
func (w *whole) dropDoubtful() error {
	w.f.o.Log.Warn().Str("file", w.o.Name).Int("ways", len(w.delivered)).Int64("resumed", span.Total(w.old)).Msg("an object has the wrong digest; parts of it are fetched again")
	old := w.old
	switch {
	case len(old) > 0:
		w.old = nil
		return w.drop(old)
	case len(w.delivered) == 0:
		return fmt.Errorf("object %q: internal error: no bytes at all have the digest %v", w.o.Name, w.o.Digest)
	case w.only == nil && len(w.delivered) > 1:
		return w.switchMirror()
	}
	for m := range w.delivered {
		w.stale[m] = &WrongError{Mirror: m.mirror.Name(), Name: w.o.Name, Kind: WrongStale}
		w.f.stats.recordFailure(m, w.f.o.Now(), w.stale[m])
	}
	return w.switchMirror()
}

// switchMirror switches to the mirror that delivered most of the remaining bytes, else to mirrors that were not asked yet, and drops the bytes
// of all others.
func (w *whole) switchMirror() error {
	var best *rankedMirror
	for _, m := range w.f.stats.mirrors {
		if set := w.delivered[m]; w.stale[m] == nil && set != nil && (best == nil || span.Total(*set) > span.Total(*w.delivered[best])) {
			best = m
		}
	}
	drop, _ := w.p.state()
	if best != nil {
		for _, r := range *w.delivered[best] {
			drop.Remove(r)
		}
	}
	w.only = best
	for m := range w.delivered {
		if m != best {
			delete(w.delivered, m)
		}
	}
	if err := w.drop(drop); err != nil {
		return err
	}
	return w.checkLeft()
}

// drop drops ranges of the part, and a size that only a mirror announced.
func (w *whole) drop(ranges span.Set[int64]) error {
	if w.o.Size < 0 {
		w.p.setSize(-1)
	}
	return w.p.forget(ranges)
}

// checkLeft returns an *ExhaustedError if no mirror is left, else nil.
func (w *whole) checkLeft() error {
	e := &ExhaustedError{Name: w.o.Name}
	for _, m := range w.f.stats.mirrors {
		if w.stale[m] == nil {
			return nil
		}
		e.Reasons = append(e.Reasons, w.stale[m])
	}
	return e
}

// checkpoints writes the record of a part periodically, one at a time, while bytes are received.
type checkpoints struct {
	p   *part
	now func() time.Time
	at  time.Time // when the last checkpoint began
	end chan error
}

// saveIfDue begins a checkpoint if one is due. The error is that of the last one.
func (c *checkpoints) saveIfDue() error {
	if c.end != nil {
		select {
		case err := <-c.end:
			c.end = nil
			if err != nil {
				return err
			}
		default:
			return nil
		}
	}
	if c.now().Sub(c.at) < c.p.s.o.Checkpoint {
		return nil
	}
	c.at = c.now()
	c.end = make(chan error, 1)
	go func(end chan<- error) { end <- c.p.checkpoint() }(c.end)
	return nil
}

// wait waits for the checkpoint under way.
func (c *checkpoints) wait() error {
	if c.end == nil {
		return nil
	}
	err := <-c.end
	c.end = nil
	return err
}
