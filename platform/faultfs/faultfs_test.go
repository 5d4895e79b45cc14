package faultfs_test

import (
	"errors"
	"testing"

	"go.uber.org/goleak"

	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/fstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// conform runs the suite of the disk on volumes that fresh makes.
func conform(t *testing.T, fresh func() *faultfs.Disk) {
	t.Helper()
	fstest.Run(t, fstest.Fixture{
		Fresh: func(*testing.T) platform.FS { return fresh().Open(faultfs.Options{}) },
		Link: func(t *testing.T, fsys platform.FS, target, name string) {
			t.Helper()
			if err := fsys.(*faultfs.FS).Disk().Symlink(target, name); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// TestConforms runs the suite on each kind of volume.
func TestConforms(t *testing.T) {
	for name, cfg := range map[string]faultfs.Config{
		"ordinary":       {},
		"no exchange":    {NoExchange: true},
		"no inodes":      {NoInodes: true},
		"case is folded": {FoldCase: true},
	} {
		t.Run(name, func(t *testing.T) { conform(t, func() *faultfs.Disk { return faultfs.New(cfg) }) })
	}
}

// TestConformsAfterACut runs it on what a power cut left, and on a clone of that.
func TestConformsAfterACut(t *testing.T) {
	conform(t, func() *faultfs.Disk {
		disk := faultfs.New(faultfs.Config{})
		fsys := disk.Open(faultfs.Options{})
		if err := errors.Join(fsys.MkdirAll("gone", 0o755), disk.Plant("lock", ""), disk.Plant("a", "old")); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(fsys.Remove("a"), fsys.Remove("lock"), fsys.Remove("gone")); err != nil {
			t.Fatal(err)
		}
		return disk.Crash(faultfs.Keep(100, 1)).Clone()
	})
}
