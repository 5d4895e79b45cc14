package acquire

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"collet/app/download"
)

// ClosableMirror is a Mirror that holds connections.
type ClosableMirror interface {
	download.Mirror
	// Close closes them.
	Close() error
}

// mirrorPool has the mirrors of the current connection with their Fetcher, and the mirrors that heads name. Pause and rate limit apply to
// the current Fetcher and to later ones. One goroutine at a time calls openNamed and close; the other methods are safe for concurrent use.
type mirrorPool struct {
	fetch download.FetchOptions
	dial  func(address string) (download.Mirror, error) // nil: mirrors of heads are ignored
	log   zerolog.Logger

	mu      sync.Mutex
	mirrors []download.Mirror          // including the server's and those of heads
	opened  map[string]download.Mirror // those of heads, by address
	fetcher *download.Fetcher          // nil before the first use
	paused  bool
	cap     int64
}

func newMirrorPool(o Options) *mirrorPool {
	return &mirrorPool{fetch: o.Fetch, dial: o.OpenMirror, log: o.Log, opened: map[string]download.Mirror{}, cap: o.Fetch.Cap}
}

// use makes a Fetcher for mirrors and the opened mirrors of heads, in place of the one before.
func (p *mirrorPool) use(mirrors []download.Mirror) error {
	p.mu.Lock()
	mirrors = slices.Clone(mirrors)
	for _, address := range slices.Sorted(maps.Keys(p.opened)) {
		mirrors = append(mirrors, p.opened[address])
	}
	fetcher, err := download.NewFetcher(mirrors, p.fetch)
	if err != nil {
		p.mu.Unlock()
		return err
	}
	before := p.fetcher
	p.mirrors, p.fetcher = mirrors, fetcher
	if fetcher.SetCap(p.cap); p.paused {
		fetcher.Pause()
	}
	p.mu.Unlock()
	if before != nil {
		before.Close()
	}
	return nil
}

// openNamed opens the mirrors that a head names and adds them to the others.
func (p *mirrorPool) openNamed(addresses []string) error {
	if p.dial == nil {
		return nil
	}
	mirrors, more := p.list(), false
	for _, address := range addresses {
		known := slices.ContainsFunc(mirrors, func(m download.Mirror) bool {
			return strings.TrimSuffix(m.Name(), "/") == strings.TrimSuffix(address, "/")
		})
		if known || p.opened[address] != nil {
			continue
		}
		mirror, err := p.dial(address)
		if err != nil {
			p.log.Warn().Err(err).Str("mirror", address).Msg("a mirror of the release can't be used")
			continue
		}
		p.opened[address], more = mirror, true
	}
	if !more {
		return nil
	}
	return p.use(slices.DeleteFunc(mirrors, func(m download.Mirror) bool {
		for _, opened := range p.opened {
			if opened == m {
				return true
			}
		}
		return false
	}))
}

// current is the Fetcher of the current connection.
func (p *mirrorPool) current() *download.Fetcher {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetcher
}

// list is a copy of the mirrors of the current connection.
func (p *mirrorPool) list() []download.Mirror {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.mirrors)
}

// names are the names of the mirrors, for users.
func (p *mirrorPool) names() string {
	var names []string
	for _, mirror := range p.list() {
		names = append(names, mirror.Name())
	}
	return strings.Join(names, ", ")
}

// link is the assumed link, with its unknown fields as measured. A rate limit counts as a slow link.
func (p *mirrorPool) link(assumed Link) Link {
	rate, roundTrip, inFlight := p.current().Measured()
	l := Link{cmp.Or(assumed.Rate, rate), cmp.Or(assumed.RoundTrip, roundTrip), cmp.Or(assumed.InFlight, inFlight)}
	if _, limit := p.limits(); limit > 0 && (l.Rate == 0 || l.Rate > float64(limit)) {
		l.Rate = float64(limit)
	}
	return l
}

func (p *mirrorPool) setPaused(paused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = paused
	switch {
	case p.fetcher == nil:
	case paused:
		p.fetcher.Pause()
	default:
		p.fetcher.Resume()
	}
}

func (p *mirrorPool) setCap(bytesPerSecond int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cap = max(bytesPerSecond, 0)
	if p.fetcher != nil {
		p.fetcher.SetCap(p.cap)
	}
}

// limits are the pause and the rate limit in bytes a second.
func (p *mirrorPool) limits() (paused bool, limit int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paused, p.cap
}

// endCalls ends the calls of the current Fetcher. Later ones fail until the next use.
func (p *mirrorPool) endCalls() {
	if fetcher := p.current(); fetcher != nil {
		fetcher.Close()
	}
}

// close closes the mirrors of heads.
func (p *mirrorPool) close() (err error) {
	p.endCalls()
	for _, mirror := range p.opened {
		if closer, is := mirror.(ClosableMirror); is {
			err = errors.Join(err, closer.Close())
		}
	}
	return err
}
