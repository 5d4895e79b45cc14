package catalogue

import (
	"testing"

	"collet/netproto/release"
)

// TestNamedReleases: only the newest releases of each track have a name of their own.
func TestNamedReleases(t *testing.T) {
	t.Parallel()
	var entries []release.Entry
	for _, channel := range []string{"stable", "beta"} {
		for n := range uint64(maxNamedReleases + 3) {
			entries = append(entries, release.Entry{Product: "lathe", Channel: channel, Target: "Linux-x64", Number: n + 1})
		}
	}
	var f Folder
	f.findHavings(entries, "stable")
	for n, want := range map[uint64]string{0: HasNone, 1: HasOlder, 3: HasOlder, 4: "4", maxNamedReleases + 3: "19"} {
		e := release.Entry{Product: "lathe", Channel: "beta", Target: "Linux-x64", Number: n}
		has, is := f.Asks(e.PackedSequelPath())
		if also, _ := f.Asks(e.RelativeSequelPath()); n > 0 && also != has {
			t.Errorf("release %d: %v by its relative sequel, %v by its packed one", n, also, has)
		}
		if !is || has != (Having{"lathe", "beta", "Linux-x64", want}) {
			t.Errorf("release %d is %+v, %t", n, has, is)
		}
	}
	for n, want := range map[uint64]string{0: HasUnknown, 1: HasOlder, 4: "4", maxNamedReleases + 4: HasUnknown} {
		if name, known := f.NameOf("beta", "Linux-x64", n); name != want || !known {
			t.Errorf("release %d is named %q, %t", n, name, known)
		}
	}
	for _, track := range [][2]string{{"gamma", "Linux-x64"}, {"beta", "Linux-x65"}} {
		if name, known := f.NameOf(track[0], track[1], 4); known {
			t.Errorf("%v: %q", track, name)
		}
	}
	if all := f.Havings(); len(all) != 2*(maxNamedReleases+2) {
		t.Errorf("%d: %v", len(all), all)
	}
}
