package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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
	p, err := into.begin(ctx, o.Digest, o.Size)
	if err != nil {
		return err
	}
	w := &whole{f: f, o: o, p: p, progress: progress, old: slices.Clone(p.have), stale: map[*rankedMirror]error{}, brought: map[*rankedMirror]*span.Set[int64]{}}
	if w.progress == nil {
		w.progress = func(int64) {}
	}
	if !p.proved {
		err = w.fetch(ctx)
	}
	if err != nil && ctx.Err() != nil {
		err = cause(ctx)
	}
	return both(err, p.end(err == nil))
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

	mu      sync.Mutex
	brought map[*rankedMirror]*span.Set[int64]
}

// fetch fetches missing ranges and verifies the object, until it is right or no mirror is left.
func (w *whole) fetch(ctx context.Context) error {
	for {
		err := w.round(ctx)
		var none *ExhaustedError
		var missing *MissingError
		switch {
		case errors.Is(err, errDigest):
			err = w.doubt()
		case w.only != nil && (errors.As(err, &none) || errors.As(err, &missing)):
			w.stale[w.only] = err // the other mirrors are tried without it
			err = w.turn()
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
	word := make(chan struct{}, 1)
	var follow sync.WaitGroup
	var hashed error
	follow.Go(func() { hashed = trail(inner, hash, word) })
	err := w.get(inner, word)
	close(word)
	if err != nil {
		cancel()
	}
	follow.Wait()
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

// trail hashes the part up to the first gap, on each value of word and when word is closed.
func trail(ctx context.Context, hash *hashing, word <-chan struct{}) error {
	for more := true; more; {
		_, more = <-word
		if err := hash.upTo(ctx); err != nil {
			return err
		}
	}
	return nil
}

// get runs the job for the missing ranges.
func (w *whole) get(ctx context.Context, word chan<- struct{}) error {
	have, size := w.p.state()
	j := newJob(w.f, Object{Name: w.o.Name, Size: size}, size)
	j.barred, j.learned = w.barred(), w.p.setSize
	maps.Copy(j.last, w.stale)
	if j.pending = have.Gaps(span.Of(0, size)); size < 0 {
		j.limit, j.pending = release.MaxObject, []Range{span.Of(have.Prefix(), openEnd)}
	}
	j.sink = func(fl *flight, off int64, data []byte) error {
		if err := w.p.write(off, data); err != nil {
			return err
		}
		w.note(fl.m, span.Of(off, off+int64(len(data))))
		select {
		case word <- struct{}{}:
		default: // a wake-up is pending already
		}
		return nil
	}
	keeper := &checkpoints{p: w.p, now: w.f.o.Now, at: w.f.o.Now()}
	j.step = func() error {
		w.progress(w.p.bytes())
		return keeper.perhaps()
	}
	return both(j.run(ctx), keeper.wait())
}

// note records which mirror delivered a range.
func (w *whole) note(m *rankedMirror, r Range) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for other, set := range w.brought {
		if other != m {
			set.Remove(r)
		}
	}
	if w.brought[m] == nil {
		w.brought[m] = new(span.Set[int64])
	}
	w.brought[m].Add(r)
}

// barred are the mirrors that must not be asked: those that delivered wrong bytes, and all others while one is tried alone.
func (w *whole) barred() map[*rankedMirror]bool {
	barred := map[*rankedMirror]bool{}
	for _, m := range w.f.mirrors {
		barred[m] = w.stale[m] != nil || w.only != nil && m != w.only
	}
	return barred
}

// doubt drops the bytes that may be wrong. Ranges from before this call are dropped first. Then the ranges of the mirror that delivered
// most are kept, and that mirror is asked for the rest. If it already was the only mirror, it is at fault.
func (w *whole) doubt() error {
	w.f.o.Log.Warn().Str("file", w.o.Name).Int("ways", len(w.brought)).Int64("resumed", span.Total(w.old)).Msg("an object has the wrong digest; parts of it are fetched again")
	old := w.old
	switch {
	case len(old) > 0:
		w.old = nil
		return w.drop(old)
	case len(w.brought) == 0:
		return fmt.Errorf("object %q: internal error: no bytes at all have the digest %v", w.o.Name, w.o.Digest)
	case w.only == nil && len(w.brought) > 1:
		return w.turn()
	}
	for m := range w.brought {
		w.stale[m] = &WrongError{Mirror: m.mirror.Name(), Name: w.o.Name, Kind: WrongStale}
		w.f.failed(m, w.f.o.Now(), w.stale[m])
	}
	return w.turn()
}

// turn switches to the mirror that delivered most of the remaining bytes, else to mirrors that were not asked yet, and drops the bytes
// of all others.
func (w *whole) turn() error {
	var best *rankedMirror
	for _, m := range w.f.mirrors {
		if set := w.brought[m]; w.stale[m] == nil && set != nil && (best == nil || span.Total(*set) > span.Total(*w.brought[best])) {
			best = m
		}
	}
	drop, _ := w.p.state()
	if best != nil {
		for _, r := range *w.brought[best] {
			drop.Remove(r)
		}
	}
	w.only = best
	for m := range w.brought {
		if m != best {
			delete(w.brought, m)
		}
	}
	if err := w.drop(drop); err != nil {
		return err
	}
	return w.left()
}

// drop drops ranges of the part, and a size that only a mirror announced.
func (w *whole) drop(ranges span.Set[int64]) error {
	if w.o.Size < 0 {
		w.p.setSize(-1)
	}
	return w.p.forget(ranges)
}

// left is an *ExhaustedError if no mirror is left, else nil.
func (w *whole) left() error {
	e := &ExhaustedError{Name: w.o.Name}
	for _, m := range w.f.mirrors {
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

// perhaps begins a checkpoint if one is due. The error is that of the last one.
func (c *checkpoints) perhaps() error {
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
