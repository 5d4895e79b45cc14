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

// Whole gets an object into the spool, from where it was left. It returns nil only when all of it is there and has the
// object's digest; then into.Open gives it until into.Remove. progress, which may be nil, is told how many bytes are there,
// from the calling goroutine, ten times a second and at the end; the number falls where bytes turn out to be wrong.
//
// The error is a *MissingError where no mirror has the object, an *ExhaustedError, a *update.Fault of the disk, ctx's, or
// ErrClosed. What has come stays in the spool.
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

// both is the one that there is, or both.
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

	old   span.Set[int64]         // what was there before
	only  *rankedMirror           // the one mirror that is asked after bytes turned out to be wrong; nil is all
	stale map[*rankedMirror]error // mirrors that brought wrong bytes

	mu      sync.Mutex
	brought map[*rankedMirror]*span.Set[int64]
}

// fetch gets what is missing and proves the whole, until it is right or no mirror is left.
func (w *whole) fetch(ctx context.Context) error {
	for {
		err := w.round(ctx)
		var none *ExhaustedError
		var missing *MissingError
		switch {
		case errors.Is(err, errDigest):
			err = w.doubt()
		case w.only != nil && (errors.As(err, &none) || errors.As(err, &missing)):
			w.stale[w.only] = err // the others have a turn without it
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

// round gets what is missing, and hashes it meanwhile. errDigest means that all has come and is not right.
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

// trail hashes what is there without a gap, whenever there is a word that more has come, and the rest when word is closed.
func trail(ctx context.Context, hash *hashing, word <-chan struct{}) error {
	for more := true; more; {
		_, more = <-word
		if err := hash.upTo(ctx); err != nil {
			return err
		}
	}
	return nil
}

// get runs the job for what is missing.
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
		default: // there is one already
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

// note remembers who brought what.
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

// barred are the mirrors that may not be asked: those that brought wrong bytes, and all but one where one is tried alone.
func (w *whole) barred() map[*rankedMirror]bool {
	barred := map[*rankedMirror]bool{}
	for _, m := range w.f.mirrors {
		barred[m] = w.stale[m] != nil || w.only != nil && m != w.only
	}
	return barred
}

// doubt finds out what may be wrong, and drops it. What was there before is dropped first. Of what came, the part of the
// mirror that brought most is kept, and that mirror is asked for the rest; if it was asked alone already, it is the one.
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

// turn goes over to the mirror that brought most of what is left, or to those that were not asked yet, and drops what others
// brought.
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

// drop gives bytes up, and a size of which only a mirror spoke.
func (w *whole) drop(ranges span.Set[int64]) error {
	if w.o.Size < 0 {
		w.p.setSize(-1)
	}
	return w.p.forget(ranges)
}

// left is the error if no mirror is left at all.
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

// checkpoints writes the record of a part now and then, one at a time, beside what comes.
type checkpoints struct {
	p   *part
	now func() time.Time
	at  time.Time // when the last one began
	end chan error
}

// perhaps begins one if it is time to. The error is that of the last one.
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

// wait returns when none is under way.
func (c *checkpoints) wait() error {
	if c.end == nil {
		return nil
	}
	err := <-c.end
	c.end = nil
	return err
}
