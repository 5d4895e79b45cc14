package download

import (
	"context"
	"errors"
	"fmt"
	"time"

	"collet/platform/span"
)

// final are the permanent faults: the mirror is not asked for this file again.
var final = map[WrongKind]bool{
	WrongRefused: true, WrongLength: true, WrongEncoded: true, WrongStale: true, WrongPage: true, WrongRedirect: true,
}

// blame handles the failure of a request for its mirror. An error ends the whole call.
func (j *job) blame(fl *flight, err error, now time.Time) error {
	m := fl.m
	j.last[m] = err
	j.f.o.Log.Debug().Err(err).Str("way", m.mirror.Name()).Int64("offset", fl.at).Msg("a request broke off")
	if _, times := j.f.gate.state(); times != fl.pauses {
		return nil // a pause may have caused it: servers drop paused connections
	}
	var missing *MissingError
	var wrong *WrongError
	switch {
	case errors.As(err, &missing):
		j.gone[m] = err
		if j.fresh && j.metadata() {
			return err
		}
		return nil
	case !errors.As(err, &wrong):
	case wrong.Kind == WrongSlow:
		j.f.slow(fl, now)
		return nil
	case wrong.Kind == WrongWhole && !m.whole:
		j.f.mu.Lock()
		m.whole = true
		j.f.mu.Unlock()
		return nil
	case final[wrong.Kind], wrong.Kind == WrongLong && j.fresh:
		j.gone[m] = err
		j.f.failed(m, now, err)
		return nil
	}
	return j.strike(fl, err, wrong, now)
}

// strike counts a temporary failure.
func (j *job) strike(fl *flight, err error, wrong *WrongError, now time.Time) error {
	m := fl.m
	busy := wrong != nil && wrong.Kind == WrongBusy
	var network *NetError
	if busy || errors.As(err, &network) && network.Kind == NetStalled {
		j.f.mu.Lock()
		j.f.pacer.trouble()
		j.f.mu.Unlock()
	}
	if fl.at-fl.from >= broughtEnough && !j.fresh {
		j.strikes[m] = 0
		delete(j.benched, m)
		j.f.delivered(fl, now)
		return nil
	}
	j.f.failed(m, now, err)
	j.strikes[m]++
	most := mirrorFailures
	if busy && len(j.mirrors()) == 1 {
		most = busyTries
	}
	if j.strikes[m] >= most {
		j.benched[m] = err
	}
	return nil
}

// settle drops a mirror that failed too often, once none of its requests is in flight: one of them may still succeed.
func (j *job) settle(m *rankedMirror) {
	err := j.benched[m]
	if err == nil {
		return
	}
	for fl := range j.flights {
		if fl.m == m {
			return
		}
	}
	delete(j.benched, m)
	j.gone[m] = err
}

// came records received bytes.
func (f *Fetcher) came(fl *flight, n int, now time.Time, first bool) {
	f.o.Count(n)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.epoch.bytes += int64(n)
	if first {
		fl.m.answered(now.Sub(fl.began))
	}
}

// delivered records the rate of a request for its mirror, unless a pause or a rate limit distorted it.
func (f *Fetcher) delivered(fl *flight, now time.Time) {
	_, times := f.gate.state()
	capped := f.throttle.limit() > 0
	f.mu.Lock()
	defer f.mu.Unlock()
	if times != fl.pauses || capped {
		fl.m.failures = 0
		return
	}
	fl.m.delivered(fl.at-fl.from, now.Sub(fl.began))
}

func (f *Fetcher) failed(m *rankedMirror, now time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m.failedAt(now, err)
}

// slow records the rate of a slow mirror.
func (f *Fetcher) slow(fl *flight, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if took := now.Sub(fl.mark).Seconds(); took > 0 {
		fl.m.rate = max(float64(fl.at-fl.markAt)/took, 1)
	}
}

// watch checks the requests in flight, every tickEvery.
func (j *job) watch(ctx context.Context) {
	now := j.f.o.Now()
	paused, _ := j.f.gate.state()
	capped := j.f.throttle.limit() > 0
	j.mu.Lock()
	for fl := range j.flights {
		if paused {
			fl.last, fl.mark, fl.markAt, fl.since = now, now, fl.at, now
			continue
		}
		if j.drips(fl, now) {
			fl.cancel(&NetError{Mirror: fl.m.mirror.Name(), Name: j.o.Name, Kind: NetStalled, Err: fmt.Errorf("%d bytes in %v", fl.at-fl.from, now.Sub(fl.since).Round(time.Second))})
		} else if fl.reading && now.Sub(fl.last) >= j.f.o.Patience {
			fl.cancel(&NetError{Mirror: fl.m.mirror.Name(), Name: j.o.Name, Kind: NetStalled, Err: fmt.Errorf("%v without a byte", j.f.o.Patience)})
		} else if !capped {
			j.hurry(fl, now)
		}
	}
	j.mu.Unlock()
	if paused {
		j.f.restEpoch(now)
		return
	}
	j.f.endEpoch(now, capped)
	if !j.alone {
		j.probe(ctx, now)
		j.split(now)
	}
}

const (
	// dripAfter is how long a small file may be slower than dripRate after its first byte.
	dripAfter = 10 * time.Second
	// dripRate is that rate in bytes a second: a connection with this rate for each of three requests is of no use.
	dripRate = 256
)

// drips reports whether a small file arrives too slowly. Before its first byte Patience applies. The caller holds mu.
func (j *job) drips(fl *flight, now time.Time) bool {
	if !j.small || fl.at == fl.from {
		return false
	}
	took := now.Sub(fl.since)
	return took >= dripAfter && float64(fl.at-fl.from) < dripRate*took.Seconds()
}

