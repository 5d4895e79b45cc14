package acquire

import "sync"

// Valve applies the player's pause and rate limit to the current source; the limit also to later ones. It is safe for concurrent use.
type Valve struct {
	mu     sync.Mutex
	source *Source
	cap    int64
}

// SetSource sets the current source; nil for none. A pause ends with its source.
func (v *Valve) SetSource(s *Source) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.source = s; s != nil {
		s.SetCap(v.cap)
	}
}

// Pause implements splash.Valve.
func (v *Valve) Pause(paused bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.source == nil:
	case paused:
		v.source.Pause()
	default:
		v.source.Resume()
	}
}

// SetCap implements splash.Valve.
func (v *Valve) SetCap(bytesPerSecond int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.cap = bytesPerSecond
	if v.source != nil {
		v.source.SetCap(bytesPerSecond)
	}
}
