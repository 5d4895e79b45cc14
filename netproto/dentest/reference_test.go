package dentest_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"collet/netproto/dentest"
)

// TestGoldenSession lets both reference peers repeat the recorded session, byte by byte.
func TestGoldenSession(t *testing.T) {
	desk, device := folder(t, dentest.GoldenServerTree(false)), folder(t, dentest.GoldenDeviceTree())
	s := server(t, dentest.GoldenServerOptions(desk))
	p := proxied(t, s, dentest.ProxyOptions{})
	c := client(t, dentest.GoldenClientOptions(device))
	ctx := within(t, 10*time.Second)
	must(t, c.Connect(ctx, p.Addr().String()))
	d, err := s.Device(ctx, 0)
	must(t, err)
	must(t, d.WaitLinked(ctx))
	_, err = d.Synchronise(ctx)
	must(t, err)
	must(t, dentest.SameTrees(desk, device))
	must(t, os.Remove(filepath.Join(desk, "empty.dat")))
	must(t, dentest.WriteTree(desk, dentest.GoldenServerTree(true)))
	stats, err := d.Synchronise(ctx)
	must(t, err)
	must(t, dentest.SameTrees(desk, device))
	if want := (dentest.SyncStats{Hashed: 2, Deleted: 1, Written: 2, Blocks: 2}); stats != want {
		t.Errorf("second synchronisation did %+v, want %+v", stats, want)
	}
	d.Start("<degame/>", "Low", "-x 1")
	must(t, d.WaitRunning(ctx, true))
	d.Stop(0)
	must(t, d.WaitRunning(ctx, false))
	s.Close()
	<-c.Conn().Ended()
	golden, err := dentest.Golden()
	must(t, err)
	must(t, dentest.CompareSessions(golden, p.Trace()))
	s.MustBeClean(t)
	c.MustBeClean(t)
}

// TestReferenceSynchronises runs the tree of the recorded acceptance run between the reference peers, over both families.
func TestReferenceSynchronises(t *testing.T) {
	for name, address := range map[string]string{"IPv4": "127.0.0.1:0", "IPv6": "[::1]:0"} {
		t.Run(name, func(t *testing.T) {
			desk, device := folder(t, dentest.RecordedTree()), t.TempDir()
			s := server(t, dentest.ServerOptions{Root: desk, Address: address, BlockSize: 65536})
			c := client(t, dentest.ClientOptions{Root: device, Name: "device"})
			ctx := within(t, 60*time.Second)
			must(t, c.Connect(ctx, s.Addr().String()))
			d, err := s.Device(ctx, 0)
			must(t, err)
			began := time.Now()
			_, err = d.Synchronise(ctx)
			must(t, err)
			t.Logf("%d bytes of files in %v", c.FileBytes(), time.Since(began))
			must(t, dentest.SameTrees(desk, device))
			s.MustBeClean(t)
			c.MustBeClean(t)
		})
	}
}
