package dentest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"collet/build/lab/dentest"
	"collet/netproto/den"
	"collet/netproto/launcher/desk"
	"collet/netproto/launcher/device"
	"collet/netproto/launcher/wire"
	"collet/platform/testwait"
)

// Roles of a child process that is there to be killed.
const (
	roleVariable = "DENTEST_ROLE"
	roleDevice   = "device" // follows ADDRESS with FOLDER
	roleDesk     = "desk"   // serves FOLDER at ADDRESS and pushes to devices that come
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case roleDevice:
		childDevice(os.Getenv("FOLDER"), os.Getenv("ADDRESS"), os.Getenv("RELEASED") != "")
	case roleDesk:
		childDesk(os.Getenv("FOLDER"), os.Getenv("ADDRESS"), os.Getenv("RELEASED") != "")
	default:
		goleak.VerifyTestMain(m)
	}
}

func childDevice(folder, address string, released bool) {
	d, err := device.New(device.Options{Root: folder, Name: "child", ReleasedOnly: released})
	if err != nil {
		panic(err)
	}
	_ = d.Run(context.Background(), device.DialDesk(address, den.Options{}))
}

func childDesk(folder, address string, released bool) {
	d, err := desk.New(desk.Options{Root: folder, ReleasedOnly: released})
	if err != nil {
		panic(err)
	}
	l, err := den.Listen(address, desk.Transport(den.Options{}))
	if err != nil {
		panic(err)
	}
	go func() { _ = d.Serve(context.Background(), l) }()
	for range d.Changes(context.Background()) {
		_, _ = d.Push(context.Background(), desk.PushOptions{}) // until it is killed
	}
}

// child starts this test program in a role; the returned function kills it, as kill -9 does, and waits.
func child(t *testing.T, role, folder, address string, released bool) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role, "FOLDER="+folder, "ADDRESS="+address)
	if released {
		cmd.Env = append(cmd.Env, "RELEASED=1")
	}
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}
}

// killBytes is up to how many bytes of a push pass before a test kills an end; a push of killTree has more.
const killBytes = 1_000_000

// pushedTo waits until a push has sent a number of bytes to a device, or ctx ends.
func (d *ours) pushedTo(ctx context.Context, name string, bytes uint64) {
	for range d.Changes(ctx) {
		if slices.ContainsFunc(d.Devices(), func(i desk.DeviceInfo) bool { return i.Name == name && i.Push.Bytes >= int64(bytes) }) {
			return
		}
	}
}

// received waits until a push has brought a number of bytes, or ctx ends.
func (g *gear) received(ctx context.Context, bytes uint64) {
	for range g.Watch(ctx) {
		if g.Status().Bytes >= bytes {
			return
		}
	}
}

// killTree is a tree whose push takes long enough to be interrupted, and what a device has of an earlier version of it.
func killTree(seed uint64) (tree, old map[string][]byte) {
	tree, old = dentest.SmallTree(150, 400), map[string][]byte{}
	for i := range 3 {
		name := fmt.Sprint("big ", i)
		tree[name] = dentest.Noise(seed+uint64(i), 3_000_000)
		switch i {
		case 0:
			old[name] = flipped(tree[name], 10)
		case 1:
			old[name] = tree[name][:1_000_000]
		}
	}
	tree["empty"], old["old/file"], old["d000/f00001.txt"] = nil, []byte("x"), []byte("other")
	return tree, old
}

// TestKillOurDevice kills a device process again and again at any moment of a push; the next push ends with identical
// trees.
func TestKillOurDevice(t *testing.T) {
	t.Parallel()
	for name, released := range map[string]bool{"own": false, "released": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2))
			tree, old := killTree(50)
			root, folder := folder(t, tree), folder(t, old)
			d := ourDesk(t, desk.Options{Root: root, ReleasedOnly: released, Times: desk.Times{Return: time.Minute}}, "")
			cut := 0
			for round := range 5 {
				tree["big 0"] = flipped(tree["big 0"], 1000*round)
				must(t, dentest.WriteTree(root, map[string][]byte{"big 0": tree["big 0"], "big 2": dentest.Noise(uint64(round), 3_000_000)}))
				kill := child(t, roleDevice, folder, d.address.String(), released)
				d.device(t, "child")
				ctx, cancel := context.WithCancel(t.Context())
				pushed := make(chan struct{})
				go func() {
					defer close(pushed)
					defer cancel()
					_, _ = d.Push(ctx, desk.PushOptions{}) // is interrupted
				}()
				d.pushedTo(ctx, "child", random.Uint64N(killBytes))
				kill()
				cancel()
				<-pushed
				cut += half(root, folder)
			}
			if cut == 0 {
				t.Error("no push was cut off in the middle")
			}
			kill := child(t, roleDevice, folder, d.address.String(), released)
			defer kill()
			finish(t, d, "child", root, folder)
		})
	}
}

// half is 1 when a device's folder isn't yet what the desk has.
func half(root, folder string) int {
	if dentest.SameTrees(root, folder, wire.StateFolder) != nil {
		return 1
	}
	return 0
}

// finish pushes until a push reaches the device and compares. A killed device may be listed until its silence is noticed.
func finish(t *testing.T, d *ours, name, root, folder string) {
	t.Helper()
	ctx := within(t, time.Minute)
	for ctx.Err() == nil {
		d.device(t, name)
		result, err := d.Push(ctx, desk.PushOptions{})
		if err == nil && slices.ContainsFunc(result.Devices, func(r desk.DeviceResult) bool { return r.Err == nil }) && half(root, folder) == 0 {
			break
		}
	}
	same(t, root, folder)
}

