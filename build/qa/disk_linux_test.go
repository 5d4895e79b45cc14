package qa_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/qa"
	"collet/build/qa/report"
	"collet/platform/testlevel"
)

// both lists the file systems whose power can be cut.
var both = []string{"ext4", "xfs"}

// disk runs Disk on a client with some habits. It skips the test if nothing can be mounted, and fails if a mount is left.
func disk(t *testing.T, habits string, o qa.DiskOptions) *report.Report {
	t.Helper()
	testlevel.Slow(t)
	l := mustOpenLab(t, habits)
	r, mounted := &report.Report{}, false
	o.Jobs = 4
	err := qa.Disk(t.Context(), l, o, func(done, total int, c report.Case) {
		r.Cases = append(r.Cases, c)
		mounted = mounted || c.State != report.Skipped
	})
	if err != nil {
		t.Fatal(err)
	}
	noMounts(t)
	if !mounted {
		t.Skip(r.Cases[0].Detail)
	}
	return r
}

// noMounts checks that no file system of a lab is mounted.
func noMounts(t *testing.T) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, scratchName()) || strings.Contains(line, filepath.Dir(t.TempDir())) {
			t.Errorf("still mounted: %s", line)
		}
	}
}

// named returns the cases whose name begins with name, and checks their number.
func named(t *testing.T, r *report.Report, name string, want int) *report.Report {
	t.Helper()
	found := &report.Report{}
	for _, c := range r.Cases {
		if strings.HasPrefix(c.Name, name) {
			found.Cases = append(found.Cases, c)
		}
	}
	if len(found.Cases) != want {
		t.Errorf("%q has %d cases, want %d", name, len(found.Cases), want)
	}
	return found
}

// TestDiskGood tries every kind of case on a correct client. In make test the command tries the real client.
func TestDiskGood(t *testing.T) {
	testlevel.Lab(t)
	r := disk(t, "brief pausing", qa.DiskOptions{Kinds: both, Sizes: 2, Cuts: 1, Faults: 1, Depth: 2, Seed: 1})
	if n := r.Count(); n.Violations > 0 {
		t.Errorf("%v\n%s", n, details(r))
	}
	full := named(t, r, "disk too small", 2)
	if first, last := full.Cases[0].Detail, full.Cases[1].Detail; !strings.Contains(first, "exit code 22") || !strings.Contains(last, "exit code 0") {
		t.Errorf("the sizes do not reach from too small to large enough: %q … %q", first, last)
	}
	named(t, r, "disk filled during the download", 2)
	if ro := named(t, r, "read-only disk", 1); !strings.Contains(ro.Cases[0].Detail, "exit code 23") {
		t.Error(ro.Cases[0].Detail)
	}
	if inodes := named(t, r, "no inodes left", 2); !strings.Contains(inodes.Cases[0].Detail, "exit code 22") {
		t.Error(inodes.Cases[0].Detail)
	}
	named(t, r, "power cut when the update is over", 4)
	cuts := named(t, r, "power cut at a random moment", 4)
	for i, fs := range []string{"ext4", "ext4", "xfs", "xfs"} {
		if got, _ := cuts.Cases[i].Param("fs"); got != fs {
			t.Errorf("cut %d is of %q, want %s", i, got, fs)
		}
	}
	if f := named(t, r, "fsync fails", 2); f.Cases[0].State == report.OK && !strings.Contains(f.Cases[0].Detail, "exit code 28") {
		t.Errorf("the injected error was not felt: %s", f.Cases[0].Detail)
	}
}

// TestDiskCatches plays clients with one fault each.
func TestDiskCatches(t *testing.T) {
	for _, test := range []struct {
		habits  string
		options qa.DiskOptions
		wants   map[string]string // what cases, by the beginning of their names, must tell
	}{
		{"brief mute", qa.DiskOptions{Sizes: 1}, map[string]string{
			"disk too small":  `the text does not say how much to free: "no room"`,
			"disk too small ": `the text does not say where to free it: "no room"`,
		}},
		{"brief wrong hasty", qa.DiskOptions{Sizes: 1}, map[string]string{
			"disk too small": "want exit code 22", "read-only disk": "want exit code 23", "no inodes left": "want exit code 22",
			"read-only disk ": "it began to fetch before it found out",
		}},
		{"halfway", qa.DiskOptions{Sizes: 1}, map[string]string{
			"disk too small": "after the run that failed: neither the old nor the new set",
		}},
		{"brief unsynced", qa.DiskOptions{Kinds: both}, map[string]string{
			"power cut when the update is over": "neither the old nor the new set",
		}},
	} {
		t.Run(test.habits, func(t *testing.T) {
			r := disk(t, test.habits, test.options)
			for name, want := range test.wants {
				told := &report.Report{}
				for _, c := range r.Cases {
					if c.State == report.Violation && strings.HasPrefix(c.Name, strings.TrimSpace(name)) {
						told.Cases = append(told.Cases, c)
					}
				}
				if !strings.Contains(details(told), want) {
					t.Errorf("%s: want violations that tell %q\n%s", name, want, details(r))
				}
			}
		})
	}
}

// TestDiskPoints cuts the power at every operation of a short update.
func TestDiskPoints(t *testing.T) {
	testlevel.Lab(t)
	r := disk(t, "brief", qa.DiskOptions{Kinds: both[:1], Points: self(t)})
	if n := r.Count(); n.Violations > 0 || n.Cases() < 30 {
		t.Errorf("%v\n%s", n, details(r))
	}
}

// TestDiskSkips checks that each skipped case names what it lacks.
func TestDiskSkips(t *testing.T) {
	disk(t, "brief", qa.DiskOptions{Sizes: 1}) // skips where nothing can be mounted at all
	l := mustOpenLab(t, "brief")
	t.Setenv("PATH", t.TempDir())
	wants := map[string]string{"power cut": "mkfs.", "fsync fails": "strace is needed"}
	err := qa.Disk(t.Context(), l, qa.DiskOptions{Kinds: both, Cuts: 1, Faults: 1}, func(_, _ int, c report.Case) {
		for name, want := range wants {
			if strings.HasPrefix(c.Name, name) && (c.State != report.Skipped || !strings.Contains(c.Detail, want)) {
				t.Errorf("%s: %s %q, want it skipped for %q", c.Title(), c.State, c.Detail, want)
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDiskInterrupted checks that an interrupted run leaves no mounts.
func TestDiskInterrupted(t *testing.T) {
	testlevel.Slow(t)
	l := mustOpenLab(t, "brief pausing")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cases := 0
	err := qa.Disk(ctx, l, qa.DiskOptions{Kinds: both, Cuts: 100, Jobs: 3}, func(_, _ int, c report.Case) {
		if cases++; cases == 4 { // among the cuts
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || cases > 60 {
		t.Errorf("%v after %d cases", err, cases)
	}
	noMounts(t)
}
