package dentest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"collet/netproto/dentest"
)

// The traps of the protocol, between the reference peers themselves: each must be seen to snap, or a test in which our
// own peers survive it proves nothing.

// TestReferenceLostConnectionAck: the ack is sent once, so the device gives up after five seconds (2.2, trace 5).
func TestReferenceLostConnectionAck(t *testing.T) {
	s := server(t, dentest.ServerOptions{Root: t.TempDir()})
	drop := dentest.Drop(dentest.Command(dentest.CmdConnectionAck)).Times(1)
	p := proxied(t, s, dentest.ProxyOptions{Rules: []dentest.Rule{drop}})
	timers := dentest.ClientTimers()
	timers.RequestGap, timers.RequestEnd = timers.RequestGap/10, timers.RequestEnd/10
	c := client(t, dentest.ClientOptions{Root: t.TempDir(), Timers: timers})
	if err := c.Connect(t.Context(), p.Addr().String()); !errors.Is(err, dentest.ErrConnectTimeout) {
		t.Errorf("connect: %v, want the timeout", err)
	}
	requests := 0
	for _, g := range p.Trace() {
		if g.Direction == dentest.ToServer && g.Data[0] == dentest.CmdConnectionRequest {
			requests++
		}
	}
	if requests != 5 || drop.Met() != 1 {
		t.Errorf("%d requests, %d acks lost, want 5 and 1", requests, drop.Met())
	}
}

// TestReferenceLostLinkUp: the run state never reaches the server (2.7).
func TestReferenceLostLinkUp(t *testing.T) {
	s := server(t, dentest.ServerOptions{Root: t.TempDir()})
	p := proxied(t, s, dentest.ProxyOptions{Rules: []dentest.Rule{dentest.Drop(dentest.Command(dentest.CmdLinkUp)).Times(1)}})
	c := client(t, dentest.ClientOptions{Root: t.TempDir()})
	ctx := within(t, 5*time.Second)
	must(t, c.Connect(ctx, p.Addr().String()))
	d, err := s.Device(ctx, 0)
	must(t, err)
	d.Start("<degame/>", "", "")
	soon := within(t, 300*time.Millisecond)
	if err := d.WaitRunning(soon, true); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("run state: %v, want that it never comes", err)
	}
	if !c.Running() || len(c.Starts()) != 1 {
		t.Error("the device didn't start")
	}
}

// TestReferenceManyHashAnswers: 400 changed files of equal size lose answers while the server still asks (4.2 #4).
func TestReferenceManyHashAnswers(t *testing.T) {
	tree := dentest.SmallTree(400, 20)
	desk := folder(t, tree)
	for name := range tree {
		tree[name] = dentest.Noise(5, 20)
	}
	s := server(t, dentest.ServerOptions{Root: desk, IssueTime: 100 * time.Microsecond})
	c := client(t, dentest.ClientOptions{Root: folder(t, tree)})
	must(t, c.Connect(within(t, 5*time.Second), s.Addr().String()))
	d, err := s.Device(within(t, time.Second), 0)
	must(t, err)
	if _, err = d.Synchronise(within(t, 2*time.Second)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("synchronisation: %v, want it to hang", err)
	}
	if n := s.Count(dentest.NoteDropped); n == 0 {
		t.Error("no answer was dropped")
	}
}

// TestReferenceUnderLoss gets through one per cent of loss, slowly.
func TestReferenceUnderLoss(t *testing.T) {
	if testing.Short() {
		t.Skip("half a second for each lost datagram")
	}
	tree := map[string][]byte{"a": dentest.Noise(1, 300_000), "b": {}}
	desk, device := folder(t, tree), t.TempDir()
	s := server(t, dentest.ServerOptions{Root: desk, BlockSize: 65536})
	bad := dentest.Impairment{Drop: 0.01}
	p := proxied(t, s, dentest.ProxyOptions{Seed: 7, ToServer: bad, ToClient: bad})
	c := client(t, dentest.ClientOptions{Root: device})
	ctx := within(t, 30*time.Second)
	must(t, c.Connect(ctx, p.Addr().String()))
	d, err := s.Device(ctx, 0)
	must(t, err)
	_, err = d.Synchronise(ctx)
	must(t, err)
	must(t, dentest.SameTrees(desk, device))
	c.MustBeClean(t)
	s.MustBeClean(t)
}

// TestReferenceReconnects: a lost device comes back, and what it knows of its files is still there (3.6).
func TestReferenceReconnects(t *testing.T) {
	desk, device := folder(t, dentest.GoldenServerTree(false)), folder(t, dentest.GoldenDeviceTree())
	s := server(t, dentest.ServerOptions{Root: desk})
	c := client(t, dentest.ClientOptions{Root: device})
	ctx := within(t, 20*time.Second)
	for i, leave := range []func(){c.Disconnect, c.Drop, func() {}} {
		must(t, c.Connect(ctx, s.Addr().String()))
		d, err := s.Device(ctx, i)
		must(t, err)
		stats, err := d.Synchronise(ctx)
		must(t, err)
		if (stats.Written > 0) != (i == 0) {
			t.Errorf("connection %d wrote %d files", i, stats.Written)
		}
		must(t, dentest.SameTrees(desk, device))
		leave()
	}
}
