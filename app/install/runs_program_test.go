package install_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
)

// openRun opens an install of a game that is a program.
func openRun(t *testing.T, fsys platform.FS, trust install.Trust) *install.Dir {
	t.Helper()
	n := names()
	n.Ext = ".program"
	d, err := install.Open(context.Background(), install.Config{FS: fsys, Names: n, Trust: trust, Log: zerolog.Nop(), Now: later})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestForgedFileOfAProgram checks that every file of a game that is a program needs the trust of native code.
func TestForgedFileOfAProgram(t *testing.T) {
	for _, test := range []struct {
		trust     install.Trust
		algorithm release.Algorithm
		refused   bool
	}{
		{install.TrustNothing, release.SHA256, true}, {install.TrustSHA256, release.SHA256, false},
		{install.TrustSHA256, release.FNV1a64, true}, {install.TrustFNV, release.FNV1a64, false},
	} {
		d := openRun(t, newFolder(t).open(), test.trust)
		plan, err := d.Plan(context.Background(), update.Resources, offer(t, test.algorithm, packs("bin/lathe", "code")), func(string, int64, int64) {})
		if !test.refused && (err != nil || wanted(plan) != "bin/lathe") {
			t.Errorf("%q, %s: wants %q, %v", test.trust, test.algorithm, wanted(plan), err)
		}
		if test.refused {
			wantFault(t, string(test.trust), err, update.Untrusted)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestExecutablesOfAProgram checks that the files that a system can run may be run, in a game that is a program only.
func TestExecutablesOfAProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such right")
	}
	blobs := append(binaries("Lathe.program", "{1}"), packs("run.sh", "#!/bin/sh\n", "lathe", "\x7fELF code", "data", "data", "empty", "")...)
	f := newFolder(t)
	d := openRun(t, f.open(), install.TrustSHA256)
	if _, err := (start{mode: update.Binaries, blobs: blobs}).update(t, d); err != nil {
		t.Fatal(err)
	}
	if err := d.Promote(context.Background()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"run.sh": true, "lathe": true, "data": false, "empty": false} {
		info, err := os.Stat(filepath.Join(f.dir, "Resources", name))
		if err != nil || info.Mode()&0o111 != 0 != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// TestDeferSwap checks that a set in use stays live, whatever arrives, and that the next start uses the new one.
func TestDeferSwap(t *testing.T) {
	f := newFolder(t)
	start{mode: update.Binaries, blobs: append(binaries("Lathe.so", "module"), packs("a", "1", "dropped", "x")...), confirm: true}.must(f)
	before := f.tree()
	d, err := open(f.open(), false)
	if err != nil {
		t.Fatal(err)
	}
	d.DeferSwap()
	if _, err := (start{mode: update.Resources, blobs: append(binaries("Lathe.so", "module"), packs("a", "2")...)}).update(t, d); err != nil {
		t.Fatal(err)
	}
	if d.State() != install.Prepared || f.read("Resources/a") != "1" || f.read("Resources/dropped") != "x" {
		t.Errorf("state %s, was %s, is %s", d.State(), before, f.tree())
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	start{idle: true}.must(f)
	if f.read("Resources/a") != "2" || f.files()["Resources/dropped"] != "" {
		t.Errorf("the next start has %s", f.tree())
	}
}
