package download

import (
	"context"
	"errors"
	"fmt"
	"time"

	"collet/platform/span"
)

// This file has the checks of requests in flight, every tickEvery: time limits, slow and stalled connections, splits and probes.

const (
	// dripAfter is how long a small file may be slower than dripRate after its first byte.
	dripAfter = 10 * time.Second
	// dripRate is that rate in bytes a second: a connection with this rate for each of three requests is of no use.
	dripRate = 256
	// splitTime is the least remaining time of a request to be split: a new connection costs two round trips and has to get up to
	// speed.
	splitTime = time.Second
	// splitInOrder is the same where the bytes should come in order, see Object.Arrived: the second half is of no use before the first,
	// and what the server has sent of it when the first connection is closed, some megabytes on a long fast line, has come twice.
	splitInOrder = 20 * time.Second
	// measureTime is how long a request is measured before it is split, and measureInOrder the same where the bytes should come in order:
	// TCP begins slowly, and takes ten round trips to get up to speed.
	measureTime    = splitTime / 2
	measureInOrder = 3 * time.Second
	// stuckTime is how long a connection may deliver no byte, in addition to two round trips, before a free one takes over.
	// Systems retransmit a lost packet after 200 ms at the earliest, and a lost first one after a second.
	stuckTime = 200 * time.Millisecond
)

// errStuck ends a stalled request, which is made again on a working connection. It is not a failure of the mirror.
var errStuck = errors.New("another connection works and this one does not")

// watch checks the requests in flight.
func (s *scheduler) watch(ctx context.Context) {
	now := s.f.o.Now()
	if paused, _ := s.f.gate.state(); paused {
		s.mu.Lock()
		for r := range s.requests {
			r.last, r.mark, r.markAt, r.since = now, now, r.at, now
		}
		s.mu.Unlock()
		s.f.stats.skipEpoch(now)
		return
	}
	limited := s.f.throttle.limit() > 0
	s.mu.Lock()
	for r := range s.requests {
		s.checkProgress(r, now, limited)
	}
	s.mu.Unlock()
	s.f.stats.endEpoch(now, limited)
	if !s.stream {
		s.probe(ctx, now)
		s.split(now)
	}
}

// checkProgress cancels a request that is too slow, or silent for too long. The caller holds mu.
func (s *scheduler) checkProgress(r *request, now time.Time, limited bool) {
	stalled := func(format string, values ...any) {
		r.cancel(&NetError{Mirror: r.m.mirror.Name(), Name: s.o.Name, Kind: NetStalled, Err: fmt.Errorf(format, values...)})
	}
	took, got := now.Sub(r.since), r.at-r.from
	switch {
	case s.small && got > 0 && took >= dripAfter && float64(got) < dripRate*took.Seconds():
		stalled("%d bytes in %v", got, took.Round(time.Second))
	case r.reading && now.Sub(r.last) >= s.f.o.Patience:
		stalled("%v without a byte", s.f.o.Patience)
	case !limited:
		s.leaveSlow(r, now)
	}
}

// leaveSlow cancels a request that is far slower than another mirror. The caller holds mu.
func (s *scheduler) leaveSlow(r *request, now time.Time) {
	took := now.Sub(r.mark)
	if took < slowAfter {
		return
	}
	rate := float64(r.at-r.markAt) / took.Seconds()
	if best := s.f.stats.fastestOther(s.mirrors(), r.m, now); rate*slowShare < best {
		r.cancel(&WrongError{Mirror: r.m.mirror.Name(), Name: s.o.Name, Kind: WrongSlow,
			Detail: fmt.Sprintf("%.0f bytes a second, and another place gave %.0f", rate, best)})
		return
	}
	r.mark, r.markAt = now, r.at
}

// longest is the request that needs the most time for its unread bytes, and that time. The caller holds mu.
func (s *scheduler) longest(now time.Time) (longest *request, need time.Duration) {
	for r := range s.requests {
		if r.probe || r.to == openEnd || r.unread() == 0 {
			continue
		}
		takes := time.Hour
		if rate := r.rate(now); rate > 1 {
			takes = time.Duration(min(float64(r.unread())/rate, time.Hour.Seconds()) * float64(time.Second))
		}
		if takes > need || longest == nil {
			longest, need = r, takes
		}
	}
	return longest, need
}

// cancelStuck cancels a stalled request if another request has succeeded since it began: a lost packet can stall a connection for a
// second, and the other connection is free. The caller holds mu.
func (s *scheduler) cancelStuck(now time.Time) {
	for r := range s.requests {
		if r.reading && !r.probe && r.to != openEnd && s.succeeded.After(r.began) && now.Sub(r.last) > 2*s.f.stats.latency()+stuckTime {
			r.cancel(&ownError{errStuck})
			return
		}
	}
}

// split splits the request with the longest remaining time, if one more may be in flight and no range is pending.
func (s *scheduler) split(now time.Time) {
	if s.f.stats.freeRequests() <= 0 || len(s.pending) > 0 && !s.full {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancelStuck(now); len(s.pending) > 0 {
		return
	}
	worth, measured := splitTime, measureTime
	if s.o.Arrived != nil {
		worth, measured = splitInOrder, measureInOrder
	}
	r, need := s.longest(now)
	if r == nil || need < worth || r.unread() < 2*smallestRequest || now.Sub(r.began) < measured {
		return
	}
	middle := r.to - r.unread()/2
	s.pending = append(s.pending, span.Of(middle, r.to))
	r.to = middle
}

// probe sends a probe to a mirror without recent requests, for bytes at the end of the missing ranges.
func (s *scheduler) probe(ctx context.Context, now time.Time) {
	if now.Sub(s.started) < splitTime {
		return
	}
	m := s.f.stats.toProbe(s.mirrors(), now)
	if m == nil {
		return
	}
	if of, found := s.cutProbe(now); found {
		s.start(ctx, m, of, true)
	}
}

// cutProbe removes the range of a probe from the pending ranges, or from a request in flight.
func (s *scheduler) cutProbe(now time.Time) (of Range, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.requests {
		if r.probe {
			return of, false
		}
	}
	if n := len(s.pending); n > 0 {
		last := &s.pending[n-1]
		if last.End == openEnd || last.Len() < 2*probeSize {
			return of, false
		}
		last.End -= probeSize
		return span.Of(last.End, last.End+probeSize), true
	}
	r, _ := s.longest(now)
	if r == nil || r.unread() < 2*probeSize {
		return of, false
	}
	r.to -= probeSize
	return span.Of(r.to, r.to+probeSize), true
}
