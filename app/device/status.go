package device

import (
	"context"
	"sync"
	"time"

	"collet/app/splash"
	"collet/netproto/launcher/device"
	"collet/netproto/launcher/wire"
)

// rateSpan is the shortest time over which a rate is measured.
const rateSpan = time.Second

// watcher provides the status of a device to its window. It is safe for concurrent use.
type watcher struct {
	device interface {
		Status() device.Status
		Watch(ctx context.Context) <-chan struct{}
		shown() (name, address string)
	}
	now func() time.Time

	mu    sync.Mutex
	lines lineCounter
	rate  rateMeter
}

var _ splash.RemoteWatcher = (*watcher)(nil)

// shown is the constant part of the status: name and controller address.
func (d *session) shown() (name, address string) { return d.opt.Name, d.opt.Desk }

// Watch implements splash.RemoteWatcher.
func (w *watcher) Watch(ctx context.Context) <-chan struct{} { return w.device.Watch(ctx) }

// Status implements splash.RemoteWatcher.
func (w *watcher) Status() splash.RemoteStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.device.Status()
	w.lines.count(s.Log)
	name, address := w.device.shown()
	r := windowStatus(s, name, address)
	r.Seen, r.Rate = w.lines.seen, w.rate.of(s.Bytes, w.now())
	return r
}

// windowStatus converts a device's status for the window.
func windowStatus(s device.Status, name, address string) splash.RemoteStatus {
	r := splash.RemoteStatus{
		Name: name, Desk: address, Link: linkOf(s), Why: s.Problem,
		Checking: s.Activity == device.ActivityScanning || s.Activity == device.ActivityHashing || s.Activity == device.ActivityVerifying,
		File:     s.File, Done: int64(s.FileDone), Size: int64(s.FileTotal), Files: s.Files, Bytes: int64(s.Bytes),
		FilesAll: s.FilesTotal, BytesAll: int64(s.BytesTotal),
		Run: splash.RemoteRun(s.Run), RunSince: s.RunSince, Startable: true,
	}
	r.Lines = make([]splash.RemoteLine, len(s.Log))
	for i, l := range s.Log {
		r.Lines[i] = splash.RemoteLine{Time: l.Time, Level: splash.RemoteLevel(min(l.Level, wire.LevelError)), Source: l.Source, Text: l.Text}
	}
	return r
}

// linkOf is the state of the connection to the controller. A device that dials again after a failure stays away: it dials every other
// second, and the display should not change each time.
func linkOf(s device.Status) splash.RemoteLink {
	switch s.Connection {
	case device.ConnectionUp:
		return splash.RemoteConnected
	case device.ConnectionGreeting:
		return splash.RemoteGreeting
	case device.ConnectionStopped:
		return splash.RemoteEnding
	}
	if s.Problem != "" {
		return splash.RemoteAway
	}
	return splash.RemoteDialing
}

// lineCounter counts all lines of a log from which old lines are dropped.
type lineCounter struct {
	seen uint64
	last device.Line
}

// count takes the current log and returns the lines that are new since the last call. If the last known line was dropped, all lines are
// new.
func (c *lineCounter) count(log []device.Line) (fresh []device.Line) {
	first := 0
	for i := len(log) - 1; i >= 0 && c.seen > 0; i-- {
		if log[i] == c.last {
			first = i + 1
			break
		}
	}
	fresh = log[first:]
	c.seen += uint64(len(fresh))
	if len(log) > 0 {
		c.last = log[len(log)-1]
	}
	return fresh
}

// rateMeter measures bytes a second.
type rateMeter struct {
	since time.Time
	bytes uint64
	rate  int64
}

// of is the rate at a count of bytes in all. A smaller count than before starts a new measurement.
func (m *rateMeter) of(bytes uint64, now time.Time) int64 {
	switch passed := now.Sub(m.since); {
	case bytes < m.bytes || m.since.IsZero():
		*m = rateMeter{since: now, bytes: bytes}
	case passed >= rateSpan:
		*m = rateMeter{since: now, bytes: bytes, rate: int64(float64(bytes-m.bytes) / passed.Seconds())}
	}
	return m.rate
}
