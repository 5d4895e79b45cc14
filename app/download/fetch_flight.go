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

// flight is one request in flight. The job's mutex guards the fields that change.
type flight struct {
	m      *rankedMirror
	from   int64 // first requested byte
	began  time.Time
	pauses int  // number of pauses when it began
	probe  bool // it measures its mirror
	cancel context.CancelCauseFunc

	at      int64     // the next byte
	claim   int64     // bytes up to here are being read, and are not reassigned
	to      int64     // its end; may be reduced, but not below claim. openEnd: the file's end
	reading bool      // it waits for the mirror
	last    time.Time // when bytes came last, or the waiting began
	mark    time.Time // begin of the rate measurement
	markAt  int64     // first byte of the rate measurement
	since   time.Time // when it began, or a pause ended
}

// rest is the number of bytes that are still to come and not being read; 0 if the end is open.
func (fl *flight) rest() int64 { return max(0, fl.to-max(fl.at, fl.claim)) }

// rate is the rate since the flight's beginning, in bytes a second.
func (fl *flight) rate(now time.Time) float64 {
	if took := now.Sub(fl.began).Seconds(); took > 0 {
		return float64(fl.at-fl.from) / took
	}
	return 0
}

// landing is the end of a flight.
type landing struct {
	fl  *flight
	err error
}

// ownError is a fault of this machine or of the caller, not of a mirror.
type ownError struct{ err error }

func (e *ownError) Error() string { return e.err.Error() }

func (e *ownError) Unwrap() error { return e.err }

// fly makes a request and passes the received bytes on. The error is one of the three of a Mirror, or an *ownError.
func (j *job) fly(ctx context.Context, fl *flight, to int64) error {
	if err := j.f.gate.pass(ctx); err != nil {
		return &ownError{err}
	}
	j.waiting(fl, true)
	body, err := fl.m.mirror.Get(ctx, j.o.Name, fl.from, to, j.limit)
	j.waiting(fl, false)
	if err != nil {
		return j.explain(ctx, fl, err)
	}
	page := j.f.pages.Get().(*[]byte)
	defer j.f.pages.Put(page)
	err = j.measure(fl, body)
	for err == nil {
		err = j.carry(ctx, fl, body, *page)
	}
	_ = body.Close() // the answer is complete, or not used any more
	if err == io.EOF {
		return nil
	}
	return j.explain(ctx, fl, err)
}

// waiting records whether the request waits for its mirror.
func (j *job) waiting(fl *flight, reading bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	fl.reading, fl.last = reading, j.f.o.Now()
}

// measure checks the announced size of the file, or records it if the size was unknown.
func (j *job) measure(fl *flight, body io.Reader) error {
	sized, is := body.(Sized)
	if !is || sized.Total() < 0 {
		return nil
	}
	total := sized.Total()
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.o.Size < 0 && j.learned != nil && fl.to == openEnd:
		j.o.Size, fl.to = total, total
		j.learned(total)
	case j.o.Size >= 0 && total != j.o.Size:
		return &WrongError{Mirror: fl.m.mirror.Name(), Name: j.o.Name, Kind: WrongLength, Detail: fmt.Sprintf("%d bytes in place of %d", total, j.o.Size)}
	}
	return nil
}

// carry reads once and passes the bytes on. io.EOF is the regular end of the request.
func (j *job) carry(ctx context.Context, fl *flight, body io.Reader, page []byte) error {
	if err := j.f.gate.pass(ctx); err != nil {
		return &ownError{err}
	}
	page = j.ask(fl, page)
	if len(page) == 0 {
		return io.EOF
	}
	n, err := body.Read(page)
	if failed := j.take(fl, page[:n]); failed != nil {
		return &ownError{failed}
	}
	if n > 0 {
		if failed := j.f.throttle.take(ctx, n); failed != nil {
			return &ownError{failed}
		}
	}
	if err == io.EOF {
		return j.close(fl)
	}
	return err
}

// ask claims the next bytes and returns the buffer for them; an empty one at the end.
func (j *job) ask(fl *flight, page []byte) []byte {
	if limit := j.f.throttle.limit(); limit > 0 {
		page = page[:min(int64(len(page)), max(limit/capSlices, leastRead))]
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if fl.to != openEnd {
		page = page[:min(int64(len(page)), fl.to-fl.at)]
	}
	fl.claim = fl.at + int64(len(page))
	fl.reading, fl.last = true, j.f.o.Now()
	return page
}

// take passes received bytes to the sink.
func (j *job) take(fl *flight, data []byte) error {
	now := j.f.o.Now()
	j.mu.Lock()
	at, first := fl.at, fl.at == fl.from && len(data) > 0
	fl.reading, fl.last = false, now
	j.mu.Unlock()
	if len(data) == 0 {
		return nil
	}
	j.f.came(fl, len(data), now, first)
	if err := j.sink(fl, at, data); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	fl.at += int64(len(data))
	return nil
}

// close handles the end of the mirror's answer.
func (j *job) close(fl *flight) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case fl.to == openEnd:
		fl.to = fl.at
		if j.learned != nil {
			j.o.Size = fl.at
			j.learned(fl.at)
		}
	case fl.at < fl.to:
		return &WrongError{Mirror: fl.m.mirror.Name(), Name: j.o.Name, Kind: WrongShort, Detail: fmt.Sprintf("%d of %d", fl.at-fl.from, fl.to-fl.from)}
	}
	return io.EOF
}

// explain maps the error of a request to one of its four types.
func (j *job) explain(ctx context.Context, fl *flight, err error) error {
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
		return &NetError{Mirror: fl.m.mirror.Name(), Name: j.o.Name, Kind: NetReset, Err: err}
	}
}
