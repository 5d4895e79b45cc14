package dentest_test

import (
	"testing"
	"time"

	"collet/build/lab/dentest"
	"collet/netproto/launcher/desk"
)

// TestKillThenRevert cuts the connection in the middle of a push to a reference device and takes the change back. The
// device still tells its old layout, which is now the desk's, while its disk has half of the other.
func TestKillThenRevert(t *testing.T) {
	t.Parallel()
	old := map[string][]byte{"big": dentest.Noise(1, 3_000_000), "small": []byte("1")}
	changed := map[string][]byte{"big": dentest.Noise(2, 3_000_000)}
	root, device := folder(t, old), folder(t, old)
	d := ourDesk(t, desk.Options{Root: root, Times: desk.Times{Return: 30 * time.Second}}, "")
	p := watched(t, d.address, dentest.ProxyOptions{Quiet: true, ToClient: dentest.Impairment{Rate: 4e6}})
	c := client(t, dentest.DeviceOptions{Root: device, Name: "ref"})
	must(t, c.Connect(within(t, 10*time.Second), p.Addr().String()))
	d.device(t, "ref")
	d.push(within(t, 20*time.Second), t, desk.PushOptions{})
	must(t, dentest.WriteTree(root, changed))
	pushed := make(chan struct{})
	go func() {
		defer close(pushed)
		_, _ = d.Push(within(t, 20*time.Second), desk.PushOptions{}) // is interrupted
	}()
	eventually(t, "half a file", 10*time.Second, c.Events(), func() bool { return c.FileBytes() > 500_000 })
	p.Dark(true)
	c.Kill()
	must(t, dentest.WriteTree(root, old))
	p.Dark(false)
	must(t, c.Connect(within(t, 10*time.Second), p.Addr().String()))
	<-pushed
	d.push(within(t, 30*time.Second), t, desk.PushOptions{})
	same(t, root, device)
	c.MustBeClean(t)
}
