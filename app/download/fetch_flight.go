package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// pageSize is how many bytes are read at once, in bytes: more are no faster, and one page for each request under way is all
	// the memory that Whole needs.
	pageSize = 128 << 10
	// capSlices is how many reads a second there are at least under a cap, so that a slow one flows and does not jump.
	capSlices = 10
	// leastRead is the smallest read under a cap, in bytes.
	leastRead = 1 << 10
	// openEnd is the end of a range that goes to the end of the file.
	openEnd = int64(-1)
)

// flight is one request under way. The job's mutex guards what changes.
type flight struct {
	m      *rankedMirror
	from   int64 // first byte that was asked for
	began  time.Time
	pauses int  // how often the gate had been closed when it began
	probe  bool // it is there to learn about its mirror
	cancel context.CancelCauseFunc

	at      int64     // the next byte
	claim   int64     // bytes up to here are being read, and stay its own
	to      int64     // where it ends; may come nearer, never nearer than claim. openEnd: at the file's end
	reading bool      // it waits for the mirror
	last    time.Time // when something came, or the waiting began
	mark    time.Time // since when it is watched for being slow
	markAt  int64     // and from which byte on
	since   time.Time // when it began, or a pause ended
}

// rest is what is still to come and not being read; 0 where the end is open.
func (fl *flight) rest() int64 { return max(0, fl.to-max(fl.at, fl.claim)) }

// rate is what it delivers, in bytes a second, since its beginning.
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

// ownError is a fault of this machine, which no mirror is to blame for.
type ownError struct{ err error }

func (e *ownError) Error() string { return e.err.Error() }

func (e *ownError) Unwrap() error { return e.err }

// fly makes a request and hands on what it brings. The error is one of the three of a Mirror, or an *ownError.
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
	_ = body.Close() // the answer is over, or of no more use
	if err == io.EOF {
		return nil
	}
	return j.explain(ctx, fl, err)
}

// waiting notes whether the request waits for its mirror.
func (j *job) waiting(fl *flight, reading bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	fl.reading, fl.last = reading, j.f.o.Now()
}

// measure compares the size that a mirror tells with what the file should have, or learns it.
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

// carry reads once and hands on what came. io.EOF is the end of the request, as it should be.
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

// ask claims the bytes that are read next, and gives the room for them; none at the end.
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

// take hands on what came.
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

// close ends a request whose mirror says that there is no more.
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

// explain gives the error of a request one of its four types.
func (j *job) explain(ctx context.Context, fl *flight, err error) error {
	var own *ownError
	var missing *MissingError
	var wrong *WrongError
	var network *NetError
	if ended := context.Cause(ctx); ended != nil { // whatever the mirror made of it
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
