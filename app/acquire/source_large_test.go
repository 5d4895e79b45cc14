package acquire_test

import (
	"context"
	"strings"
	"testing"

	"collet/app/acquire"
	"collet/app/update"
	"collet/build/publish"
	"collet/netproto/delta"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// TestLargePatch is about a set patch that is not fetched in one go.
func TestLargePatch(t *testing.T) {
	testlevel.Lab(t)
	p := newPublisher(t)
	old := tree{"Lathe.so": prose(1, 50_000), "Big.zip": noise(2, 3_000_000)}
	p.publish(1, old, publish.Request{})
	p.publish(2, tree{"Lathe.so": edited(old["Lathe.so"], 1), "Big.zip": old["Big.zip"][:1_800_000] + noise(3, 1_200_000)}, publish.Request{})
	patch := p.head(2).Patches[0].Object
	if patch.Size <= delta.MaxComputedPatch {
		t.Fatalf("the patch has only %d bytes", patch.Size)
	}
	for name, story := range map[string]func(*testing.T, *publisher){
		"no room": func(t *testing.T, p *publisher) {
			c := newClient(t, p, p.mirror()).at(1)
			c.disk.ClaimFree(50_000 + 3_000_000 + 16<<20 + 100_000)
			r := c.run()
			c.wantOutcome(r, update.BinariesStaged, update.NoCause)
			c.holds(2)
			if r.report.Bytes[acquire.Patched] != 0 || !strings.Contains(c.log.String(), "there is no room for the patch") {
				t.Errorf("%v", r)
			}
		},
		"goes on where it stopped": func(t *testing.T, p *publisher) {
			mirror := p.mirror()
			c := newClient(t, p, mirror).at(1)
			mirror.forget()
			ctx, cancel := context.WithCancel(t.Context())
			fsys := c.disk.Open(faultfs.Options{After: func(o faultfs.Op) {
				if strings.Contains(o.Name, "spool/") && strings.HasSuffix(o.Name, ".unverified") && mirror.taken() > 300_000 {
					cancel()
				}
			}})
			if r, err := c.try(ctx, fsys); err != nil || r.status.Outcome != update.Cancelled {
				t.Fatalf("%v, %v", r, err)
			}
			r := c.run()
			c.wantOutcome(r, update.BinariesStaged, update.NoCause)
			c.holds(2)
			if r.report.Bytes[acquire.Patched] == 0 || r.report.Fetched > patch.Size-200_000 {
				t.Errorf("%v", r)
			}
		},
		"a damaged patch": func(t *testing.T, p *publisher) {
			mirror := p.mirror()
			c := newClient(t, p, mirror).at(1)
			mirror.bend = func(name string, data []byte) []byte {
				if name == patch.Path() {
					data[len(data)/2] ^= 1
				}
				return data
			}
			r := c.run()
			c.wantOutcome(r, update.BinariesStaged, update.NoCause)
			c.holds(2)
			if r.report.Bytes[acquire.Patched] != 0 || r.status.Attempt != 1 {
				t.Errorf("%v, %d attempts", r, r.status.Attempt)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { story(t, p.clone(t)) })
	}
}
