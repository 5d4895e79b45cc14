package acquire_test

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"collet/build/publish"
	"collet/platform/testlevel"
)

// TestUpdateCost states what an update costs: bytes received and round trips. The set has 2,002 files in make test-all, whose listing
// and sources have 415 KB; elsewhere it has 402, and 83 KB. The bounds are the same for both. Time passes in answers only, a second
// for each, so the duration counts round trips. docs/ARCHITECTURE.md has the same measurements without one form of the lists each.
func TestUpdateCost(t *testing.T) {
	testlevel.Slow(t)
	base := tree{"Lathe.so": prose(1, 400_000), "Core.zip": noise(2, 1_300_000)}
	for i := range 2000 / testlevel.Stride(5, 5) {
		base[script(i)] = prose(uint64(i), 2000)
	}
	edit := func(n int, changes tree) tree { // of n files at most: a sampled set may have fewer
		changes = maps.Clone(changes)
		for i := range min(n, len(base)-2) {
			changes[script(i)] = edited(base[script(i)], uint64(i))
		}
		return base.with(changes)
	}
	p := newPublisher(t)
	p.publish(1, base, publish.Request{})
	none := 0
	for _, s := range []struct {
		name    string
		next    tree
		patches *int   // nil: as the settings say
		folder  string // "" has all forms of sequels, "packed" no relative ones, "bare" none
		trips   float64
		bytes   int64
		lab     bool // making the patch takes some ten seconds
	}{
		{"two files, by patch", edit(2, tree{}), nil, "", 1, 1500, false},
		{"two files, by patch, without the sequel", edit(2, tree{}), nil, "bare", 5, 2900, false},
		// The packed sequel may come too late for the lists, which are requested by name then.
		{"two files, by patch, with the packed sequel", edit(2, tree{}), nil, "packed", 3, 2600, false},
		{"two files, by changes", edit(2, tree{}), &none, "", 2, 4600, false},
		{"two files, by changes, without the sequel", edit(2, tree{}), &none, "bare", 6, 4600, false},
		{"a module, by patch", edit(0, tree{"Lathe.so": edited(base["Lathe.so"], 5)}), nil, "", 1, 2900, false},
		{"1,500 files, by patch", edit(1500, tree{}), nil, "", 1, 28_000, true},
		{"1,500 files and a pack, by a patch above 1 MiB", edit(1500, tree{"Core.zip": noise(3, 1_200_000)}), nil, "", 4, 1_290_000, true},
	} {
		t.Run(s.name, func(t *testing.T) {
			if s.lab {
				testlevel.Lab(t)
			}
			synctest.Test(t, func(t *testing.T) {
				p := p.clone(t)
				c := newClient(t, p).at(1)
				p.publish(2, s.next, publish.Request{Patches: s.patches})
				mirror := p.mirror()
				mirror.bare, mirror.absolute = s.folder == "bare", s.folder == "packed"
				mirror.hurry = func(context.Context, string) error {
					time.Sleep(time.Second)
					return nil
				}
				c.mirrors = append(c.mirrors, mirror)
				began := time.Now()
				c.run()
				c.holds(2)
				trips := time.Since(began).Seconds()
				h := p.head(2)
				t.Logf("%d bytes in %.1f round trips and %d requests; patches %v, changes %d, listing %d, sources %d", mirror.taken(), trips,
					mirror.count(""), h.Patches, h.Changes.Size, h.Listing.Object.Size, h.Sources.Size)
				if trips > s.trips || mirror.taken() > s.bytes {
					t.Errorf("%d bytes in %.1f round trips, want at most %d in %.1f", mirror.taken(), trips, s.bytes, s.trips)
				}
			})
		})
	}
}
