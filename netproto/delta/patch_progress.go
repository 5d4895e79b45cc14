package delta

import "sync"

// progress sums the work of goroutines and reports it.
type progress struct {
	mu     sync.Mutex
	report func(done float64)
	done   float64
}

// Fractions of the whole work, by their time for a native module.
const (
	partSort  = 0.15 // the suffix array
	partMatch = 0.45 // paths
	partCode  = 0.40 // compression of the streams
)

// add records a completed fraction. Repeated work does not raise the sum above the whole.
func (p *progress) add(part float64) {
	if p.report == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = min(p.done+part, 1)
	p.report(p.done)
}
