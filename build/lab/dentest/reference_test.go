package dentest_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"collet/build/lab/dentest"
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
