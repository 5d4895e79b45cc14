package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// pageSize is the size of a read in bytes: larger reads are not faster, and one page for each request in flight is all the
	// memory that Whole needs.
	pageSize = 128 << 10
	// capSlices is the least number of reads a second under a rate limit, so that a slow download progresses evenly.
	capSlices = 10
	// leastRead is the smallest read under a rate limit, in bytes.
	leastRead = 1 << 10
	// openEnd is the end of a range that extends to the end of the file.
	openEnd = int64(-1)
)

// request is one request in flight. run is called on its own goroutine.
type request struct {
	s      *scheduler
	m      *rankedMirror
	from   int64 // first requested byte
	began  time.Time
	pauses int  // number of pauses when it began
	probe  bool // it measures its mirror
	cancel context.CancelCauseFunc
	err    error // how it ended; set before scheduler.ended has it

	// its progress; the scheduler's mutex guards it
	at      int64     // the next byte
	claim   int64     // bytes up to here are being read, and are not reassigned
	to      int64     // its end; may be reduced, but not below claim. openEnd: the file's end
	reading bool      // it waits for the mirror
	last    time.Time // when bytes came last, or the waiting began
	mark    time.Time // begin of the rate measurement
	markAt  int64     // first byte of the rate measurement
	since   time.Time // when it began, or a pause ended
}

// unread is the number of bytes that are still to come and not being read; 0 if the end is open.
func (r *request) unread() int64 { return max(0, r.to-max(r.at, r.claim)) }

// rate is the rate since the request's beginning, in bytes a second.
func (r *request) rate(now time.Time) float64 {
	if took := now.Sub(r.began).Seconds(); took > 0 {
		return float64(r.at-r.from) / took
	}
	return 0
}

// ownError is a fault of this machine or of the caller, not of a mirror.
type ownError struct{ err error }

func (e *ownError) Error() string { return e.err.Error() }

func (e *ownError) Unwrap() error { return e.err }

// run makes the request and writes the received bytes to the sink. The error is one of the three of a Mirror, or an *ownError.
func (r *request) run(ctx context.Context, to int64) error {
	f := r.s.f
	if err := f.gate.wait(ctx); err != nil {
		return &ownError{err}
	}
	r.setReading(true)
	body, err := r.m.mirror.Get(ctx, r.s.o.Name, r.from, to, r.s.limit)
	r.setReading(false)
	if err != nil {
		return r.classify(ctx, err)
	}
	page := f.pages.Get().(*[]byte)
	defer f.pages.Put(page)
	err = r.checkSize(body)
	for err == nil {
		err = r.copyPage(ctx, body, *page)
	}
	_ = body.Close() // the answer is complete, or not used any more
	if err == io.EOF {
		return nil
	}
	return r.classify(ctx, err)
}

// setReading records whether the request waits for its mirror.
func (r *request) setReading(reading bool) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.reading, r.last = reading, r.s.f.o.Now()
}

// wrong is the error for a wrong answer of the mirror.
func (r *request) wrong(kind WrongKind, format string, values ...any) error {
	return &WrongError{Mirror: r.m.mirror.Name(), Name: r.s.o.Name, Kind: kind, Detail: fmt.Sprintf(format, values...)}
}

// checkSize checks the announced size of the file, or records it if the size was unknown.
func (r *request) checkSize(body io.Reader) error {
	sized, is := body.(Sized)
	if !is || sized.Total() < 0 {
		return nil
	}
	total := sized.Total()
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	o := &r.s.o
	switch {
	case o.Size < 0 && !r.s.small && r.to == openEnd:
		o.Size, r.to = total, total
		r.s.sink.setSize(total)
	case o.Size >= 0 && total != o.Size:
		return r.wrong(WrongLength, "%d bytes in place of %d", total, o.Size)
	}
	return nil
}

// copyPage reads once and writes the bytes to the sink. io.EOF is the regular end of the request.
func (r *request) copyPage(ctx context.Context, body io.Reader, page []byte) error {
	f := r.s.f
	if err := f.gate.wait(ctx); err != nil {
		return &ownError{err}
	}
	page = r.claimPage(page)
	if len(page) == 0 {
		return io.EOF
	}
	n, err := body.Read(page)
	if failed := r.write(ctx, page[:n]); failed != nil {
		return &ownError{failed}
	}
	if n > 0 {
		if failed := f.throttle.wait(ctx, n); failed != nil {
			return &ownError{failed}
		}
	}
	if err == io.EOF {
		return r.checkEnd()
	}
	return err
}

// claimPage claims the next bytes and returns the buffer for them; an empty one at the end.
func (r *request) claimPage(page []byte) []byte {
	if limit := r.s.f.throttle.limit(); limit > 0 {
		page = page[:min(int64(len(page)), max(limit/capSlices, leastRead))]
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.to != openEnd {
		page = page[:min(int64(len(page)), r.to-r.at)]
	}
	r.claim = r.at + int64(len(page))
	r.reading, r.last = true, r.s.f.o.Now()
	return page
}

// write writes received bytes to the sink.
func (r *request) write(ctx context.Context, data []byte) error {
	now := r.s.f.o.Now()
	r.s.mu.Lock()
	at := r.at
	r.reading, r.last = false, now
	r.s.mu.Unlock()
	if len(data) == 0 {
		return nil
	}
	r.s.f.o.Count(len(data))
	if r.s.f.stats.countBytes(len(data)); at == r.from {
		r.s.f.stats.recordLatency(r.m, now.Sub(r.began))
	}
	if err := r.s.sink.write(ctx, r.m, at, data); err != nil {
		return err
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.at += int64(len(data))
	return nil
}

// checkEnd handles the end of the mirror's answer.
func (r *request) checkEnd() error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	switch {
	case r.to == openEnd:
		if r.to = r.at; !r.s.small {
			r.s.o.Size = r.at
			r.s.sink.setSize(r.at)
		}
	case r.at < r.to:
		return r.wrong(WrongShort, "%d of %d", r.at-r.from, r.to-r.from)
	}
	return io.EOF
}

// classify maps the error of a request to one of its four types.
func (r *request) classify(ctx context.Context, err error) error {
	var own *ownError
	var missing *MissingError
	var wrong *WrongError
	var network *NetError
	if ended := context.Cause(ctx); ended != nil { // it takes precedence over the mirror's error
		err = ended
	}
	switch {
	case errors.As(err, &own), errors.As(err, &missing), errors.As(err, &wrong), errors.As(err, &network):
		return err
	case ctx.Err() != nil:
		return &ownError{err}
	default:
		return &NetError{Mirror: r.m.mirror.Name(), Name: r.s.o.Name, Kind: NetReset, Err: err}
	}
}