// hurry cancels a request that is far slower than another mirror. The caller holds mu.
func (j *job) hurry(fl *flight, now time.Time) {
	took := now.Sub(fl.mark)
	if took < slowAfter {
		return
	}
	rate := float64(fl.at-fl.markAt) / took.Seconds()
	j.f.mu.Lock()
	best := fastest(j.mirrors(), fl.m, now)
	j.f.mu.Unlock()
	if rate*slowShare < best {
		fl.cancel(&WrongError{Mirror: fl.m.mirror.Name(), Name: j.o.Name, Kind: WrongSlow,
			Detail: fmt.Sprintf("%.0f bytes a second, and another place gave %.0f", rate, best)})
		return
	}
	fl.mark, fl.markAt = now, fl.at
}

// longest is the request that needs the most time for its unread bytes, and that time. The caller holds mu.
func (j *job) longest(now time.Time) (longest *flight, need time.Duration) {
	for fl := range j.flights {
		rate := fl.rate(now)
		if fl.probe || fl.to == openEnd || fl.rest() == 0 {
			continue
		}
		takes := time.Hour
		if rate > 1 {
			takes = time.Duration(min(float64(fl.rest())/rate, time.Hour.Seconds()) * float64(time.Second))
		}
		if takes > need || longest == nil {
			longest, need = fl, takes
		}
	}
	return longest, need
}

// errStuck ends a stalled request, which is made again on a working connection. It is not a failure of the mirror.
var errStuck = errors.New("another connection works and this one does not")

// rescue cancels a stalled request if another request has succeeded since it began: a lost packet can stall a connection for a second,
// and the other connection is free. The caller holds mu.
func (j *job) rescue(now time.Time, latency time.Duration) {
	for fl := range j.flights {
		if fl.reading && !fl.probe && fl.to != openEnd && j.worked.After(fl.began) && now.Sub(fl.last) > 2*latency+stuckTime {
			fl.cancel(&ownError{errStuck})
			return
		}
	}
}

// split splits the request with the longest remaining time, if one more may be in flight and no range is pending.
func (j *job) split(now time.Time) {
	j.f.mu.Lock()
	free, latency := j.f.pacer.n-j.f.flying, j.f.latency()
	j.f.mu.Unlock()
	if free <= 0 || len(j.pending) > 0 && !j.full {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.rescue(now, latency); len(j.pending) > 0 {
		return
	}
	fl, need := j.longest(now)
	if fl == nil || need < splitTime || fl.rest() < 2*smallestRequest || now.Sub(fl.began) < splitTime/2 {
		return
	}
	middle := fl.to - fl.rest()/2
	j.pending = append(j.pending, span.Of(middle, fl.to))
	fl.to = middle
}

// probe sends a probe to a mirror without recent requests, for bytes at the end of the missing ranges.
func (j *job) probe(ctx context.Context, now time.Time) {
	if now.Sub(j.started) < splitTime {
		return
	}
	j.f.mu.Lock()
	m := toProbe(j.mirrors(), now)
	j.f.mu.Unlock()
	if m == nil {
		return
	}
	j.mu.Lock()
	r, found := j.probeRange(now)
	j.mu.Unlock()
	if found {
		j.start(ctx, m, r, true)
	}
}

// probeRange takes the range of a probe from the pending ranges or from a request in flight. The caller holds mu.
func (j *job) probeRange(now time.Time) (r Range, found bool) {
	for fl := range j.flights {
		if fl.probe {
			return r, false
		}
	}
	if n := len(j.pending); n > 0 {
		last := &j.pending[n-1]
		if last.End == openEnd || last.Len() < 2*probeSize {
			return r, false
		}
		last.End -= probeSize
		return span.Of(last.End, last.End+probeSize), true
	}
	fl, _ := j.longest(now)
	if fl == nil || fl.rest() < 2*probeSize {
		return r, false
	}
	fl.to -= probeSize
	return span.Of(fl.to, fl.to+probeSize), true
}

const (
	// shortestEpoch and longestEpoch limit the time over which throughput is measured. In between it is epochTrips round trips:
	// enough for a new request to get up to speed.
	shortestEpoch = 500 * time.Millisecond
	longestEpoch  = 3 * time.Second
	epochTrips    = 8
)

// epoch is the time over which throughput is measured. The fetcher's mutex guards it.
type epoch struct {
	began   time.Time
	bytes   int64
	starved bool // fewer requests were in flight than allowed, or the rate was limited
}

// restEpoch begins a new epoch and discards the last one.
func (f *Fetcher) restEpoch(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pacer.idle()
	f.epoch = epoch{began: now}
}

// endEpoch passes the throughput of an epoch to the pacer when the epoch is over.
func (f *Fetcher) endEpoch(now time.Time, capped bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.flying < f.pacer.n || capped {
		f.epoch.starved = true
	}
	took := now.Sub(f.epoch.began)
	switch {
	case took < min(max(epochTrips*f.latency(), shortestEpoch), longestEpoch):
		return
	case f.epoch.starved, took > 2*longestEpoch: // or not checked for a while
		f.pacer.idle()
	default:
		f.pacer.epoch(float64(f.epoch.bytes) / took.Seconds())
	}
	f.epoch = epoch{began: now}
}

// latency is the shortest time to a first byte of all mirrors; 0 is unknown. The caller holds the fetcher's mutex.
func (f *Fetcher) latency() (shortest time.Duration) {
	for _, m := range f.mirrors {
		if m.latency > 0 && (shortest == 0 || m.latency < shortest) {
			shortest = m.latency
		}
	}
	return shortest
}
