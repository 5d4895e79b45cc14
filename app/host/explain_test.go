package host

import (
	"strings"
	"syscall"
	"testing"

	"collet/app/diskfault"
	"collet/app/update"
	"collet/assets"
	"collet/platform"
)

// TestFullDiskIsExplained: a full disk is explained with the needed and the free bytes and a remedy.
func TestFullDiskIsExplained(t *testing.T) {
	const gb = 1_000_000_000
	h := hostWith(setup{texts: assets.TextsFor("en")})
	for _, test := range []struct {
		name string
		err  error
		says []string
	}{
		{"known", &diskfault.SpaceError{Volume: "/games", Need: 3 * gb, Free: gb, Err: syscall.ENOSPC}, []string{"3.0 GB", "1.0 GB", "2.0 GB", "/games"}},
		{"free unknown", &diskfault.SpaceError{Volume: "/games", Need: 3 * gb, Free: -1, Err: syscall.ENOSPC}, []string{"Not enough disk space", "/games/Lathe", "Free some space"}},
		{"no inodes", &diskfault.SpaceError{Volume: "/games", Need: gb, Free: 3 * gb, Err: syscall.ENOSPC}, []string{"No room for more files", "inodes", "removing files"}},
		{"no inodes, size unknown", &diskfault.SpaceError{Volume: "/games", Need: -1, Free: 3 * gb, Err: syscall.ENOSPC}, []string{"No room for more files", "inodes", "removing files"}},
		{"size unknown", &diskfault.SpaceError{Volume: "/games", Need: -1, Free: 1000, Err: syscall.ENOSPC}, []string{"Not enough disk space", "/games/Lathe", "Free some space"}},
	} {
		text := h.explain(outcomeOf(&update.Fault{Cause: update.DiskFull, Subject: "/games/Lathe", Err: test.err}))
		for _, want := range test.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: nothing is said of %q:\n%s", test.name, want, text)
			}
		}
		if strings.Contains(text, "-1") || strings.Contains(text, "no space left on device") {
			t.Errorf("%s: not for a player:\n%s", test.name, text)
		}
	}
}

// TestWhatIsInTheWayIsNoFaultOfTheDisk: the headline, the place and the next step are about what stands there.
func TestWhatIsInTheWayIsNoFaultOfTheDisk(t *testing.T) {
	h := hostWith(setup{texts: assets.TextsFor("en")})
	text := h.explain(outcomeOf(&update.Fault{
		Cause: update.DiskFault, Subject: "/games/Lathe/Cache",
		Err: &platform.ObstacleError{Path: "/games/Lathe/Cache", Err: syscall.ENOTDIR},
	}))
	for _, want := range []string{"Something is in the way", "/games/Lathe/Cache", "Move it away"} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing is said of %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "errors") {
		t.Errorf("speaks of a broken disk:\n%s", text)
	}
}
