package acquire

import (
	"maps"
	"sync"

	"collet/app/update"
	"collet/netproto/release"
	"collet/netproto/release/trust"
)

// Report is the result of a Source, for logs and users.
type Report struct {
	Release release.Head       // the release that the signed list offers; zero if it offers none or was not reached
	From    uint64             // number of the release that was installed; 0 is unknown
	Stale   trust.Staleness    // why Release may not be current
	Bytes   map[Strategy]int64 // bytes of contents by strategy
	Fetched int64              // bytes received in all, lists included
}

// Saved is the size of the contents minus the bytes received; at least 0.
func (r Report) Saved() int64 {
	sum := -r.Fetched
	for _, n := range r.Bytes {
		sum += n
	}
	return max(sum, 0)
}

// Progress is the progress of a Source before it fetches contents.
type Progress struct {
	Answers int   // verified documents, and verdicts of the server
	Bytes   int64 // received in all, verified or not
	Waiting bool  // it waits for a peer, not for this machine
}

// progress has what a Source reports while it works. It is safe for concurrent use.
type progress struct {
	mu      sync.Mutex
	traffic update.Traffic
	basis   int64 // traffic before the current strategy
	report  Report
	answers int  // see Progress
	awaited int  // calls of await that are not over
	met     bool // a mirror has answered
}

// answered counts a complete and verified answer.
func (p *progress) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers++
}

// await marks that the Source waits for a peer, until over is called.
func (p *progress) await() (over func()) {
	p.mu.Lock()
	p.awaited++
	p.mu.Unlock()
	return func() {
		p.mu.Lock()
		p.awaited--
		p.mu.Unlock()
	}
}

// meetMirror records that a mirror has answered.
func (p *progress) meetMirror() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.met = true
}

// hasMet reports whether a mirror has answered.
func (p *progress) hasMet() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.met
}

// update changes the report.
func (p *progress) update(change func(r *Report)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.report)
}

// countFetched counts received bytes.
func (p *progress) countFetched(n int) { p.update(func(r *Report) { r.Fetched += int64(n) }) }

// countBlob counts a content that a strategy completed.
func (p *progress) countBlob(by Strategy, size int64) {
	p.update(func(r *Report) { r.Bytes[by] += size })
}

// expectTraffic sets the bytes that are still expected. A strategy begins.
func (p *progress) expectTraffic(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.basis = p.traffic.Done
	p.traffic.Total = p.basis + bytes
}

// reportTraffic reports done received bytes of the current strategy.
func (p *progress) reportTraffic(done int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.traffic.Done = min(p.basis+done, p.traffic.Total)
}

// state returns all that is reported. The report is a copy.
func (p *progress) state() (update.Traffic, Report, Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.report
	r.Bytes = maps.Clone(r.Bytes)
	return p.traffic, r, Progress{Answers: p.answers, Bytes: r.Fetched, Waiting: p.awaited > 0}
}
