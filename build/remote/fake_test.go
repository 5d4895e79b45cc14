package remote

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"collet/netproto/launcher/desk"
	"collet/netproto/launcher/wire"
)

// fakeDesk is a desk.Desk in which a test says what happens. It is safe for concurrent use.
type fakeDesk struct {
	mu      sync.Mutex
	infos   []desk.DeviceInfo
	ticks   []chan struct{}
	readers []chan desk.LogLine
	tail    []desk.LogLine
	did     []string // the calls: "push a,b", "start a", "stop a"

	pushed  func(o desk.PushOptions) (desk.PushResult, error) // nil: all went well
	started func(id string) error
	stopped func(id string) error
	changes chan struct{} // each makes Watch push once more
	end     wire.RunEnd
}

// newFake makes a station around a fake desk with devices that are connected.
func newFake(t *testing.T, names ...string) (*Station, *fakeDesk) {
	t.Helper()
	d := &fakeDesk{changes: make(chan struct{})}
	for i, name := range names {
		d.infos = append(d.infos, desk.DeviceInfo{
			ID: name + "@10.0.0.1", Name: name, Address: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), uint16(i+1)), Connected: true,
		})
	}
	return &Station{desk: d, options: Options{Root: t.TempDir(), Address: "localhost:1"}, close: func() error { return nil }}, d
}

// change changes devices and tells all watchers.
func (d *fakeDesk) change(f func(infos []desk.DeviceInfo) []desk.DeviceInfo) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.infos = f(slices.Clone(d.infos))
	for _, tick := range d.ticks {
		select {
		case tick <- struct{}{}:
		default:
		}
	}
}

// run lets the game of a device run, or not.
func (d *fakeDesk) run(id string, running bool) {
	d.change(func(infos []desk.DeviceInfo) []desk.DeviceInfo {
		for i := range infos {
			if infos[i].ID == id {
				infos[i].Running = running
				if !running {
					infos[i].End = d.end
				}
			}
		}
		return infos
	})
}

// log lets a device say something.
func (d *fakeDesk) log(id, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, reader := range d.readers {
		reader <- desk.LogLine{Device: id, Level: wire.LevelWarning, Source: "Game", Text: text}
	}
}

func (d *fakeDesk) note(call string, ids []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		call += " " + id
	}
	d.did = append(d.did, call)
}

func (d *fakeDesk) calls() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.did)
}

func (d *fakeDesk) Devices() []desk.DeviceInfo {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.infos)
}

func (d *fakeDesk) Changes(ctx context.Context) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	in, out := make(chan struct{}, 1), make(chan struct{})
	in <- struct{}{}
	d.ticks = append(d.ticks, in)
	go func() {
		defer close(out)
		for {
			select {
			case <-in:
			case <-ctx.Done():
				return
			}
			select {
			case out <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func (d *fakeDesk) Logs(ctx context.Context, _ ...string) <-chan desk.LogLine {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines, out := make(chan desk.LogLine, 100), make(chan desk.LogLine)
	d.readers = append(d.readers, lines)
	go func() {
		defer close(out)
		for {
			select {
			case l := <-lines:
				out <- l
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func (d *fakeDesk) LogTail(string) []desk.LogLine { return d.tail }

func (d *fakeDesk) Push(_ context.Context, o desk.PushOptions) (desk.PushResult, error) {
	if len(o.Devices) == 0 {
		for _, info := range d.Devices() {
			o.Devices = append(o.Devices, info.ID)
		}
	}
	d.note("push", o.Devices)
	if d.pushed != nil {
		return d.pushed(o)
	}
	var result desk.PushResult
	for _, id := range o.Devices {
		one := desk.DeviceResult{Device: id, Written: 2, Blocks: 3, BytesSent: 4, Took: time.Second, Attempts: 1}
		if o.Start != nil {
			d.run(id, true)
			one.Started = true
		}
		result.Devices = append(result.Devices, one)
	}
	return result, nil
}

func (d *fakeDesk) Start(_ context.Context, o desk.StartOptions) (outcomes []desk.Outcome, err error) {
	d.note("start", o.Devices)
	for _, id := range o.Devices {
		var err error
		if d.started != nil {
			err = d.started(id)
		}
		if err == nil {
			d.run(id, true)
		}
		outcomes = append(outcomes, desk.Outcome{Device: id, Err: err})
	}
	return outcomes, nil
}

func (d *fakeDesk) Stop(ctx context.Context, o desk.StopOptions) (outcomes []desk.Outcome, err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	d.note("stop", o.Devices)
	for _, id := range o.Devices {
		var err error
		if d.stopped != nil {
			err = d.stopped(id)
		}
		if err == nil {
			d.run(id, false)
		}
		outcomes = append(outcomes, desk.Outcome{Device: id, Err: err})
	}
	return outcomes, nil
}

func (d *fakeDesk) Watch(ctx context.Context, o desk.WatchOptions) error {
	for {
		o.Each(d.Push(ctx, o.Push))
		select {
		case <-d.changes:
		case <-ctx.Done():
			return nil
		}
	}
}
