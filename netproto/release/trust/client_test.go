package trust_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform/testlevel"
)

func TestFirstRefresh(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7, 8)
	client := s.start()
	if _, err := client.Known(query(0)); !errors.Is(err, trust.ErrNothingKnown) {
		t.Errorf("before the first time: %v", err)
	}
	c, err := client.Refresh(context.Background(), s.net, query(7))
	if err != nil || c.Number != 8 || !c.Fresh || c.Why != trust.NotStale || !c.Listed || c.Down || !c.Expires.Equal(epoch.Add(14*day)) {
		t.Fatalf("%+v, %v", c, err)
	}
	h, err := client.Head(context.Background(), s.net, c.Choice)
	if err != nil || h.Number != 8 || h.Product != "lathe" {
		t.Errorf("%+v, %v", h, err)
	}
	if len(client.Ignored()) != 0 || client.Root().Version != 1 {
		t.Errorf("%q, %+v", client.Ignored(), client.Root())
	}
}

// TestNothingNew: when nothing has changed, one request is all; once a day there are two that go out together. Either is less than 1 KiB.
func TestNothingNew(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7, 8)
	s.wants(8)
	for _, restart := range []bool{false, true} {
		client := s.start()
		for _, want := range [][]string{
			{"metadata/timestamp.json"}, {"metadata/timestamp.json"}, {"metadata/2.root.json", "metadata/timestamp.json"}, {"metadata/timestamp.json"},
		} {
			if len(want) == 2 {
				s.clock = s.clock.Add(trust.RootInterval)
			}
			s.net.requests, s.net.bytes = nil, 0
			c, err := client.Refresh(context.Background(), s.net, query(8))
			slices.Sort(s.net.requests)
			if err != nil || c.Number != 8 || !c.Fresh || !slices.Equal(s.net.requests, want) || s.net.bytes >= 1024 {
				t.Fatalf("restart %v: %+v, %v, %q, %d bytes", restart, c, err, s.net.requests, s.net.bytes)
			}
		}
	}
	t.Logf("the answer has %d bytes", s.net.bytes)
}

// together is a network on which the first two requests must be under way at once.
type together struct {
	trust.Fetcher
	arrived chan struct{}
	release chan struct{}
}

func (n together) Fetch(ctx context.Context, name string, limit int64) (trust.Unverified, error) {
	n.arrived <- struct{}{}
	<-n.release
	return n.Fetcher.Fetch(ctx, name, limit)
}

func TestTheFirstTwoRequestsGoTogether(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	s.clock = s.clock.Add(trust.RootInterval)
	n := together{s.net, make(chan struct{}), make(chan struct{})}
	go func() {
		<-n.arrived
		<-n.arrived // would wait for ever if one came after the other
		close(n.release)
	}()
	if c, err := s.start().Refresh(context.Background(), n, query(7)); err != nil || c.Number != 7 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestRenewalCostsOneFile: a daily renewal of the timestamp changes nothing else.
func TestRenewalCostsOneFile(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	for range 60 {
		s.clock = s.clock.Add(day)
		s.must(s.repo.Refresh(s.keys.online()))
		s.net.requests = nil
		s.wants(7)
		if len(s.net.requests) > 2 && s.clock.Sub(epoch) < 45*day {
			t.Fatalf("%v later: %q", s.clock.Sub(epoch), s.net.requests)
		}
	}
}

// TestWrongClock: ten years off in either direction nothing is claimed, and everything is played.
func TestWrongClock(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	for _, first := range []bool{true, false} { // without and with something verified before
		for off, why := range map[time.Duration]trust.Staleness{10 * year: trust.StaleExpired, -10 * year: trust.StaleClock} {
			if first {
				s.store = &trust.MemoryStore{}
			}
			s.clock = epoch.Add(off)
			client := s.start()
			c, err := client.Refresh(context.Background(), s.net, query(0))
			if err != nil || c.Number != 7 || c.Fresh || c.Why != why {
				t.Errorf("%v off: %+v, %v", off, c, err)
			}
			if known, err := client.Known(query(7)); err != nil || known.Number != 7 {
				t.Errorf("%v off: knows %+v, %v", off, known, err)
			}
			if _, err := client.Head(context.Background(), s.net, c.Choice); err != nil {
				t.Errorf("%v off: %v", off, err)
			}
		}
		s.clock = epoch
		s.wants(7)
	}
}

func TestClockEdges(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	for off, why := range map[time.Duration]trust.Staleness{
		0: trust.NotStale, 14 * day: trust.NotStale, 14*day + time.Second: trust.StaleExpired,
		-17 * day: trust.NotStale, -17*day - time.Second: trust.StaleClock, -time.Hour: trust.NotStale,
	} {
		s.clock = epoch.Add(off)
		if c, err := s.start().Refresh(context.Background(), s.net, query(0)); err != nil || c.Why != why || c.Fresh != (why == trust.NotStale) {
			t.Errorf("%v: %+v, %v, want %q", off, c, err, why)
		}
	}
}

// TestUnreachable: without a network the client knows what it knew.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	gone := errors.New("no route to host")
	for _, broken := range []string{"metadata/timestamp.json", ""} {
		s.net.swap = func(name string, data []byte, err error) ([]byte, error) {
			if name == broken || broken == "" {
				return nil, gone
			}
			return data, err
		}
		client := s.start()
		if _, err := client.Refresh(context.Background(), s.net, query(7)); !errors.Is(err, gone) {
			t.Errorf("%s: %v", broken, err)
		}
		if c, err := client.Known(query(7)); err != nil || c.Number != 7 || c.Fresh || c.Why != trust.StaleUnasked {
			t.Errorf("%s: %+v, %v", broken, c, err)
		}
	}
	s.net.swap = func(name string, data []byte, err error) ([]byte, error) {
		return nil, &fs.PathError{Err: fs.ErrNotExist}
	}
	if _, err := s.start().Refresh(context.Background(), s.net, query(7)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a server without releases: %v", err)
	}
}

