package den

import "time"

// Selection of part sizes in protocol 0. Receivers accept any size (docs/PROTOCOL.md, "Protocol 0"); paths may not.
const (
	// smallSize is tried before the largest size: a path with a small buffer may hold ten small parts, but not ten of the largest.
	smallSize  = 4096
	middleSize = 8192
	// sizeTrust is how many parts of one size must arrive before a larger one is tried.
	sizeTrust = 32
	// sizeSample is the number of parts over which losses are counted, and sizeLosses how many of them are too many: at
	// one in eight the retransmissions cost more than long parts gain.
	sizeSample = 64
	sizeLosses = sizeSample / 8
	// A failed size is tried again after sizePause, then after twice as long, up to maxSizePause.
	sizePause    = 5 * time.Second
	maxSizePause = 2 * time.Minute
)

// sizer selects the part size. It tries a larger size with a part without a message, because a real part has to be
// retransmitted unchanged.
type sizer struct {
	sizes []int // ascending
	at    int   // index of the size in use

	trusted    int // consecutive arrived parts of this size, up to sizeTrust
	sent, lost int // of the current sample
	probing    bool
	next       time.Time // earliest next probe
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

// size is the size of the next parts.
func (s *sizer) size() int { return s.sizes[s.at] }

// probe is the size to try now, or 0. n is the length of the queued data.
func (s *sizer) probe(n int, now time.Time) int {
	if s.probing || s.at+1 == len(s.sizes) || n <= s.size() || now.Before(s.next) || (s.at > 0 && s.trusted < sizeTrust) {
		return 0
	}
	s.probing = true
	return s.sizes[s.at+1]
}

// probed records the result of a probe.
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

// arrived records a part of n bytes that arrived without a retransmission.
func (s *sizer) arrived(n int) {
	if n == s.size() {
		s.trusted = min(s.trusted+1, sizeTrust)
		s.count(0)
	}
}

// resent records the times-th transmission of a part of n bytes, where times is above 1. After three losses the size
// falls back to the smallest: the path does not carry this one.
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
