package acquire

import (
	"testing"

	"collet/netproto/compat"
	"collet/netproto/release"
	"collet/netproto/release/trust"
)

// pair is the release 8 beside the installed release 7.
func pair() connected {
	sum := func(n byte) release.Digest { return release.SHA256Digest([32]byte{n}) }
	c := connected{installed: installedRelease{Product: "lathe", Channel: "beta", Target: "linux", Number: 7, Head: object{sum(7), 70}}}
	c.installed.Listing = object{sum(17), 700}
	c.old = release.Listing{{Path: "Core.zip"}}
	c.head = release.Head{Number: 8, Compatibility: "L8"}
	c.head.Listing.Sum = sum(18)
	return c
}

func TestKeepsInstalled(t *testing.T) {
	same := release.Entry{Number: 7, Head: release.Object(pair().installed.Head)}
	other := same
	other.Head.Size++
	for _, test := range []struct {
		name          string
		unknown       bool
		entry         release.Entry
		fresh, listed bool
		want          bool
	}{
		{"the offered release is installed", false, same, true, true, true},
		{"another release is offered", false, release.Entry{Number: 8}, true, true, false},
		{"another head of the same number", false, other, true, true, false},
		{"no release is listed any more", false, release.Entry{}, true, false, true},
		{"newer releases may be withheld", false, release.Entry{Number: 8}, false, true, true},
		{"the installed release is not known", true, same, true, true, false},
		{"the installed release is not known, and the list is stale", true, release.Entry{Number: 8}, false, true, false},
	} {
		c := pair()
		if test.unknown {
			c.old = nil
		}
		answer := trusted{Current: trust.Current{Choice: release.Choice{Entry: test.entry, Listed: test.listed}, Fresh: test.fresh}}
		if got := c.keepsInstalled(answer); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
		used := c.entry(answer)
		if test.want && (used.Number != 7 || used.Channel != "beta" || used.Head != same.Head) || !test.want && used != test.entry {
			t.Errorf("%s: uses %+v", test.name, used)
		}
	}
}

func TestJudgement(t *testing.T) {
	accept := &compat.Judgement{Verdict: compat.Accept, Revision: 3, Floor: 5}
	outdated := &compat.Judgement{Verdict: compat.UpdateBinaries, Revision: 3, Floor: 5}
	for _, test := range []struct {
		name              string
		server            *compat.Judgement
		current, renewing bool
		lacksModule       bool
		want              compat.Verdict
		revision, floor   bool
	}{
		{"mirrors alone, current", nil, true, false, false, compat.Accept, false, false},
		{"mirrors alone, another release", nil, false, false, false, compat.UpdateResources, false, false},
		{"a damaged module", nil, true, false, true, compat.UpdateBinaries, false, false},
		{"another module", accept, false, false, true, compat.UpdateBinaries, true, false},
		{"the server accepts, and the release is current", accept, true, false, false, compat.Accept, true, false},
		{"the server accepts an older release", accept, false, false, false, compat.UpdateResources, true, false},
		{"the server needs another module", outdated, true, false, false, compat.UpdateBinaries, true, true},
		{"the program comes first", outdated, false, true, true, compat.UpdateResources, true, true},
	} {
		c := pair()
		if c.renewing = test.renewing; test.current {
			c.head.Listing.Sum = c.installed.Listing.Sum
		}
		j := c.judgement(test.server, test.lacksModule)
		if j.Verdict != test.want || j.Compatibility != "L8" || (j.Revision != 0) != test.revision || (j.Floor != 0) != test.floor {
			t.Errorf("%s: %+v", test.name, j)
		}
	}
}
