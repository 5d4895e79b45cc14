package acquire_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/app/update"
	"collet/build/publish"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

const (
	// mostOfLists is how many bytes of lists a small update costs a player who is one release behind: all that comes beside the patch.
	mostOfLists = 1500
	// differentSets is how many releases of a folder here have sets of their own: as many as a release has patches from, and one more.
	differentSets = 6
)

// offer makes a release for three targets in the channel beta, and promotes it to stable.
func (p *publisher) offer(number uint64) {
	p.t.Helper()
	p.offerBeta(number)
	p.with(func(f *publish.Folder) error {
		_, err := f.Promote(context.Background(), publish.Promotion{Which: publish.Which{Channel: "beta", Number: number}, Into: "stable", Percent: 100}, p.keys[3:])
		return err
	})
	p.after[number], p.installs[number] = p.disk.Clone(), &installed{}
}

// offerBeta makes a release for three targets in the channel beta.
func (p *publisher) offerBeta(number uint64) {
	p.t.Helper()
	p.clock = p.clock.Add(time.Hour)
	saved := p.clock
	game := faultfs.New(faultfs.Config{Now: func() time.Time { return saved }})
	set := tree{"Lathe.so": prose(1, 900) + fmt.Sprint("build ", number), "Core.zip": prose(2, 900) + fmt.Sprint("pack ", number)}
	must(p.t, game.Plant("Resources/Core.zip", set["Core.zip"]))
	for name, module := range map[string]string{target: "Lathe.so", "Linux-arm64": "Lathe.so", "Windows-win64": "Lathe.dll"} {
		must(p.t, game.Plant("PlatformBinaries/"+name+"/"+module, set["Lathe.so"]))
	}
	p.sets[number] = set
	p.with(func(f *publish.Folder) error {
		_, err := f.Publish(context.Background(), game.Open(faultfs.Options{}), publish.Request{Number: number, Channel: "beta", Effort: publish.EffortFast}, p.keys[3:])
		return err
	})
}

// age adds releases up to a number, each with the set of one of the first ones, in the lists of a publisher who offered them one by one.
// offer would take minutes.
func (p *publisher) age(last uint64) {
	p.t.Helper()
	fsys := p.disk.Open(faultfs.Options{})
	repo, err := trust.OpenRepo(folderStore{fsys}, trust.RepoOptions{Now: func() time.Time { return p.clock }})
	must(p.t, err)
	for n := uint64(differentSets + 1); n <= last; n++ {
		like := (n-1)%differentSets + 1
		p.clock = p.clock.Add(time.Hour)
		for _, channel := range []string{"beta", "stable"} {
			entries := repo.Entries()
			for _, e := range entries {
				if e.Number != like || e.Channel != channel {
					continue
				}
				data, err := platform.ReadFile(fsys, e.Head.HeadPath(), release.MaxHead)
				must(p.t, err)
				h, err := release.ParseHead(data)
				must(p.t, err)
				h.Number, h.Version, h.Published = n, fmt.Sprint(n), p.clock
				data, err = h.Encode()
				must(p.t, err)
				e.Number, e.Head = n, release.ObjectOf(data)
				must(p.t, platform.WriteFile(fsys, e.Head.HeadPath(), data))
				entries = append(entries, e)
			}
			must(p.t, repo.SetEntries(entries, p.keys[3:]))
		}
		p.sets[n] = p.sets[like]
		if n+differentSets > last {
			p.after[n], p.installs[n] = p.disk.Clone(), &installed{}
		}
	}
}

// folderStore is a release folder as a trust.Store.
type folderStore struct{ fs platform.FS }

func (s folderStore) Load(name string, limit int64) ([]byte, error) {
	return platform.ReadFile(s.fs, name, limit)
}

func (s folderStore) Save(name string, data []byte) error {
	return platform.WriteFile(s.fs, name, data)
}

// collect drops old releases, as collet release gc does.
func (p *publisher) collect(keep int) {
	p.t.Helper()
	p.with(func(f *publish.Folder) error {
		plan, err := f.PlanCollect(context.Background(), keep)
		if err == nil && len(plan.Drop) == 0 {
			err = errors.New("there is nothing to drop")
		}
		return errors.Join(err, f.Collect(context.Background(), plan, p.keys[3:]))
	})
}

