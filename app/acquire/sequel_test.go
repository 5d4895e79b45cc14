package acquire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"collet/app/acquire"
	"collet/app/download"
	"collet/app/update"
	"collet/build/publish"
	"collet/netproto/release"
	"collet/platform/testlevel"
)

// sequels are the stories of TestSource that tell what becomes of an update with a sequel in all conditions.
func sequels() map[string]func(*testing.T, *publisher) {
	return map[string]func(*testing.T, *publisher){
		"sequel at once":                        sequelAtOnce,
		"sequel with digests":                   sequelWithSums,
		"sequel without a patch":                sequelLists,
		"sequel of an earlier publisher":        sequelPacked,
		"sequel with any byte wrong":            sequelWrong,
		"sequel that ends early":                sequelCut,
		"sequel from yesterday":                 sequelOld,
		"sequel in a rollout":                   sequelRollout,
		"sequel under a cap":                    sequelCapped,
		"sequel that never comes":               sequelSilent,
		"sequel of another channel":             sequelForeign,
		"sequel, and nothing else that answers": sequelThenNothing,
	}
}

// meet delays all answers until n requests have arrived: those that are sent without waiting for an answer.
func meet(t *testing.T, mirror *folderMirror, n int) {
	var mu sync.Mutex
	there, all := 0, make(chan struct{})
	mirror.hurry = func(ctx context.Context, name string) error {
		mu.Lock()
		if there++; there == n {
			close(all)
		}
		late := there > n && !strings.HasPrefix(name, "objects/")
		mu.Unlock()
		if late {
			t.Errorf("%s was asked for after the first answers", name)
		}
		select {
		case <-all:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func sequelAtOnce(t *testing.T, p *publisher) {
	mirror := p.mirror()
	c := newClient(t, p, mirror).at(7)
	meet(t, mirror, 2)
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(8)
	if r.report.Bytes[acquire.Patched] != 750_000 || c.spooled() != 0 {
		t.Errorf("%v, %d files in the spool", r, c.spooled())
	}
}

// sequelWithSums: a patch that carries digests is looked at for the listing and then for the contents, and comes once.
func sequelWithSums(t *testing.T, p *publisher) {
	testlevel.Slow(t)
	mirror := p.mirror()
	c := newClient(t, p, mirror).at(8)
	one := 1
	p.publish(9, game(8).with(tree{"Core.zip": game(8)["Core.zip"][:150_000] + prose(99, 150_000)}), publish.Request{Patches: &one})
	mirror.fs = p.mirror().fs
	meet(t, mirror, 2)
	r := c.run()
	c.wantOutcome(r, update.ResourcesReady, update.NoCause)
	c.holds(9)
	if r.report.Bytes[acquire.Patched] != 300_000 || mirror.count("objects/") != 0 || r.report.Fetched > 70_000 || c.spooled() != 0 {
		t.Errorf("%v; %q; %d files in the spool", r, mirror.asked, c.spooled())
	}
}

// sequelPacked: a folder without relative sequels takes one more request; TestUpdateCost counts its round trips.
func sequelPacked(t *testing.T, p *publisher) {
	mirror := p.mirror()
	mirror.absolute = true
	c := newClient(t, p, mirror).at(7)
	mirror.forget()
	c.wantOutcome(c.run(), update.BinariesStaged, update.NoCause)
	c.holds(8)
	if mirror.count("sequels/") != 2 {
		t.Errorf("%q", mirror.asked)
	}
}

// sequelLists: release 2 is too far behind for a patch, and small lists come at once.
func sequelLists(t *testing.T, p *publisher) {
	mirror := p.mirror()
	c := newClient(t, p, mirror).at(2)
	meet(t, mirror, 2)
	c.wantOutcome(c.run(), update.BinariesStaged, update.NoCause)
	c.holds(8)
	head := p.head(8)
	if n := mirror.count(head.Listing.Object.Path()) + mirror.count(head.Sources.Path()); n != 0 {
		t.Errorf("the lists were asked for %d times", n)
	}
}

// sequelWrong changes a byte here and there. The release is never another one, and it comes in one attempt.
func sequelWrong(t *testing.T, p *publisher) {
	testlevel.Slow(t)
	size := 0
	look := p.mirror()
	look.bend = func(name string, data []byte) []byte {
		if strings.HasPrefix(name, "sequels/") {
			size = len(data)
		}
		return data
	}
	newClient(t, p, look).at(7).run()
	if size < 600 {
		t.Fatalf("the sequel has %d bytes", size)
	}
	samples := 6
	if testlevel.Full() {
		samples = 24
	}
	for at := 0; at < size; at += 1 + size/samples {
		mirror := p.mirror()
		c := newClient(t, p, mirror).at(7)
		mirror.bend = func(name string, data []byte) []byte {
			if strings.HasPrefix(name, "sequels/") {
				data[at] ^= 0x20
			}
			return data
		}
		r := c.run()
		c.wantOutcome(r, update.BinariesStaged, update.NoCause)
		c.holds(8)
		if r.status.Attempt != 1 || r.report.Bytes[acquire.Patched] != 750_000 {
			t.Errorf("byte %d: %v, %d attempts\n%s", at, r, r.status.Attempt, c.log.String())
		}
	}
}

func sequelCut(t *testing.T, p *publisher) {
	for _, left := range []int{0, 2, 3, 6, 10, 40, 400, 2000, 3000} {
		mirror := p.mirror()
		c := newClient(t, p, mirror).at(7)
		mirror.bend = func(name string, data []byte) []byte {
			if strings.HasPrefix(name, "sequels/") {
				return data[:min(left, len(data)-1)]
			}
			return data
		}
		r := c.run()
		c.wantOutcome(r, update.BinariesStaged, update.NoCause)
		c.holds(8)
		if r.status.Attempt != 1 || r.report.Bytes[acquire.Patched] != 750_000 {
			t.Errorf("%d bytes: %v, %d attempts", left, r, r.status.Attempt)
		}
	}
}

// sequelOld: a cache has kept it since before the newest release.
func sequelOld(t *testing.T, p *publisher) {
	mirror := p.mirror()
	c := newClient(t, p, mirror).at(7)
	p.publish(9, game(8).with(tree{"Core.zip": prose(77, 1000)}), publish.Request{})
	old := p.when(8)
	mirror.spoil = nil
	mirror.bend = func(name string, data []byte) []byte {
		if !strings.HasPrefix(name, "sequels/") {
			return data
		}
		r, err := old.Get(t.Context(), name, 0, -1, release.MaxSequel)
		must(t, err)
		data, err = io.ReadAll(r)
		must(t, err)
		return data
	}
	mirror.fs = p.mirror().fs
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(9)
	if r.status.Attempt != 1 {
		t.Errorf("%v, %d attempts", r, r.status.Attempt)
	}
}

// sequelRollout: the sequel to a partial rollout contains no patch, which most clients would fetch in vain.
func sequelRollout(t *testing.T, p *publisher) {
	p.change(8, func(e *release.Entry) { e.Percent = 1 })
	mirror := p.mirror()
	c := newClient(t, p, mirror).at(7)
	mirror.forget()
	r := c.run()
	if mirror.taken() > 4000 || mirror.count("sequels/") != 1 {
		t.Errorf("%d bytes, %d sequels, %v", mirror.taken(), mirror.count("sequels/"), r)
	}
}

func sequelCapped(t *testing.T, p *publisher) {
	mirror := p.mirror()
	c := newClient(t, p, mirror).at(7)
	c.change = func(o *acquire.Options) { o.Fetch.Cap = 1 << 30 }
	c.wantOutcome(c.run(), update.BinariesStaged, update.NoCause)
	c.holds(8)
	if n := mirror.count("sequels/"); n != 0 {
		t.Errorf("%d sequels were asked for", n)
	}
}

// sequelSilent: the answer never comes, and is not waited for for ever.
func sequelSilent(t *testing.T, p *publisher) {
	synctest.Test(t, func(t *testing.T) {
		p := p.clone(t)
		mirror := p.mirror()
		c := newClient(t, p, mirror).at(7)
		mirror.hurry = func(ctx context.Context, name string) error {
			if !strings.HasPrefix(name, "sequels/") {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
		r := c.run()
		c.wantOutcome(r, update.BinariesStaged, update.NoCause)
		c.holds(8)
		if r.status.Attempt != 1 {
			t.Errorf("%v, %d attempts", r, r.status.Attempt)
		}
	})
}

// sequelForeign: another product's install is not asked about.
func sequelForeign(t *testing.T, p *publisher) {
	mirror := p.mirror()
	c := newClient(t, p, mirror).at(7)
	mirror.forget()
	c.change = func(o *acquire.Options) { o.Channel = "beta" }
	c.run()
	if n := mirror.count("sequels/"); n != 0 {
		t.Errorf("%d sequels were asked for", n)
	}
}

// sequelThenNothing: everything that is needed came with it, so it does not matter that nothing else comes.
func sequelThenNothing(t *testing.T, p *publisher) {
	mirror := p.mirror()
	c := newClient(t, p, mirror).at(7)
	mirror.spoil = func(name string, _ int64) error {
		if strings.HasPrefix(name, "objects/") || strings.HasPrefix(name, "releases/") {
			return &download.NetError{Mirror: mirror.name, Name: name, Kind: download.NetReset, Err: errors.New("cut")}
		}
		return nil
	}
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(8)
	if got := fmt.Sprint(r.report.Bytes); r.report.Bytes[acquire.Patched] != 750_000 {
		t.Error(got)
	}
}
