package release_test

import (
	"crypto/sha256"
	"testing"

	"collet/netproto/release"
)

func TestAnnouncedDigests(t *testing.T) {
	t.Parallel()
	if got := release.SolidFrom(); got != release.SHA256Digest(sha256.Sum256([]byte("collet solid 1\n"))) {
		t.Errorf("the solid form is announced by %v", got)
	}
	old := release.ObjectOf([]byte("listing")).Sum
	if got := release.ExpandedFrom(old); got != release.SHA256Digest(sha256.Sum256([]byte("collet expanded 1\n"+old.Hex()))) {
		t.Errorf("an expanded set patch is announced by %v", got)
	}
	object := release.ObjectOf([]byte("index"))
	head := release.Head{Patches: []release.PatchRef{{From: release.SolidFrom(), Object: object}}}
	if got, found := head.Solid(); !found || got != object {
		t.Errorf("the head announces %v, %v", got, found)
	}
	head.Patches = append(head.Patches, release.PatchRef{From: release.ExpandedFrom(old), Object: object})
	if got, found := head.ExpandedFrom(old); !found || got != object {
		t.Errorf("the head announces %v, %v", got, found)
	}
	if _, found := head.ExpandedFrom(release.SolidFrom()); found {
		t.Error("the head announces an expanded set patch from another listing")
	}
	head.Patches = append(head.Patches, release.PatchRef{From: old, Object: object})
	if n := head.PatchCount(); n != 1 {
		t.Errorf("%d patches", n)
	}
	if _, found := (release.Head{}).Solid(); found {
		t.Error("an empty head announces a solid form")
	}
}
