package den

import "time"

// How part sizes are tried towards protocol 0. Receivers take any size (reference 2.5); paths may not.
const (
	// Sizes that are tried before the largest one: a path with a small buffer may take ten of them, but not of that.
	smallSize  = 4096
	middleSize = 8192
	// sizeTrust is how many parts of one size must arrive before a larger one is tried.
	sizeTrust = 32
	// sizeSample is over how many parts losses are counted, and sizeLosses how many of them are too many: at one in
	// eight the parts that are lost cost more than the long ones win.
	sizeSample = 64
	sizeLosses = sizeSample / 8
	// A size that failed is tried again after sizePause, then after twice as long, up to maxSizePause.
	sizePause    = 5 * time.Second
	maxSizePause = 2 * time.Minute
)

// sizer chooses the part size. A larger size is tried with a part that no receiver wants, so that it can be given up:
// a part that matters must be sent again as it was.
type sizer struct {
	sizes []int // rising
	at    int   // index of the size in use

	trusted    int // parts of this size that arrived in a row, up to sizeTrust
	sent, lost int // of the current sample
	probing    bool
	next       time.Time // no probe before
	pause      time.Duration
}

func newSizer(least, most int) sizer {
	s := sizer{sizes: []int{least}, pause: sizePause}
	for _, size := range []int{smallSize, middleSize, most} {
		if size > s.sizes[len(s.sizes)-1] && size <= most {
			s.sizes = append(s.sizes, size)
		}
	}
	return s
}

// size is that of the next parts.
func (s *sizer) size() int { return s.sizes[s.at] }

// probe is the size to be tried now, or 0. n is the length of what waits to be sent.
func (s *sizer) probe(n int, now time.Time) int {
	if s.probing || s.at+1 == len(s.sizes) || n <= s.size() || now.Before(s.next) || (s.at > 0 && s.trusted < sizeTrust) {
		return 0
	}
	s.probing = true
	return s.sizes[s.at+1]
}

// probed says how a probe ended.
func (s *sizer) probed(arrived bool, now time.Time) {
	s.probing = false
	if arrived {
		s.move(s.at + 1)
		return
	}
	s.later(now)
}

func (s *sizer) later(now time.Time) {
	s.next = now.Add(s.pause)
	s.pause = min(2*s.pause, maxSizePause)
}

func (s *sizer) move(at int) {
	s.at = min(at, len(s.sizes)-1)
	s.trusted, s.sent, s.lost = 0, 0, 0
}

// arrived counts a part of n bytes that came through the first time.
func (s *sizer) arrived(n int) {
	if n == s.size() {
		s.trusted = min(s.trusted+1, sizeTrust)
		s.count(0)
	}
}

// resent counts a part of n bytes that is sent for the times-th time. One that is lost a third time goes straight to the
// smallest size: the path does not take this one.
func (s *sizer) resent(n, times int, now time.Time) {
	if n <= s.sizes[0] || s.at == 0 {
		return
	}
	s.trusted = 0
	s.count(1)
	switch {
	case times > 3:
		s.move(0)
	case s.lost >= sizeLosses:
		s.move(s.at - 1)
	default:
		return
	}
	s.later(now)
}

func (s *sizer) count(lost int) {
	s.sent++
	s.lost += lost
	if s.sent >= sizeSample {
		s.sent, s.lost = s.sent/2, s.lost/2
	}
}
