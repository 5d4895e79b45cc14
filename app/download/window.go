package download

const (
	// MinInFlight is the least number of requests in flight: with two, data flows while one request is on its way.
	MinInFlight = 2
	// MaxInFlight is the largest number of requests in flight: more gained nothing on any measured connection, and servers begin
	// to reject them.
	MaxInFlight = 8
)

const (
	// risingShare is the growth from one epoch to the next above which the throughput is still rising by itself.
	risingShare = 1.25
	// collapseShare is the share of the last epoch's throughput below which it has collapsed.
	collapseShare = 0.5
	// longestRest is the largest number of epochs between two tries of one more request.
	longestRest = 8
	// faultEpochs is the number of epochs without a try after a fault.
	faultEpochs = 4
)

// window is how many requests may be in flight, from min to max: additive increase while it helps, multiplicative decrease. Its
// input is the throughput of epochs in which all allowed requests were in flight.
//
//	rising   the throughput grows by itself: wait
//	steady   try one more; keep it if it added a third of its fair share (1 / 3n more), else go back and rest, longer each time
//	fault    a timeout, a busy server, half of the throughput lost: halve the number, and rest
//
// It is not safe for concurrent use.
type window struct {
	min, max int
	size     int
	last     float64 // bytes a second of the last epoch
	base     float64 // of the epoch before the try
	trying   bool
	rest     int // epochs until the next try
	patience int // the rest after the next failed try
}

func newWindow(least, most int) *window {
	return &window{min: least, max: most, size: least, patience: 1}
}

// adjust handles the throughput of one epoch, in bytes a second.
func (w *window) adjust(rate float64) {
	last := w.last
	w.last = rate
	switch {
	case w.trying:
		w.endTrial(rate)
	case rate < last*collapseShare:
		w.halve()
	case rate > last*risingShare:
	case w.rest > 0:
		w.rest--
	case w.size < w.max:
		w.base, w.trying = rate, true
		w.size++
	}
}

// endTrial ends a try: the additional request stays if it increased the throughput.
func (w *window) endTrial(rate float64) {
	w.trying = false
	if rate >= w.base*(1+1/(3*float64(w.size-1))) {
		w.patience = 1
		return
	}
	w.size--
	w.rest, w.patience = w.patience, min(2*w.patience, longestRest)
}

// skip handles an epoch without a meaningful throughput. A try ends without a result.
func (w *window) skip() {
	if w.trying {
		w.size, w.trying = w.size-1, false
	}
}

// halve handles a fault.
func (w *window) halve() {
	w.size, w.trying, w.rest = max(w.min, w.size/2), false, faultEpochs
}
