package acquire_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"collet/app/acquire"
	"collet/app/download"
	"collet/app/update"
	"collet/build/publish"
	"collet/netproto/compat"
	"collet/netproto/release"
	"collet/platform/testlevel"
)

// hosted is a small game with a host in it.
func hosted(n uint64) tree {
	text := "host " + prose(77, 30_000)
	text = text[:15_000] + strings.Repeat("!", int(n)) + text[15_000:]
	core := prose(2, 30_000)
	for i := uint64(3); i <= n; i++ {
		core = edited(core, i)
	}
	return tree{"Lathe": text, "Lathe.so": "module " + text + prose(78, 9_000), "Core.zip": core, "Sounds.zip": noise(4, 40_000)}
}

// hostedAt1 is a client of release 1, whose host is that of release 1 whether it is updated or not.
func hostedAt1(t *testing.T, whole bool) (*publisher, *client) {
	t.Helper()
	p := newPublisher(t)
	p.publish(1, hosted(1), publish.Request{})
	c := newClient(t, p, p.mirror())
	must(t, c.disk.Plant("Lathe", hosted(1)["Lathe"]))
	c.whole = whole
	c.wantOutcome(c.run(), update.BinariesStaged, update.NoCause)
	if c.waits != "" {
		t.Fatalf("%s waits, and is live already", c.waits)
	}
	return p, c
}

// TestHostByPatch: one set patch updates set and host; an install that keeps its host uses the same patch.
func TestHostByPatch(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	for _, whole := range []bool{true, false} {
		p, c := hostedAt1(t, whole)
		p.publish(2, hosted(2), publish.Request{})
		r := c.run()
		c.wantOutcome(r, update.BinariesStaged, update.NoCause)
		for means := range maps.Keys(r.report.Bytes) {
			if means == acquire.Entire || means == acquire.Chunked {
				t.Errorf("whole %v: %v\n%s", whole, r, c.log.String())
			}
		}
		files := c.disk.Files()
		if files["Lathe.so"] != hosted(2)["Lathe.so"] || files["Lathe"] != hosted(1)["Lathe"] {
			t.Errorf("whole %v: the set is not that of release 2, or the host is another one", whole)
		}
		if whole && (!strings.HasSuffix(c.waits, "Lathe-staging") || files["Lathe-staging"] != hosted(2)["Lathe"]) || !whole && c.waits != "" {
			t.Errorf("whole %v: %q waits", whole, c.waits)
		}
		if report := r.report; report.Fetched > 6_000 {
			t.Errorf("whole %v: %d bytes", whole, report.Fetched)
		}
	}
}

// TestHostComesFirst: a release that needs a newer host gives that alone, once, and nothing of what it needs it for.
func TestHostComesFirst(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	p, c := hostedAt1(t, true)
	p.publish(2, hosted(2), publish.Request{Head: func(h *release.Head) { h.HostABI = 2 }})
	c.wantOutcome(c.run(), update.UpdaterOutdated, update.NoCause)
	asked := 0
	c.change = func(o *acquire.Options) { o.Renew = func() bool { asked++; return true } }
	c.wantOutcome(c.run(), update.ResourcesReady, update.NoCause)
	files := c.disk.Files()
	if !strings.HasSuffix(c.waits, "Lathe-staging") || files["Lathe-staging"] != hosted(2)["Lathe"] || asked == 0 {
		t.Errorf("%q waits", c.waits)
	}
	c.holds(1)
	c.change = func(o *acquire.Options) { o.Renew = func() bool { return false } }
	c.wantOutcome(c.run(), update.UpdaterOutdated, update.NoCause)
	c.change = func(o *acquire.Options) { o.HostABI = 2 } // the newer one looks again
	c.whole = false
	c.wantOutcome(c.run(), update.BinariesStaged, update.NoCause)
	if c.disk.Files()["Lathe.so"] != hosted(2)["Lathe.so"] {
		t.Error("the newer host does not bring the set")
	}
}

// TestTheSameHostDoesNotHelp: a release that needs a newer host than the one in it is refused as without updates of hosts.
func TestTheSameHostDoesNotHelp(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	p, c := hostedAt1(t, true)
	p.publish(2, hosted(2).with(tree{"Lathe": hosted(1)["Lathe"]}), publish.Request{Head: func(h *release.Head) { h.HostABI = 2 }})
	c.change = func(o *acquire.Options) { o.Renew = func() bool { return true } }
	c.wantOutcome(c.run(), update.UpdaterOutdated, update.NoCause)
	p.publish(3, hosted(3).with(nil, "Lathe"), publish.Request{Head: func(h *release.Head) { h.HostBuild = 9 }})
	c.wantOutcome(c.run(), update.UpdaterOutdated, update.NoCause)
	c.holds(1)
}

// refusing is a server that calls every updater too old.
type refusing struct{}

func (refusing) Connect(context.Context, func()) (compat.Judgement, download.Mirror, error) {
	return compat.Judgement{Verdict: compat.UpdaterMismatch}, nil, nil
}

func (refusing) Close() error { return nil }

// TestServerCallsForANewerHost: a newer host from the mirrors helps if the server rejects this one as too old.
func TestServerCallsForANewerHost(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	p, c := hostedAt1(t, true)
	p.publish(2, hosted(2), publish.Request{})
	c.server = refusing{}
	c.wantOutcome(c.run(), update.UpdaterOutdated, update.NoCause)
	c.change = func(o *acquire.Options) { o.Renew = func() bool { return true } }
	c.wantOutcome(c.run(), update.ResourcesReady, update.NoCause)
	if c.waits == "" {
		t.Error("nothing waits")
	}
	c.holds(1)
	must(t, c.disk.Plant("Lathe", hosted(2)["Lathe"]))
	c.wantOutcome(c.run(), update.UpdaterOutdated, update.NoCause)
	if names := slices.Sorted(maps.Keys(c.disk.Files())); slices.Contains(names, "Resources/Lathe") {
		t.Errorf("%q", names)
	}
}
