package dashboard_test

import (
	"testing"

	"collet/netproto/adoption"
	"collet/netproto/beacon"
)

// reports are figures of a test.
type reports struct{}

// Adoption implements operator.Figures.
func (reports) Adoption(w adoption.Window) (adoption.Report, error) {
	saved, has := uint64(2_500_000), adoption.HasEntry("stable", "Linux-x64", 12)
	return adoption.Report{
		Window: w, Beacons: 345, Limited: 67,
		Releases: []adoption.Release{
			{Has: has, Starts: 75, Share: 0.75, Spread: []uint64{0, 1, 74}, Installs: 41, Confirmed: 9, Failed: 3, Updates: 12, Attempts: 4, Bytes: 1_200_000, Saved: &saved},
			{Has: adoption.Has{Channel: "beta", Target: "<b>", Release: adoption.Unknown}, Spread: []uint64{0, 0, 0}},
		},
		Outcomes: []adoption.Outcome{{Has: has, Kind: beacon.First, Outcome: beacon.Failed, Count: 3}},
	}, nil
}

// TestDashboardAdoption shows the figures of beacons where they are received, and says where they are not.
func TestDashboardAdoption(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	b.get(200, "/admin")
	b.lacks("/admin/adoption")
	b.get(404, "/admin/adoption")
	b.shows("This server receives no beacons: set Operations.Figures")
	o.Figures = reports{}
	b.get(200, "/admin")
	b.shows(`href="/admin/adoption"`)
	b.get(200, "/admin/adoption")
	b.shows("345", "67", ">12</th>", "75.0 %", "3 · 25.0 %", "1.2 MB", "2.5 MB", "first: failed", `aria-label="0 1 74"`, `<rect x="8" y="0" width="3" height="24"`, `<rect x="4" y="23" width="3" height="1"`)
	b.lacks("<b>", "Installs a day")
	b.get(200, "/admin/adoption?window=month")
	b.shows("Installs a day", ">41</td>")
	b.get(400, "/admin/adoption?window=year")
}
