package publish_test

import (
	"slices"
	"testing"

	"collet/build/publish"
	"collet/netproto/release"
)

// TestANewFileLeavesThePatch: contents that share nothing with the old set, new ones and replaced ones, cost in a patch what
// their whole objects cost. They never take the patch of the other files away.
func TestANewFileLeavesThePatch(t *testing.T) {
	t.Parallel()
	const random = 600_000
	pack := noise(1, 30_000)
	one := small(1).with(tree{"Resources/Edited.zip": pack, "Resources/Packed.zip": noise(2, random)})
	edits := tree{"Resources/Edited.zip": pack[:10_000] + noise(3, 1_000) + pack[11_000:]}
	for name, more := range map[string]tree{
		"a new file":      {"Resources/New.zip": noise(4, random)},
		"a replaced file": {"Resources/Packed.zip": noise(5, random)},
		"a renamed file":  {"Resources/Renamed.zip": noise(2, random)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			s.publish(game(t, one), publish.Request{})
			two := one.with(edits).with(more)
			sum := s.publish(game(t, two), publish.Request{})
			p := sum.Releases[0].Patches
			limit := int64(random + random/1000 + 2_500)
			if name == "a renamed file" {
				limit = 2_500
			}
			if len(p) != 1 || p[0].Bytes == 0 || p[0].Bytes > limit {
				t.Fatalf("%+v, want a patch of at most %d bytes", p, limit)
			}
			if fresh := s.wants(query("stable", linux, 1), 2, two.setOf(linux)); !slices.ContainsFunc(fresh.head.Patches, func(r release.PatchRef) bool { return r.Object.Size == p[0].Bytes }) {
				t.Errorf("the head has %+v", fresh.head.Patches)
			}
		})
	}
	t.Run("nothing but new bytes", func(t *testing.T) {
		t.Parallel()
		s := newFixture(t)
		s.publish(game(t, one), publish.Request{})
		two := tree{"PlatformBinaries/Linux-x64/Lathe.so": noise(6, 9_000), "Resources/Packed.zip": noise(7, random)}
		if p := s.publish(game(t, two), publish.Request{}).Releases[0].Patches; len(p) != 1 || p[0].Bytes != 0 {
			t.Errorf("%+v, want no patch", p)
		}
	})
}
