package acquire_test

import (
	"fmt"
	"strings"
	"testing"

	"collet/app/acquire"
	"collet/app/update"
	"collet/build/publish"
	"collet/netproto/release"
	"collet/netproto/solid"
	"collet/platform"
	"collet/platform/faultfs"
)

// smallFiles is a set of small files, two of them the same, with a module.
func smallFiles(version uint64) tree {
	set := tree{"Lathe.so": prose(version, 60_000), "Empty.txt": "", "Copy.js": prose(500, 9000)}
	for i := range 200 {
		set[fmt.Sprintf("Code/Tool%03d.js", i)] = edited(prose(uint64(500+i/4), 9000), uint64(i))
	}
	set["Code/Other.js"] = set["Copy.js"]
	return set
}

func publishMany(t *testing.T) *publisher {
	p := newPublisher(t)
	p.publish(1, smallFiles(1), publish.Request{})
	if _, found := p.head(1).Solid(); !found {
		t.Fatal("no solid form")
	}
	return p
}

// solidParts are the parts of a release's solid form.
func (p *publisher) solidParts(number uint64) (parts []release.Object) {
	p.t.Helper()
	h := p.head(number)
	index, _ := h.Solid()
	fsys := p.disk.Open(faultfs.Options{})
	data, err := platform.ReadFile(fsys, index.Path(), 1<<20)
	must(p.t, err)
	packed, err := platform.ReadFile(fsys, h.Listing.Object.Path(), 1<<20)
	must(p.t, err)
	listing, err := release.UnpackListing(packed, h.Listing)
	must(p.t, err)
	form, err := solid.OpenForm(data, listing)
	must(p.t, err)
	for _, g := range form.Groups {
		parts = append(parts, g.Parts...)
	}
	return parts
}

// usesSolid checks that every content came from the solid form.
func (c *client) usesSolid(r result) {
	c.t.Helper()
	if r.report.Bytes[acquire.Solid] == 0 || r.report.Bytes[acquire.Entire] != 0 {
		c.t.Errorf("%v\n%s", r, c.log.String())
	}
}

// TestFirstInstall: 200 files take few requests, and the bytes of the solid form.
func TestFirstInstall(t *testing.T) {
	t.Parallel()
	p := publishMany(t)
	for _, named := range []bool{false, true} {
		mirror := p.mirror()
		c := newClient(t, p, mirror)
		c.change = func(o *acquire.Options) {
			if named {
				o.Product = product
			}
		}
		r := c.run()
		c.wantOutcome(r, update.BinariesStaged, update.NoCause)
		c.holds(1)
		c.usesSolid(r)
		most := 3 + 2 // root, timestamp, sequel, parts
		if !named {
			most = 11 // the lists one by one; without a product the first two are read twice
		}
		if n := len(mirror.asked); n > most {
			t.Errorf("named %t: %d requests: %s", named, n, strings.Join(mirror.asked, ", "))
		}
		if c.spooled() != 0 {
			t.Errorf("%d files in the spool", c.spooled())
		}
	}
}

// TestSolidWithFiles: an install with a few files that are right fetches the solid form for the rest, and an install that lacks a few files
// does not.
func TestSolidWithFiles(t *testing.T) {
	t.Parallel()
	p := publishMany(t)
	c := newClient(t, p, p.mirror()).at(1)
	for i := range 150 {
		remove(t, c.disk, fmt.Sprintf("Resources/Code/Tool%03d.js", i))
	}
	r := c.run()
	c.wantOutcome(r, update.ResourcesReady, update.NoCause)
	c.holds(1)
	c.usesSolid(r)
	c = newClient(t, p, p.mirror()).at(1)
	remove(t, c.disk, "Resources/Code/Tool007.js")
	r = c.run()
	c.holds(1)
	if r.report.Bytes[acquire.Solid] != 0 || r.report.Bytes[acquire.Entire] != 9000 {
		t.Errorf("%v", r)
	}
}

// TestSolidIsWrong: a solid form that is missing, wrong, or of a later version costs time, but the install is complete.
func TestSolidIsWrong(t *testing.T) {
	t.Parallel()
	first := publishMany(t)
	for name, spoil := range map[string]func(p *publisher){
		"no index":   func(p *publisher) { p.removeSolid(1) },
		"no part":    func(p *publisher) { remove(t, p.disk, p.solidParts(1)[0].Path()) },
		"wrong part": func(p *publisher) { o := p.solidParts(1)[0]; plant(t, p.disk, o.Path(), noise(1, int(o.Size))) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := first.clone(t)
			spoil(p)
			c := newClient(t, p, p.mirror())
			r := c.run()
			c.wantOutcome(r, update.BinariesStaged, update.NoCause)
			c.holds(1)
			if r.report.Bytes[acquire.Entire] == 0 || c.spooled() != 0 {
				t.Errorf("%v, %d files in the spool", r, c.spooled())
			}
		})
	}
}
