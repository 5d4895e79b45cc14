package acquire_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"collet/app/acquire"
	"collet/app/update"
	"collet/build/publish"
	"collet/netproto/release"
	"collet/netproto/solid"
	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
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

// solidForm reads the solid form of a release.
func (p *publisher) solidForm(number uint64) solid.Form {
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
	return form
}

// solidParts are the parts of a release's solid form.
func (p *publisher) solidParts(number uint64) (parts []release.Object) {
	p.t.Helper()
	for _, g := range p.solidForm(number).Groups {
		parts = append(parts, g.Parts...)
	}
	return parts
}

// putObject adds an object to the release folder.
func (p *publisher) putObject(data []byte) release.Object {
	p.t.Helper()
	o := release.ObjectOf(data)
	must(p.t, p.disk.Plant(o.Path(), string(data)))
	return o
}

// forgeSolid signs a release with another index as the one after a release, as a publisher with a bug does.
func (p *publisher) forgeSolid(number uint64, index []byte) {
	p.t.Helper()
	h := p.head(number)
	for i := range h.Patches {
		if h.Patches[i].Announces() {
			h.Patches[i].Object = p.putObject(index)
		}
	}
	h.Number++ // a number stands for one head for ever
	data, err := h.Encode()
	must(p.t, err)
	p.change(number, func(e *release.Entry) {
		e.Number, e.Head = h.Number, release.ObjectOf(data)
		must(p.t, p.disk.Plant(e.Head.HeadPath(), string(data)))
	})
}

// content is what a file of a set holds, by its digest.
func (p *publisher) content(number uint64, sum release.Digest) string {
	p.t.Helper()
	for _, content := range p.sets[number] {
		if release.ObjectOf([]byte(content)).Sum == sum {
			return content
		}
	}
	p.t.Fatalf("no content %v", sum)
	return ""
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
		const most = 3 + 2 // root, timestamp, sequel, parts
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
			c := newClient(t, p, p.bareMirror())
			r := c.run()
			c.wantOutcome(r, update.BinariesStaged, update.NoCause)
			c.holds(1)
			if r.report.Bytes[acquire.Entire] == 0 || c.spooled() != 0 {
				t.Errorf("%v, %d files in the spool", r, c.spooled())
			}
		})
	}
}

// TestSolidIsMended: wrong bytes of one mirror, which are decoded while they arrive, cost time only: another mirror gives the right ones.
func TestSolidIsMended(t *testing.T) {
	t.Parallel()
	p := publishMany(t)
	part := p.solidParts(1)[0]
	for _, at := range []int64{0, 40, part.Size / 2, part.Size - 1} {
		liar, honest := p.mirror(), p.mirror()
		honest.name = "honest:"
		lies := 0
		liar.bend = func(name string, data []byte) []byte {
			if name == part.Path() {
				lies++
				data[at] ^= 0x10
			}
			return data
		}
		c := newClient(t, p, liar, honest)
		r := c.run()
		c.wantOutcome(r, update.BinariesStaged, update.NoCause)
		c.holds(1)
		c.usesSolid(r)
		if lies == 0 || c.spooled() != 0 {
			t.Errorf("byte %d: %d lies; %d files in the spool", at, lies, c.spooled())
		}
	}
}

// TestSolidIsForged: a signed solid form that is well-formed and wrong costs the contents that it is wrong about, and no more.
func TestSolidIsForged(t *testing.T) {
	t.Parallel()
	first := publishMany(t)
	form := first.solidForm(1)
	large := 0 // the group of the small files
	for g := range form.Groups {
		if len(form.Groups[g].Members) > len(form.Groups[large].Members) {
			large = g
		}
	}
	pack := func(change func(contents [][]byte)) []byte {
		var contents [][]byte
		for _, m := range form.Groups[large].Members {
			contents = append(contents, []byte(first.content(1, form.Contents[m.Content].Sum)))
		}
		change(contents)
		frames, err := solid.Encode(t.Context(), bytes.Join(contents, nil), solid.Fast, nil)
		must(t, err)
		return bytes.Join(frames, nil)
	}
	withPart := func(part []byte) func(p *publisher, g *solid.Group) {
		return func(p *publisher, g *solid.Group) { g.Parts = []release.Object{p.putObject(part)} }
	}
	all := form.Groups[large].Members
	for name, c := range map[string]struct {
		spoil func(p *publisher, g *solid.Group)
		whole []solid.Member // that come as whole objects
	}{
		"right":                       {withPart(pack(func([][]byte) {})), nil},
		"a part with a wrong content": {withPart(pack(func(contents [][]byte) { contents[7][100] ^= 1 })), all[7:8]},
		"a part that is too short":    {withPart(pack(func(contents [][]byte) { contents[len(contents)-1] = nil })), all[len(all)-1:]},
		"a part that is too long":     {withPart(pack(func(contents [][]byte) { contents[0] = append(contents[0], 1) })), all},
		"a part twice":                {func(_ *publisher, g *solid.Group) { g.Parts = append(slices.Clone(g.Parts), g.Parts...) }, nil},
		"parts of another group":      {func(_ *publisher, g *solid.Group) { g.Parts = form.Groups[1-large].Parts }, all},
		"an index in another order":   {func(_ *publisher, g *solid.Group) { g.Members[0], g.Members[1] = g.Members[1], g.Members[0] }, all[:2]},
		"an index without contents": {func(_ *publisher, g *solid.Group) {
			for i := range g.Members[:5] {
				g.Members[i].Content = solid.Gone
			}
		}, all[:5]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := first.clone(t)
			groups := slices.Clone(form.Groups)
			groups[large].Members = slices.Clone(groups[large].Members)
			c.spoil(p, &groups[large])
			p.forgeSolid(1, solid.EncodeIndex(groups))
			client := newClient(t, p, p.mirror())
			r := client.run()
			client.wantOutcome(r, update.BinariesStaged, update.NoCause)
			client.holds(1)
			want := int64(0)
			for _, m := range c.whole {
				want += m.Size
			}
			if n := r.report.Bytes[acquire.Entire]; n != want || r.report.Bytes[acquire.Solid] == 0 || client.spooled() != 0 {
				t.Errorf("%d bytes came as whole objects, want %d; %d files in the spool\n%v\n%s", n, want, client.spooled(), r, client.log.String())
			}
		})
	}
}

