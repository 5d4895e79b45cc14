package acquire_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"collet/app/acquire"
	"collet/app/diskfault"
	"collet/app/download"
	"collet/app/update"
	"collet/build/publish"
	"collet/netproto/deflate"
	"collet/netproto/release"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// deflated is a pack of n texts, compressed as zlib does at its usual level. The texts of changed have a word more.
func deflated(t testing.TB, n int, changed ...int) string {
	return packOf(t, zip.Deflate, n, changed...)
}

// stored is the same pack stored.
func stored(t testing.TB, n int, changed ...int) string { return packOf(t, zip.Store, n, changed...) }

func packOf(t testing.TB, method uint16, n int, changed ...int) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range n {
		text := prose(uint64(i), 300+i*611%20_000)
		for _, c := range changed {
			if c == i {
				text = text[:len(text)/2] + "a word more" + text[len(text)/2:]
			}
		}
		var packed bytes.Buffer
		if method == zip.Deflate {
			must(t, deflate.Encode(&packed, strings.NewReader(text), deflate.Params{Level: 6, MemLevel: 8}))
		} else {
			packed.WriteString(text)
		}
		out, err := w.CreateRaw(&zip.FileHeader{Name: fmt.Sprintf("scripts/%03d.lua", i), Method: method, CompressedSize64: uint64(packed.Len()), UncompressedSize64: uint64(len(text))})
		must(t, err)
		_, err = out.Write(packed.Bytes())
		must(t, err)
	}
	must(t, w.Close())
	return b.String()
}

// packs is a publisher with two releases: two deflated packs and loose files change.
func packs(t testing.TB) *publisher {
	t.Helper()
	p := newPublisher(t)
	one := tree{"Lathe.so": prose(70, 30_000), "Core.zip": deflated(t, 60), "Maps.zip": deflated(t, 30), "Same.zip": deflated(t, 5), "Note.txt": prose(71, 5000)}
	p.publish(1, one, publish.Request{})
	p.publish(2, one.with(tree{"Core.zip": deflated(t, 60, 7, 30), "Maps.zip": deflated(t, 30, 2), "Note.txt": prose(71, 5000) + "more", "New.txt": prose(72, 900)}), publish.Request{})
	return p
}

// expanded is the expanded set patch of a release from the one before.
func (p *publisher) expanded(number uint64) release.Object {
	p.t.Helper()
	o, found := p.head(number).ExpandedFrom(p.head(number - 1).Listing.Sum)
	if !found {
		p.t.Fatalf("release %d has no expanded patch", number)
	}
	return o
}

// formFiles counts the forms that lie in an install.
func (c *client) formFiles() (n int) {
	for name := range c.disk.Files() {
		if strings.HasPrefix(name, "Cache/release/expanded") {
			n++
		}
	}
	return n
}

func TestExpanded(t *testing.T) {
	t.Parallel()
	p := packs(t)
	o := p.expanded(2)
	patch, found := p.head(2).PatchFrom(p.head(1).Listing.Sum)
	if !found || o.Size*2 > patch.Size {
		t.Fatalf("the expanded patch has %d bytes, the other one %d", o.Size, patch.Size)
	}
	for name, mirror := range map[string]*folderMirror{"by sequel": p.mirror(), "by name": p.bareMirror()} {
		c := newClient(t, p, mirror).at(1)
		r := c.run()
		c.wantOutcome(r, update.ResourcesReady, update.NoCause)
		c.holds(2)
		if r.report.Bytes[acquire.Expanded] == 0 || r.report.Bytes[acquire.Patched]+r.report.Bytes[acquire.Entire]+r.report.Bytes[acquire.Chunked] > 0 {
			t.Errorf("%s: %v", name, r)
		}
		if mirror.count(patch.Path()) > 0 || c.spooled() > 0 || c.formFiles() > 0 {
			t.Errorf("%s: the other patch is requested, or %d files in the spool and %d forms stay", name, c.spooled(), c.formFiles())
		}
		if r.report.Fetched > o.Size+6000 {
			t.Errorf("%s: %d bytes for a patch of %d", name, r.report.Fetched, o.Size)
		}
	}
}

// TestExpandedEstimate: the estimate is what a client takes.
func TestExpandedEstimate(t *testing.T) {
	t.Parallel()
	p := packs(t)
	o := p.expanded(2)
	p.with(func(f *publish.Folder) error {
		list, err := f.Estimate(context.Background(), "stable", target, 1, 2, acquire.Link{})
		if err == nil && (len(list) != 1 || list[0].Takes != acquire.Expanded || list[0].Cost.Bytes != list[0].Lists+o.Size || list[0].Lists < 1000 || list[0].Expanded.Bytes != o.Size) {
			t.Errorf("%+v", list)
		}
		return err
	})
	p.with(func(f *publish.Folder) error {
		findings, _, err := f.Verify(context.Background())
		if len(findings) > 0 {
			t.Errorf("verify finds %v", findings)
		}
		plan, planErr := f.PlanCollect(context.Background(), 0)
		for _, r := range plan.Remove {
			if r.Name == o.Path() {
				t.Errorf("collect removes %s", r.Name)
			}
		}
		return errors.Join(err, planErr)
	})
}

