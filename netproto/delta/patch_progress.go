package delta

import "sync"

// progress adds up what goroutines have done and reports it.
type progress struct {
	mu     sync.Mutex
	report func(done float64)
	done   float64
}

// Parts of the whole work, by what they take for a native module.
const (
	partSort  = 0.15 // the suffix array
	partMatch = 0.45 // paths
	partCode  = 0.40 // coding the streams
)

// add notes that a part of the whole is done. Work that turns out to be needed twice does not report more than all.
func (p *progress) add(part float64) {
	if p.report == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = min(p.done+part, 1)
	p.report(p.done)
}
