package install_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto/release"
	"collet/platform/testlevel"
)

// TestForgedModule checks that a module whose digest is too weak for the trust setting is never fetched, whatever the
// verdict and the reason for looking at the modules. The files stay unchanged.
func TestForgedModule(t *testing.T) {
	testlevel.Slow(t)
	honest := append(binaries("Lathe.so", "module 1", "Lathe.so.manifest.json", "{1}"), packs("Core.zip", "core")...)
	forged := append(binaries("Lathe.so", "module X", "Lathe.so.manifest.json", "{X}"), packs("Core.zip", "core")...)
	reasons := map[string]func(f folder, d *install.Dir){
		"usual":    func(folder, *install.Dir) {},
		"distrust": func(_ folder, d *install.Dir) { d.Distrust() },
		"damaged":  func(f folder, d *install.Dir) { f.write("Lathe.so", "module ?"); d.Distrust() },
		"missing":  func(f folder, d *install.Dir) { f.remove("Lathe.so"); d.Distrust() },
	}
	cases := 0
	for _, test := range []struct {
		trust     install.Trust
		algorithm release.Algorithm
		refused   bool
	}{
		{install.TrustNothing, release.FNV1a64, true}, {install.TrustNothing, release.SHA256, true}, {"release", release.SHA256, true},
		{install.TrustSHA256, release.FNV1a64, true}, {install.TrustSHA256, release.SHA256, false},
		{install.TrustFNV, release.FNV1a64, false}, {install.TrustFNV, release.SHA256, false},
	} {
		for _, mode := range []update.Mode{update.Resources, update.Binaries} {
			for _, reason := range slices.Sorted(maps.Keys(reasons)) {
				for _, how := range []string{"clean", "unclean", "verify"} {
					if cases++; cases%testlevel.Stride(5, 5) != 0 {
						continue // each is an install on a real disk
					}
					name := fmt.Sprintf("%q %s %s %s %s", test.trust, test.algorithm, mode, reason, how)
					f := newFolder(t)
					start{mode: update.Binaries, algorithm: test.algorithm, blobs: honest, confirm: true}.must(f)
					if how == "unclean" {
						f.write(".collet/open", "")
					}
					d, err := install.Open(context.Background(), install.Config{
						FS: f.open(), Names: names(), Trust: test.trust, Verify: how == "verify", Log: zerolog.Nop(), Now: later,
					})
					if err != nil {
						t.Fatal(name, err)
					}
					reasons[reason](f, d)
					before := f.tree()
					covered := mode == update.Binaries || reason != "usual" || how != "clean"
					plan, err := d.Plan(context.Background(), mode, offer(t, test.algorithm, forged), func(string, int64, int64) {})
					switch {
					case covered && test.refused:
						if fault := wantFault(t, name, err, update.Untrusted); fault.Subject != "Lathe.so" {
							t.Errorf("%s: it is about %q", name, fault.Subject)
						}
					case err != nil || covered != (wanted(plan) == "Lathe.so Lathe.so.manifest.json"):
						t.Errorf("%s: wants %q, %v", name, wanted(plan), err)
					}
					if covered && test.refused && f.tree() != before {
						t.Errorf("%s: left %s, was %s", name, f.tree(), before)
					}
					if err := d.Close(); err != nil {
						t.Error(name, err)
					}
				}
			}
		}
	}
}

// TestUntouchedModuleNeedsNoTrust checks that packs are accepted by any digest, and that a matching module stays without an
// error.
func TestUntouchedModuleNeedsNoTrust(t *testing.T) {
	f := newFolder(t)
	start{mode: update.Binaries, algorithm: release.FNV1a64, blobs: append(binaries("Lathe.so", "module"), packs("Core.zip", "core")...), confirm: true}.must(f)
	d, err := install.Open(context.Background(), install.Config{FS: f.open(), Names: names(), Verify: true, Log: zerolog.Nop(), Now: later})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	blobs := append(binaries("Lathe.so", "module"), packs("Core.zip", "core 2")...)
	plan, err := d.Plan(context.Background(), update.Binaries, offer(t, release.FNV1a64, blobs), func(string, int64, int64) {})
	if err != nil || wanted(plan) != "Core.zip" {
		t.Errorf("wants %q, %v", wanted(plan), err)
	}
}

// TestForgeableProgramAlone checks that the program itself is never accepted by a checksum, whatever the trust setting.
func TestForgeableProgramAlone(t *testing.T) {
	d, err := openProgram(newFolder(t).open(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	_, err = d.Plan(context.Background(), update.Binaries, offer(t, release.FNV1a64, binaries("Lathe", "program 2")), func(string, int64, int64) {})
	wantFault(t, "program by a checksum", err, update.Untrusted)
}

// TestForgedCompanion checks that a companion requires the same trust as the module, even if the module stays.
func TestForgedCompanion(t *testing.T) {
	module := binaries("Lathe.so", "module", "Lathe.so.manifest.json", "{1}")
	forged := binaries("Lathe.so", "module", "Lathe.so.manifest.json", "{X}")
	for _, trust := range []install.Trust{install.TrustNothing, install.TrustSHA256, install.TrustFNV} {
		f := newFolder(t)
		start{mode: update.Binaries, algorithm: release.FNV1a64, blobs: module, confirm: true}.must(f)
		d, err := install.Open(context.Background(), install.Config{FS: f.open(), Names: names(), Trust: trust, Log: zerolog.Nop(), Now: later})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := d.Plan(context.Background(), update.Binaries, offer(t, release.FNV1a64, forged), func(string, int64, int64) {})
		if trust == install.TrustFNV {
			if err != nil || wanted(plan) != "Lathe.so.manifest.json" {
				t.Errorf("%q: wants %q, %v", trust, wanted(plan), err)
			}
		} else if fault := wantFault(t, string(trust), err, update.Untrusted); fault.Subject != "Lathe.so.manifest.json" {
			t.Errorf("%q: it is about %q", trust, fault.Subject)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
