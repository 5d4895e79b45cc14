package desk

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// keptRecords is how many devices are remembered after they disconnect, with their logs and layouts.
const keptRecords = 4 * DefaultMaxDevices

// deviceRecord is what a desk knows of a device across its connections.
type deviceRecord struct {
	id      string
	base    string  // id without the number
	runner  *runner // nil while it is not connected
	ready   bool    // the device was admitted
	awaited int     // pushes that wait for it
	info    DeviceInfo
}

// registry has the devices of a desk. Safe for concurrent use.
type registry struct {
	mu       sync.Mutex
	records  map[string]*deviceRecord
	doubts   map[string]*doubts // by base: a device may come back under another number
	signal   chan struct{}      // closed at the next change
	watchers map[chan struct{}]struct{}
}

func newRegistry() *registry {
	return &registry{records: make(map[string]*deviceRecord), doubts: make(map[string]*doubts), signal: make(chan struct{}),
		watchers: make(map[chan struct{}]struct{})}
}

// tick signals a change. mu is held.
func (g *registry) tick() {
	close(g.signal)
	g.signal = make(chan struct{})
	for w := range g.watchers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// tickEvery ticks until the returned function is called.
func (g *registry) tickEvery(pause time.Duration) (stop func()) {
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			g.mu.Lock()
			g.tick()
			g.mu.Unlock()
		}
	})
	return func() {
		close(done)
		group.Wait()
	}
}

// watch returns a channel of ticks until ctx ends.
func (g *registry) watch(ctx context.Context) <-chan struct{} {
	w := make(chan struct{}, 1)
	w <- struct{}{}
	g.mu.Lock()
	g.watchers[w] = struct{}{}
	g.mu.Unlock()
	context.AfterFunc(ctx, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.watchers, w)
		close(w)
	})
	return w
}

// register gives an admitted device the lowest id that no connected device uses.
func (g *registry) register(r *runner, name string, address netip.Addr) (*deviceRecord, *doubts) {
	base := name + "@" + address.Unmap().String()
	g.mu.Lock()
	defer g.mu.Unlock()
	record := (*deviceRecord)(nil)
	for n := 1; record == nil || record.runner != nil; n++ {
		id := base
		if n > 1 {
			id = fmt.Sprintf("%s#%d", base, n)
		}
		if record = g.records[id]; record == nil {
			record = &deviceRecord{id: id, base: base}
			g.records[id] = record
		}
	}
	if g.doubts[base] == nil {
		g.doubts[base] = new(doubts)
	}
	record.runner, record.ready = r, false
	return record, g.doubts[base]
}

// allDoubts returns the doubts about devices, without empty ones.
func (g *registry) allDoubts() map[string]map[string]uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make(map[string]map[string]uint64)
	for base, d := range g.doubts {
		if paths := d.of(); len(paths) > 0 {
			all[base] = paths
		}
	}
	return all
}

// update replaces the snapshot of a session.
func (g *registry) update(record *deviceRecord, info DeviceInfo, ready bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	record.info, record.ready = info, ready
	g.tick()
}

// markDisconnected ends the connection of a device. It returns the ids whose records were dropped because of it.
func (g *registry) markDisconnected(record *deviceRecord, now time.Time) (forgotten []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	record.runner, record.ready = nil, false
	record.info.Connected, record.info.Since, record.info.Running = false, now, false
	record.info.RunningSince = time.Time{}
	forgotten = g.prune()
	g.tick()
	return forgotten
}

// prune drops the records of the devices that disconnected longest ago. mu is held.
func (g *registry) prune() (forgotten []string) {
	for len(g.records) > keptRecords {
		var oldest *deviceRecord
		for _, r := range g.records {
			if r.runner == nil && r.awaited == 0 && (oldest == nil || r.info.Since.Before(oldest.info.Since)) {
				oldest = r
			}
		}
		if oldest == nil {
			return forgotten
		}
		delete(g.records, oldest.id)
		forgotten = append(forgotten, oldest.id)
		another := slices.ContainsFunc(slices.Collect(maps.Values(g.records)), func(r *deviceRecord) bool { return r.base == oldest.base })
		if !another && len(g.doubts[oldest.base].of()) == 0 {
			delete(g.doubts, oldest.base)
		}
	}
	return forgotten
}

// snapshot are the devices that are connected or awaited.
func (g *registry) snapshot() []DeviceInfo {
	g.mu.Lock()
	defer g.mu.Unlock()
	infos := []DeviceInfo{}
	for _, r := range g.records {
		if r.ready || r.awaited > 0 && r.info.ID != "" {
			infos = append(infos, r.info)
		}
	}
	slices.SortFunc(infos, func(a, b DeviceInfo) int { return strings.Compare(a.ID, b.ID) })
	return infos
}

// find returns the ids of connected devices, by id or name; no names select all.
func (g *registry) find(wanted []string) ([]string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ids := make(map[string]bool)
	for _, r := range g.records {
		if r.ready && len(wanted) == 0 {
			ids[r.id] = true
		}
	}
	for _, name := range wanted {
		before := len(ids)
		there := false
		for _, r := range g.records {
			if r.ready && (r.id == name || r.info.Name == name) {
				ids[r.id], there = true, true
			}
		}
		if !there && len(ids) == before {
			return nil, fmt.Errorf("device %q: %w", name, ErrNoDevice)
		}
	}
	if len(ids) == 0 {
		return nil, ErrNoDevice
	}
	return slices.Sorted(maps.Keys(ids)), nil
}

// present are the devices that are connected, and since when.
func (g *registry) present() map[string]time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	here := make(map[string]time.Time)
	for _, r := range g.records {
		if r.ready {
			here[r.id] = r.info.Since
		}
	}
	return here
}

// connected is the runner of an id, or nil.
func (g *registry) connected(id string) *runner {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.records[id]; r != nil && r.ready {
		return r.runner
	}
	return nil
}

// await adds to the number of pushes that wait for a device.
func (g *registry) await(id string, by int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.records[id]; r != nil {
		r.awaited += by
		g.tick()
	}
}

// setPush changes the push part of the snapshot of a disconnected device.
func (g *registry) setPush(id string, change func(*PushProgress)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.records[id]; r != nil && r.runner == nil {
		change(&r.info.Push)
		g.tick()
	}
}

// candidate is the runner that a push to id can use: that of the id, or, while that one is disconnected, one of the same
// name and address without a push. A device that reconnects before its old connection has ended gets another number.
// changed is closed when another call may give another result.
func (g *registry) candidate(id string) (r *runner, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := g.records[id]
	switch {
	case own == nil:
		return nil, g.signal
	case own.ready && !own.runner.isOver():
		return own.runner, g.signal
	}
	var all []*deviceRecord
	for _, other := range g.records {
		if other.ready && other.base == own.base && other.awaited == 0 && !other.runner.isOver() {
			all = append(all, other)
		}
	}
	if len(all) == 0 {
		return nil, g.signal
	}
	return slices.MinFunc(all, func(a, b *deviceRecord) int { return cmp.Compare(a.id, b.id) }).runner, g.signal
}

// claim waits for a device, and for the end of another push to it. The error is ErrDeviceGone if the device stays away for limit.
func (g *registry) claim(ctx context.Context, id string, limit time.Duration) (*runner, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		r, changed := g.candidate(id)
		if r == nil {
			select {
			case <-changed:
			case <-timer.C:
				return nil, ErrDeviceGone
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			continue
		}
		select {
		case <-r.pushing:
			return r, nil
		case <-r.ended:
			timer.Reset(limit)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