// olderFile has the bytes of a group that left memory.
const olderFile = "Cache/release/expanded/1.unverified"

// smallWindow lets clients hold less of a group in memory than it has, and returns the largest buffers that they announce.
func smallWindow(c *client) *int64 {
	largest := new(int64)
	c.change = func(o *acquire.Options) {
		o.Window = 50_000
		o.Reserve = func(bytes int64) func() { *largest = max(*largest, bytes); return func() {} }
	}
	return largest
}

// TestSmallWindow: groups that memory does not hold are installed with a scratch file, which goes.
func TestSmallWindow(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]tree{
		"files": smallFiles(1),
		"packs": packedFiles(func(n int, changed ...int) string { return deflated(t, n, changed...) }),
	} {
		p := newPublisher(t)
		p.publish(1, set, publish.Request{})
		c := newClient(t, p, p.mirror())
		largest := smallWindow(c)
		full := c.disk.Open(faultfs.Options{})
		full.Inject(faultfs.Rule{Name: olderFile, Verb: faultfs.Write, Err: syscall.ENOSPC})
		r, err := c.try(t.Context(), full)
		must(t, err)
		c.wantOutcome(r, update.Failed, update.DiskFull)

		fsys := c.disk.Open(faultfs.Options{})
		r, err = c.try(t.Context(), fsys)
		must(t, err)
		c.wantOutcome(r, update.BinariesStaged, update.NoCause)
		c.holds(1)
		c.usesSolid(r)
		made := slices.ContainsFunc(fsys.Ops(), func(o faultfs.Op) bool { return o.Name == olderFile && o.Verb == faultfs.Write })
		if !made || c.formFiles() != 0 || *largest != 50_000 {
			t.Errorf("%s: scratch made: %v, %d left; buffers of %d bytes", name, made, c.formFiles(), *largest)
		}
	}
}

// TestFirstInstallOfPacksStops stops the client while it fetches and rebuilds deflated packs, with a scratch file.
func TestFirstInstallOfPacksStops(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	p := newPublisher(t)
	p.publish(1, packedFiles(func(n int, changed ...int) string { return deflated(t, n, changed...) }), publish.Request{})
	c := newClient(t, p, p.mirror())
	smallWindow(c)
	stopEverywhere(t, p, c, 1, testlevel.Stride(37, 150))
}

// packedFiles is a set of small files with two packs.
func packedFiles(pack func(n int, changed ...int) string) tree {
	set := tree{"Lathe.so": prose(70, 30_000), "Core.zip": pack(60), "Maps.zip": pack(30, 2)}
	for i := range 12 {
		set[fmt.Sprintf("Note%02d.txt", i)] = prose(uint64(80+i), 3000)
	}
	return set
}

// TestFirstInstallOfPacks: deflated packs cost what they cost stored, and are rebuilt exactly.
func TestFirstInstallOfPacks(t *testing.T) {
	t.Parallel()
	install := func(set tree) int64 {
		p := newPublisher(t)
		p.publish(1, set, publish.Request{})
		c := newClient(t, p, p.mirror())
		r := c.run()
		c.wantOutcome(r, update.BinariesStaged, update.NoCause)
		c.holds(1)
		c.usesSolid(r)
		if c.spooled() != 0 {
			t.Errorf("%d files in the spool", c.spooled())
		}
		p.with(func(f *publish.Folder) error {
			findings, _, err := f.Verify(context.Background())
			if len(findings) > 0 {
				t.Errorf("verify finds %v", findings)
			}
			return err
		})
		return r.report.Fetched
	}
	packed := install(packedFiles(func(n int, changed ...int) string { return deflated(t, n, changed...) }))
	twin := install(packedFiles(func(n int, changed ...int) string { return stored(t, n, changed...) }))
	if packed > twin+twin/50+200 {
		t.Errorf("deflated packs cost %d bytes, stored ones %d", packed, twin)
	}
}