// TestKillOurDesk kills a desk process at any moment of a push; another one on the same address finishes.
func TestKillOurDesk(t *testing.T) {
	t.Parallel()
	for name, released := range map[string]bool{"own": false, "released": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, old := killTree(60)
			root, folder, address := folder(t, tree), folder(t, old), testwait.FreeAddress(t)
			g := ourDevice(t, device.Options{Root: folder, Name: "steady", ReleasedOnly: released}, address)
			random := rand.New(rand.NewPCG(3, 4))
			cut := 0
			for range 2 {
				kill := child(t, roleDesk, root, address, released)
				g.received(within(t, 30*time.Second), random.Uint64N(killBytes))
				kill()
				cut += half(root, folder)
			}
			if cut == 0 {
				t.Error("no push was cut off in the middle")
			}
			d := ourDesk(t, desk.Options{Root: root, ReleasedOnly: released}, address)
			finish(t, d, "steady", root, folder)
		})
	}
}

// TestKillReferenceDevice kills a reference device at any moment of our push; the next one, which scans its folder anew,
// gets everything.
func TestKillReferenceDevice(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	tree, old := killTree(70)
	root, folder := folder(t, tree), folder(t, old)
	d := ourDesk(t, desk.Options{Root: root}, "")
	cut := 0
	for round := range 6 {
		c := client(t, dentest.DeviceOptions{Root: folder, Name: fmt.Sprint("ref ", round)})
		must(t, c.Connect(within(t, 10*time.Second), d.address.String()))
		d.device(t, fmt.Sprint("ref ", round))
		ctx, cancel := context.WithCancel(t.Context())
		pushed := make(chan struct{})
		go func() {
			defer close(pushed)
			defer cancel()
			_, _ = d.Push(ctx, desk.PushOptions{Devices: []string{fmt.Sprint("ref ", round)}}) // is interrupted
		}()
		d.pushedTo(ctx, fmt.Sprint("ref ", round), random.Uint64N(killBytes))
		c.Kill()
		cancel()
		<-pushed
		cut += half(root, folder)
		c.MustBeClean(t)
	}
	if cut == 0 {
		t.Error("no push was cut off in the middle")
	}
	c := client(t, dentest.DeviceOptions{Root: folder, Name: "last"})
	must(t, c.Connect(within(t, 10*time.Second), d.address.String()))
	d.device(t, "last")
	d.push(within(t, time.Minute), t, desk.PushOptions{Devices: []string{"last"}})
	same(t, root, folder)
	c.MustBeClean(t)
}

// async runs a synchronisation beside the test.
func async(t *testing.T, d *dentest.Session, limit time.Duration) <-chan error {
	t.Helper()
	ctx := within(t, limit)
	result := make(chan error, 1)
	go func() {
		_, err := d.Synchronise(ctx)
		result <- err
	}()
	return result
}

// TestKillReferenceServer kills a reference server at any moment of its synchronisation with our device; another one on the
// same address finishes.
func TestKillReferenceServer(t *testing.T) {
	t.Parallel()
	tree, old := killTree(80)
	root, folder, address := folder(t, tree), folder(t, old), testwait.FreeAddress(t)
	g := ourDevice(t, device.Options{Root: folder, Name: "steady"}, address)
	random := rand.New(rand.NewPCG(7, 8))
	cut := 0
	for range 2 {
		s, err := dentest.NewDesk(dentest.DeskOptions{Root: root, Address: address, BlockSize: 65536})
		must(t, err)
		session, err := s.Device(within(t, 30*time.Second), 0)
		must(t, err)
		result := async(t, session, 30*time.Second)
		g.received(within(t, 30*time.Second), random.Uint64N(killBytes))
		s.Kill()
		<-result // it was killed
		cut += half(root, folder)
		s.MustBeClean(t)
	}
	if cut == 0 {
		t.Error("no synchronisation was cut off in the middle")
	}
	s := server(t, dentest.DeskOptions{Root: root, Address: address, BlockSize: 65536})
	session, err := s.Device(within(t, 30*time.Second), 0)
	must(t, err)
	_, err = session.Synchronise(within(t, time.Minute))
	must(t, err)
	same(t, root, folder)
	s.MustBeClean(t)
}

// TestReferenceDeviceSurvivesOurEnd ends our desk in the middle of a push; the reference device, which keeps its layout
// over connections, gets everything from the next one.
func TestReferenceDeviceSurvivesOurEnd(t *testing.T) {
	t.Parallel()
	tree, old := killTree(90)
	root, folder, address := folder(t, tree), folder(t, old), testwait.FreeAddress(t)
	c := client(t, dentest.DeviceOptions{Root: folder, Name: "ref"})
	cut := 0
	for _, bytes := range []uint64{0, 1, 300_000, 600_000, 900_000} {
		kill := child(t, roleDesk, root, address, false)
		must(t, c.Connect(within(t, 10*time.Second), address))
		eventually(t, "a part of a push", 30*time.Second, c.Events(), func() bool { return c.FileBytes() >= bytes })
		kill()
		c.Kill()
		cut += half(root, folder)
	}
	if cut == 0 {
		t.Error("no push was cut off in the middle")
	}
	d := ourDesk(t, desk.Options{Root: root}, address)
	must(t, c.Connect(within(t, 10*time.Second), address))
	d.device(t, "ref")
	d.push(within(t, time.Minute), t, desk.PushOptions{})
	same(t, root, folder)
	c.MustBeClean(t)
}
