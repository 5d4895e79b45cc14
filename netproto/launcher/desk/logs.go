package desk

import (
	"context"
	"slices"
	"sync"
	"time"

	"collet/netproto/launcher/wire"
)

const (
	// logRoom is how many lines one reader of logs may buffer before it loses some.
	logRoom = 4096
	// lostRoom is how many devices a closing reader can get a count of lost lines for.
	lostRoom = 64
)

// logHub distributes log lines to its readers and never blocks on one. The zero value is ready; safe for concurrent use.
type logHub struct {
	mu      sync.Mutex
	readers map[*logReader]struct{}
	tails   map[string][]LogLine // by device, oldest first
}

// logReader is one subscription.
type logReader struct {
	lines chan LogLine
	wants func(device string) bool
	lost  map[string]uint64 // by device, since the last line that was handed over
}

func (h *logHub) add(line LogLine) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tails == nil {
		h.tails = make(map[string][]LogLine)
	}
	tail := append(h.tails[line.Device], line)
	if extra := len(tail) - MaxLogTail; extra > 0 {
		tail = slices.Delete(tail, 0, extra)
	}
	h.tails[line.Device] = tail
	for r := range h.readers {
		if r.wants(line.Device) {
			r.deliver(line)
		}
	}
}

// deliver delivers a line if there is room. The channel has lostRoom more slots, which only leave fills.
func (r *logReader) deliver(line LogLine) {
	line.Lost += r.lost[line.Device]
	if len(r.lines) < logRoom {
		r.lines <- line
		delete(r.lost, line.Device)
		return
	}
	if r.lost[line.Device] = line.Lost; line.Text != "" || line.Source != "" {
		r.lost[line.Device]++
	}
}

// read subscribes until ctx ends.
func (h *logHub) read(ctx context.Context, wants func(device string) bool) <-chan LogLine {
	r := &logReader{lines: make(chan LogLine, logRoom+lostRoom), wants: wants, lost: make(map[string]uint64)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readers == nil {
		h.readers = make(map[*logReader]struct{})
	}
	h.readers[r] = struct{}{}
	context.AfterFunc(ctx, func() { h.removeReader(r) })
	return r.lines
}

func (h *logHub) removeReader(r *logReader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.readers, r)
	for device, lost := range r.lost {
		if len(r.lines) < cap(r.lines) {
			r.lines <- LogLine{Device: device, Time: time.Now(), Level: wire.LevelWarning, Lost: lost}
		}
	}
	close(r.lines)
}

func (h *logHub) tail(device string) []LogLine {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.tails[device])
}

func (h *logHub) forget(device string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.tails, device)
}