// updateLists updates a client that has a release to the newest one, and returns what it costs beside the patch in bytes.
func (c *client) updateLists(t *testing.T, from, to uint64) (bytes int64, mirror *folderMirror) {
	t.Helper()
	mirror = c.p.mirror()
	c.mirrors = append(c.mirrors, mirror)
	c.wantOutcome(c.run(), update.BinariesStaged, update.NoCause)
	c.holds(to)
	patch, _ := c.p.head(to).PatchFrom(c.p.head(from).Listing.Sum)
	t.Logf("%d bytes beside the patch in %d requests", mirror.taken()-patch.Size, mirror.count(""))
	return mirror.taken() - patch.Size, mirror
}

// TestListsOfASmallUpdate states what the lists of an update cost a player who is one release behind, in a folder of two channels and three
// targets: as much with many releases as with two.
func TestListsOfASmallUpdate(t *testing.T) {
	testlevel.Slow(t)
	base := newPublisher(t)
	base.set(`Patches = 2`, `Patches = 5`)
	for n := uint64(1); n <= differentSets; n++ {
		base.offer(n)
	}
	grown := func(t *testing.T, releases uint64) (*publisher, *client) {
		p := base.clone(t)
		p.age(releases - 1)
		return p, newClient(t, p).at(releases - 1)
	}
	within := func(t *testing.T, bytes int64, mirror *folderMirror, most int64, requests int) {
		t.Helper()
		if bytes > most || mirror.count("") != requests {
			t.Errorf("%d bytes beside the patch in %d requests, want at most %d in %d: %q", bytes, mirror.count(""), most, requests, mirror.asked)
		}
	}
	t.Run("2 releases", func(t *testing.T) {
		p := base.clone(t)
		p.disk = base.after[2].Clone()
		bytes, mirror := newClient(t, p).at(1).updateLists(t, 1, 2)
		within(t, bytes, mirror, mostOfLists, 2)
	})
	changes := map[string]func(p *publisher, newest uint64){
		"as published":          func(*publisher, uint64) {},
		"gc since":              func(p *publisher, _ uint64) { p.collect(5) },
		"another channel since": func(p *publisher, newest uint64) { p.offerBeta(newest + 1) },
		"other conditions since": func(p *publisher, newest uint64) {
			p.change(newest-3, func(e *release.Entry) { e.Hold, e.Percent = true, 20 })
		},
	}
	many := uint64(20)
	if testlevel.Full() {
		many = 40
	}
	for releases, rows := range map[uint64][]string{12: slices.Sorted(maps.Keys(changes)), many: {"as published"}} {
		t.Run(fmt.Sprint(releases, " releases"), func(t *testing.T) {
			p, c := grown(t, releases)
			p.offer(releases)
			for _, row := range rows {
				t.Run(row, func(t *testing.T) {
					p := p.clone(t)
					changes[row](p, releases)
					c := &client{t: t, p: p, disk: c.disk.Clone()}
					bytes, mirror := c.updateLists(t, releases-1, releases)
					within(t, bytes, mirror, mostOfLists, 2)
				})
			}
		})
	}
	const releases = 12
	t.Run("gc before the release", func(t *testing.T) {
		p, c := grown(t, releases)
		p.collect(5)
		p.offer(releases)
		bytes, mirror := c.updateLists(t, releases-1, releases)
		within(t, bytes, mirror, mostOfLists, 2)
	})
	p, _ := grown(t, releases)
	p.offer(releases)
	for behind, most := range map[uint64]int64{3: 2000, 5: 2600, 6: 5500} { // from the last one there is no patch, and its sequel leaves nothing out
		t.Run(fmt.Sprint(behind, " releases behind"), func(t *testing.T) {
			c := newClient(t, p.clone(t)).at(releases - behind)
			bytes, mirror := c.updateLists(t, releases-behind, releases)
			within(t, bytes, mirror, most, 2+mirror.count("objects/"))
		})
	}
	for what, lost := range map[string]string{"without its head": ".release", "without its list": "trust/targets.json"} {
		t.Run(what, func(t *testing.T) {
			c := newClient(t, p.clone(t)).at(releases - 1)
			found := false
			for name := range c.disk.Files() {
				if strings.HasSuffix(name, lost) {
					remove(t, c.disk, name)
					found = true
				}
			}
			bytes, mirror := c.updateLists(t, releases-1, releases)
			from := release.Entry{Product: product, Channel: "stable", Target: target, Number: releases - 1}
			if within(t, bytes, mirror, 5000, 2); !found || mirror.count(from.PackedSequelPath()) != 1 {
				t.Errorf("%q, lost is %t", mirror.asked, found)
			}
		})
	}
}