func TestNoRelease(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	for _, q := range []release.Query{{Product: "lathe", Channel: "stable", Target: "Windows-win64"}, {Product: "other", Channel: "stable", Target: "Linux-x64"}, {}} {
		if _, err := s.start().Refresh(context.Background(), s.net, q); !errors.Is(err, release.ErrNoRelease) {
			t.Errorf("%+v: %v", q, err)
		}
		if _, err := s.start().Known(q); !errors.Is(err, release.ErrNoRelease) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// TestHoldKillRollout end to end; the table of Choose is elsewhere.
func TestHoldKillRollout(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7, 8)
	answer := func(have uint64) trust.Current {
		t.Helper()
		c, err := s.start().Refresh(context.Background(), s.net, query(have))
		s.must(err)
		return c
	}
	s.edit(8, func(e *release.Entry) { e.Hold = true })
	if a, b := answer(7), answer(8); a.Number != 7 || b.Number != 8 || b.Down {
		t.Errorf("held: %+v %+v", a, b)
	}
	s.edit(8, func(e *release.Entry) { e.Hold, e.Killed = false, true })
	if c := answer(8); c.Number != 7 || !c.Down {
		t.Errorf("killed: %+v", c)
	}
	s.publish(9)
	s.edit(9, func(e *release.Entry) { e.Percent = 0 })
	if a, b, c := answer(7), answer(8), answer(9); a.Number != 7 || b.Number != 7 || c.Number != 9 {
		t.Errorf("rolled out to no client: %d %d %d", a.Number, b.Number, c.Number)
	}
	s.must(s.repo.SetEntries(release.Prune(s.repo.Entries(), 1), s.keys.online()))
	if c := answer(3); c.Number != 7 {
		t.Errorf("from long ago: %+v", c)
	}
}

// TestUnlistedStays: a release that was dropped from the list, without a higher one for this player, stays.
func TestUnlistedStays(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7, 8)
	s.edit(8, func(e *release.Entry) { e.Percent = 0 })
	s.must(s.repo.SetEntries(s.repo.Entries()[1:], s.keys.online()))
	client := s.start()
	c, err := client.Refresh(context.Background(), s.net, query(7))
	if err != nil || c.Number != 7 || c.Listed || !c.Head.IsZero() {
		t.Fatalf("%+v, %v", c, err)
	}
	if _, err := client.Head(context.Background(), s.net, c.Choice); err == nil {
		t.Error("a release without a line has a head")
	}
}

// faulty is a store that fails after some calls of Save.
type faulty struct {
	*trust.MemoryStore
	left int
	err  error
}

func (f *faulty) Save(name string, data []byte) error {
	if f.left--; f.left < 0 {
		return f.err
	}
	return f.MemoryStore.Save(name, data)
}

