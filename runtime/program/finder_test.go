package program

import (
	"errors"
	"testing"
	"time"

	"collet/runtime/abi"
)

// screens gives searches for windows; each fails as often as its number says, and then finds one.
type screens struct {
	failures []int
	closed   int
}

func (s *screens) open() (windows, error) {
	if len(s.failures) == 0 {
		return nil, errors.New("no screen")
	}
	f := &failingFinder{s: s, left: s.failures[0]}
	s.failures = s.failures[1:]
	return f, nil
}

type failingFinder struct {
	s    *screens
	left int
}

func (f *failingFinder) Visible([]int) (bool, error) {
	if f.left--; f.left >= 0 {
		return false, errors.New("no answer in time")
	}
	return true, nil
}

func (f *failingFinder) AskToClose([]int) {}
func (f *failingFinder) Close() error     { f.s.closed++; return nil }

// TestFinderFails: a screen that does not answer once is asked again; without one the time counts, and the end is no crash.
func TestFinderFails(t *testing.T) {
	for name, test := range map[string]struct {
		failures []int
		ready    bool
	}{
		"once":       {[]int{1, 0}, true},
		"for good":   {[]int{1}, false},
		"not at all": {[]int{0}, true},
		"no screen":  {nil, false},
		"each time":  {[]int{1, 1, 1, 0}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &screens{failures: test.failures}
			opened := min(len(test.failures), maxSearches)
			now := time.Now()
			m := &Module{window: s.open, now: func() time.Time { return now }}
			m.d.Ready.Window, m.d.Ready.Seconds = true, 10
			r := &run{Module: m, s: withDefaults(abi.Services{}), began: now}
			r.openFinder()
			for range 5 {
				r.checkReady([]int{1})
			}
			r.closeFinder()
			if r.ready != test.ready || s.closed != opened {
				t.Errorf("ready %t, want %t; %d of %d searches were closed", r.ready, test.ready, s.closed, opened)
			}
		})
	}
}