// TestExpandedRefused: if the expanded patch can't be had, or an old pack is damaged, the other strategies take over.
func TestExpandedRefused(t *testing.T) {
	t.Parallel()
	p := packs(t)
	o := p.expanded(2)
	for name, prepare := range map[string]func(*client, *folderMirror){
		"it is missing": func(_ *client, m *folderMirror) {
			m.spoil = func(name string, _ int64) error {
				if name == o.Path() {
					return &download.MissingError{Mirror: m.name, Name: name}
				}
				return nil
			}
		},
		"it is damaged": func(_ *client, m *folderMirror) {
			m.bend = func(name string, data []byte) []byte {
				if name == o.Path() {
					data[len(data)/2] ^= 1
				}
				return data
			}
		},
		"a pack is missing":            func(c *client, _ *folderMirror) { remove(t, c.disk, "Resources/Core.zip") },
		"a pack is damaged":            func(c *client, _ *folderMirror) { plant(t, c.disk, "Resources/Core.zip", deflated(t, 60, 9)) },
		"a pack is damaged, unnoticed": func(c *client, _ *folderMirror) { rotPack(t, c, "Resources/Core.zip") },
	} {
		mirror := p.bareMirror()
		c := newClient(t, p, mirror).at(1)
		prepare(c, mirror)
		r := c.run()
		c.wantOutcome(r, update.ResourcesReady, update.NoCause)
		c.holds(2)
		if c.formFiles() > 0 {
			t.Errorf("%s: %d forms stay", name, c.formFiles())
		}
		if strings.HasPrefix(name, "it is") && r.report.Bytes[acquire.Expanded] > 0 {
			t.Errorf("%s: %v", name, r)
		}
	}
}

// rotPack changes a byte in the last stream of a pack.
func rotPack(t testing.TB, c *client, name string) {
	t.Helper()
	data := []byte(c.disk.Files()[name])
	data[bytes.Index(data, []byte("PK\x01\x02"))-20] ^= 0x55
	rot(t, c.disk, name, data)
}

// TestExpandedStops stops the client at the operations of its disk, without losing a bit: the next start goes on, and nothing stays.
func TestExpandedStops(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	p := packs(t)
	stopEverywhere(t, p, newClient(t, p, p.mirror()).at(1), 2, testlevel.Stride(23, 80))
}

// stopEverywhere plays the update of a client to a release, and stops it at every stride-th operation. Every second stop is inside of the
// operation, and every third one loses half of what was not synced. The next starts go on, and no forms stay.
func stopEverywhere(t *testing.T, p *publisher, template *client, number uint64, stride int) {
	t.Helper()
	c := newClient(t, p, template.mirrors...)
	c.disk, c.change = template.disk.Clone(), template.change
	whole := c.disk.Open(faultfs.Options{})
	_, err := c.try(context.Background(), whole)
	must(t, err)
	ops := whole.Count()
	for k := 1; k < ops; k += stride {
		c := newClient(t, p, template.mirrors...)
		c.disk, c.change = template.disk.Clone(), template.change
		fsys := c.disk.Open(faultfs.Options{})
		if k%2 == 1 {
			fsys.StopInside(k)
		} else {
			fsys.StopBefore(k)
		}
		_, _ = c.try(context.Background(), fsys) // whatever it says, the process has ended
		if k%3 == 0 {
			c.disk = c.disk.Crash(faultfs.Keep(50, uint64(k)))
		}
		c.run()
		c.run() // the newest release is live; a leftover of the first start goes here at the latest
		c.holds(number)
		if c.formFiles() > 0 {
			t.Fatalf("stopped at operation %d of %d: %d forms stay", k, ops, c.formFiles())
		}
	}
}

// TestExpandedRoom: without room for the forms, another strategy is used.
func TestExpandedRoom(t *testing.T) {
	t.Parallel()
	p := packs(t)
	o := p.expanded(2)
	parts := int64(0)
	for name, content := range p.sets[2] {
		if p.sets[1][name] != content {
			parts += int64(len(content))
		}
	}
	for _, room := range []bool{false, true} {
		mirror := p.mirror()
		c := newClient(t, p, mirror).at(1)
		free := parts + o.Size + diskfault.Reserve + 100_000
		if room {
			free += 2_000_000
		}
		c.disk.ClaimFree(uint64(free))
		r := c.run()
		c.wantOutcome(r, update.ResourcesReady, update.NoCause)
		c.holds(2)
		if used := r.report.Bytes[acquire.Expanded] > 0; used != room {
			t.Errorf("room: %t, %v", room, r)
		}
	}
}