// TestStopAnywhere: wherever the client stops keeping what it verified, the next start goes on from there, and never back.
func TestStopAnywhere(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left")
	for left := 0; ; left++ {
		s := newStage(t)
		s.publish(7)
		s.wants(7)
		s.publish(8)
		s.rotate(s.keys[trust.RoleRoot], s.keys.with(t, trust.RoleTimestamp), trust.RoleTimestamp)
		client, err := trust.Open(s.root, &faulty{s.store, left, full}, s.now)
		s.must(err)
		_, err = client.Refresh(context.Background(), s.net, query(7))
		done := err == nil
		if !done && !errors.Is(err, full) {
			t.Fatalf("after %d: %v", left, err)
		}
		for _, client := range []*trust.Client{client, s.start()} {
			if c, err := client.Known(query(7)); err != nil || c.Number != 7 && c.Number != 8 {
				t.Fatalf("after %d: knows %+v, %v", left, c, err)
			}
		}
		s.wants(8)
		if done {
			if left < 4 {
				t.Errorf("only %d files were kept", left)
			}
			return
		}
	}
}

// TestDamagedStore: whatever is broken or gone in the store, the client is told, and the next refresh mends it.
func TestDamagedStore(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	s := newStage(t)
	s.publish(7)
	s.rotate(s.keys[trust.RoleRoot], s.keys.with(t, trust.RoleTargets), trust.RoleTargets)
	s.wants(7)
	names := s.store.Names()
	if !slices.Equal(names, []string{"2.root.json", "numbers.json", "root.asked", "snapshot.json", "targets.json", "timestamp.json"}) {
		t.Fatalf("the store holds %q", names)
	}
	for _, name := range names {
		whole, err := s.store.Load(name, 1<<20)
		s.must(err)
		for what, data := range map[string][]byte{
			"empty": {}, "half": whole[:len(whole)/2], "zeros": make([]byte, len(whole)), "huge": []byte(strings.Repeat("[", 9<<20)),
			"another": []byte("{}"), "changed": []byte(strings.Replace(string(whole), "7", "8", 1)),
		} {
			s.must(s.store.Save(name, data))
			told := name != trust.AskedFile // a time that can't be read only costs the question for the next root
			if passed := s.start().Ignored(); told && !slices.Contains(passed, name) && string(data) != string(whole) && what != "changed" {
				t.Errorf("%s %s: passed over %q", name, what, passed)
			}
			if name == "numbers.json" && what == "changed" {
				continue // a valid file with higher numbers; only this machine writes it
			}
			s.wants(7)
		}
		s.store.Remove(name)
		s.wants(7)
	}
}

// TestTogether: several callers refresh while a publisher publishes; none sees a lower number than before.
func TestTogether(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	client := s.start()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			last := uint64(0)
			for range 8 {
				_, refreshed := client.Refresh(context.Background(), s.net, query(0))
				c, err := client.Known(query(0))
				var mixed *trust.Error // a publisher may replace the timestamp between two requests; numbered files stay
				if refreshed != nil && !errors.As(refreshed, &mixed) || err != nil || c.Number < last || client.Root().Version != 1 {
					t.Errorf("%+v, %v, %v after %d", c, err, refreshed, last)
					return
				}
				last = c.Number
			}
		})
	}
	for n := uint64(8); n < 12; n++ {
		s.publish(n)
	}
	wg.Wait()
	s.wants(11)
}

// TestPlantedRoot: a root in the store that does not descend from the embedded one is not believed.
func TestPlantedRoot(t *testing.T) {
	t.Parallel()
	s, evil := newStage(t), newStage(t)
	s.publish(7)
	evil.publish(66)
	fresh := evil.keys.with(t, trust.RoleRoot)
	evil.rotate(append(fresh[trust.RoleRoot], evil.keys[trust.RoleRoot]...), fresh, trust.RoleRoot)
	evil.wants(66)
	s.store = evil.store
	if passed := s.start().Ignored(); !slices.Contains(passed, "2.root.json") || !slices.Contains(passed, "targets.json") {
		t.Errorf("passed over %q", passed)
	}
	s.wants(7)
}

func TestBadEmbeddedRoot(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for name, root := range map[string][]byte{
		"nothing": nil, "text": []byte("hello"), "timestamp": s.read("metadata/timestamp.json"), "half": s.root[:len(s.root)/2],
		"changed": []byte(strings.Replace(string(s.root), `"version":1`, `"version":2`, 1)), "long": make([]byte, trust.MaxRoot+1),
	} {
		var fault *trust.Error
		if _, err := trust.Open(root, s.store, s.now); !errors.As(err, &fault) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := trust.InspectRoot(root); !errors.As(err, &fault) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBrokenStore(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	broken := errors.New("input/output error")
	if _, err := trust.Open(s.root, unreadable{broken}, s.now); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

type unreadable struct{ err error }

func (u unreadable) Load(string, int64) ([]byte, error) { return nil, u.err }
func (u unreadable) Save(string, []byte) error          { return u.err }
