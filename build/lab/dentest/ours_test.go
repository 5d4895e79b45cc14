package dentest_test

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"collet/build/lab/dentest"
	"collet/netproto/den"
	"collet/netproto/launcher/desk"
	"collet/netproto/launcher/device"
	"collet/netproto/launcher/wire"
)

// ours is our desk on a listener, serving.
type ours struct {
	*desk.Desk
	address netip.AddrPort
	stop    func() // ends serving as an orderly end of the program does
}

// ourDesk serves a folder. Address is where it listens, 127.0.0.1:0 when empty.
func ourDesk(t testing.TB, o desk.Options, address string) *ours {
	t.Helper()
	d, err := desk.New(o)
	must(t, err)
	if address == "" {
		address = "127.0.0.1:0"
	}
	l, err := den.Listen(address, desk.Transport(den.Options{}))
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- d.Serve(ctx, l) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		_ = l.Close()
		if err := d.Close(); err != nil {
			t.Errorf("close desk: %v", err)
		}
	})
	t.Cleanup(stop)
	return &ours{d, l.Addr(), stop}
}

// until waits until the devices are as wanted.
func (d *ours) until(t testing.TB, what string, is func([]desk.DeviceInfo) bool) {
	t.Helper()
	for range d.Changes(within(t, 30*time.Second)) {
		if is(d.Devices()) {
			return
		}
	}
	t.Fatalf("never: %s: %+v", what, d.Devices())
}

// device waits until a device of this name is connected.
func (d *ours) device(t testing.TB, name string) (found desk.DeviceInfo) {
	t.Helper()
	d.until(t, "device "+name, func(all []desk.DeviceInfo) bool {
		i := slices.IndexFunc(all, func(i desk.DeviceInfo) bool { return i.Name == name && i.Connected })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found
}

// push pushes and wants every device to have got everything.
func (d *ours) push(ctx context.Context, t testing.TB, o desk.PushOptions) desk.PushResult {
	t.Helper()
	result, err := d.Push(ctx, o)
	must(t, err)
	for _, device := range result.Devices {
		if device.Err != nil {
			t.Errorf("push to %s: %v", device.Device, device.Err)
		}
	}
	if len(result.Devices) == 0 || len(result.Problems) > 0 {
		t.Errorf("push reached %d devices, problems %v", len(result.Devices), result.Problems)
	}
	return result
}

// gear is our device, running.
type gear struct {
	*device.Device
	stop func() // ends it as an orderly end of the program does
}

// ourDevice follows a desk at this address.
func ourDevice(t testing.TB, o device.Options, address string) *gear {
	t.Helper()
	d, err := device.New(o)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		_ = d.Run(ctx, device.DialDesk(address, den.Options{})) // ends with ctx
	}()
	stop := sync.OnceFunc(func() {
		cancel()
		<-ran
		if err := d.Close(); err != nil {
			t.Errorf("close device: %v", err)
		}
	})
	t.Cleanup(stop)
	return &gear{Device: d, stop: stop}
}

// same compares a desk's folder with a device's, without what our device keeps for itself.
func same(t testing.TB, desk, device string) {
	t.Helper()
	must(t, dentest.SameTrees(desk, device, wire.StateFolder))
}

// app is an application that does what the test says.
type app struct {
	mu    sync.Mutex
	lines []device.Line
	fail  error
	asked []device.StartRequest
	now   *running
}

type running struct {
	done chan struct{}
	end  func()
	deaf bool
}

// Profiles are those of the recorded device.
func (a *app) Profiles() ([]string, string) { return []string{"Default", "Low"}, "Default" }

// Start says the lines and runs until it is stopped.
func (a *app) Start(_ context.Context, r device.StartRequest, out func(device.Line)) (device.Application, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r)
	for _, line := range a.lines {
		out(line)
	}
	if a.fail != nil {
		return nil, a.fail
	}
	a.now = &running{done: make(chan struct{})}
	a.now.end = sync.OnceFunc(func() { close(a.now.done) })
	return a.now, nil
}

func (r *running) Done() <-chan struct{} { return r.done }
func (r *running) End() wire.RunEnd      { return wire.RunEnd{Text: "ended"} }
func (r *running) Kill() error           { r.end(); return nil }
func (r *running) Ask() error {
	if !r.deaf {
		r.end()
	}
	return nil
}
