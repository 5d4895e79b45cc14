package faultfs

import (
	"slices"
	"sync"
)

// maxTrace is how many operations, the first ones, the trace keeps: more than a process in a test makes, and 16 MB.
const maxTrace = 1 << 17

// Options configure the observation of a process. The functions are called on the goroutine of the call, while the disk is not locked,
// so that they may cut its power, change files through another process, or kill this one.
type Options struct {
	Reads  bool     // count calls that change nothing, too
	Before func(Op) // called before each counted operation that will be performed
	After  func(Op) // called after each counted operation, unless the process ended with it
}

// schedule decides what happens to each operation of a process: it counts them, and has the stops and faults that are set. It is safe for
// concurrent use.
type schedule struct {
	options Options

	mu                                sync.Mutex
	count                             int
	trace                             []Op
	rules                             []*armed
	fails                             map[int]error
	stopBefore, stopInside, stopAfter int
}

// StopBefore ends the process when operation number k begins, before its effect. Stops are set before that operation, one of each kind;
// k = 0 removes the stop.
func (s *schedule) StopBefore(k int) { s.update(func() { s.stopBefore = k }) }

// StopInside ends the process in the middle of operation number k: the first half of a write's bytes arrive. Other operations are
// performed completely.
func (s *schedule) StopInside(k int) { s.update(func() { s.stopInside = k }) }

// StopAfter ends the process after the effect of operation number k, before the caller gets its result.
func (s *schedule) StopAfter(k int) { s.update(func() { s.stopAfter = k }) }

// FailAt makes only operation number k fail with err, without an effect, as at a bad sector.
func (s *schedule) FailAt(k int, err error) { s.update(func() { s.fails[k] = err }) }

// Inject appends rules.
func (s *schedule) Inject(rules ...Rule) {
	s.update(func() {
		for _, r := range rules {
			s.rules = append(s.rules, &armed{Rule: r, left: r.Bytes})
		}
	})
}

// Heal removes all rules.
func (s *schedule) Heal() { s.update(func() { s.rules = nil }) }

func (s *schedule) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Count is the number of counted operations.
func (s *schedule) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// Ops are the counted operations, at most the first 131072. An operation under way has no error yet.
func (s *schedule) Ops() []Op {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.trace)
}

// countOperation numbers an operation and returns the verdict.
func (s *schedule) countOperation(o *Op, counts bool) verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	if counts {
		s.count++
		o.Number = s.count
		if len(s.trace) < maxTrace {
			s.trace = append(s.trace, *o)
		}
		if v, stops := s.stopAt(o); stops {
			return v
		}
	}
	if err := s.fails[o.Number]; err != nil && counts {
		return verdict{err: err, spared: true}
	}
	for _, r := range s.rules {
		if v, applies := r.decide(*o); applies {
			return v
		}
	}
	return pass
}

// stopAt decides whether the process ends with an operation.
func (s *schedule) stopAt(o *Op) (v verdict, stops bool) {
	switch o.Number {
	case s.stopBefore:
		return verdict{spared: true, last: true}, true
	case s.stopInside:
		if o.Verb == Write {
			return verdict{limit: int(o.Size / 2), last: true}, true
		}
		return verdict{limit: -1, last: true}, true
	case s.stopAfter:
		return verdict{limit: -1, last: true}, true
	default:
		return pass, false
	}
}

// finish records the result of an operation.
func (s *schedule) finish(o Op) {
	s.mu.Lock()
	if o.Number <= len(s.trace) {
		s.trace[o.Number-1].Err = o.Err
	}
	s.mu.Unlock()
	if s.options.After != nil {
		s.options.After(o)
	}
}
