package compat_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/netproto/compat"
)

// TestDeclaredCheck is what a build may say about itself.
func TestDeclaredCheck(t *testing.T) {
	for _, e := range []struct {
		name   string
		change func(d *compat.Declared)
		fields []string
	}{
		{"nothing", func(*compat.Declared) {}, nil},
		{"no versions", func(d *compat.Declared) { *d = compat.Declared{Compatibility: compat.Derived(7, 1)} }, nil},
		{"a negative version", func(d *compat.Declared) { d.Supported.Min = -1 }, []string{"supported"}},
		{"ends crossed", func(d *compat.Declared) { d.Supported = compat.Range{Min: 9, Max: 8} }, []string{"supported", "logic"}},
		{"all versions there are", func(d *compat.Declared) { d.Supported = compat.Range{Max: 1<<31 - 1} }, []string{"supported"}},
		{"as many as are possible", func(d *compat.Declared) { d.Supported = compat.Range{Min: 1, Max: compat.MaxVersions} }, nil},
		{"its own is not supported", func(d *compat.Declared) { d.Build.Logic = 9 }, []string{"logic"}},
		{"a custom version that looks derived", func(d *compat.Declared) { d.Compatibility = compat.Derived(7, 1) }, []string{"compatibility"}},
		{"names that are too long", func(d *compat.Declared) {
			d.Build.ID, d.Build.Branch = strings.Repeat("x", 65), strings.Repeat("x", 33)
		}, []string{"build.id", "build.branch"}},
		{"names that can't be shown", func(d *compat.Declared) { d.Build.ID, d.Build.Branch = "\x1b[2J", "a\nb" }, []string{"build.id", "build.branch"}},
	} {
		d := declared()
		e.change(&d)
		if err := d.Check(); !slices.Equal(mistakes(err), e.fields) {
			t.Errorf("%s: %v, want mistakes of %v", e.name, err, e.fields)
		}
	}
}

// TestDefaults: a production server enforces and hides, a developer's tells everything; both let in what they support.
func TestDefaults(t *testing.T) {
	d := declared()
	s := compat.Defaults(d)
	if s.Revision != 1 || s.Active() != supported || s.Components != compat.PolicyEnforce || s.Manifest != compat.ManifestNone || s.AutoUpgrade || !s.Maintenance.AllowDownload {
		t.Errorf("%+v", s)
	}
	d.Development = true
	if s := compat.Defaults(d); s.Components != compat.PolicyWarn || s.Manifest != compat.ManifestFull || !s.AutoUpgrade {
		t.Errorf("a developer's: %+v", s)
	}
	d.Versioned = false
	if s := compat.Defaults(d); s.Active() != (compat.Range{Min: compat.NoLogic, Max: compat.NoLogic}) {
		t.Errorf("without a logic version: %+v", s)
	}
	for _, d := range []compat.Declared{declared(), d, {}} {
		if err := compat.Defaults(d).Check(d); err != nil {
			t.Errorf("%+v: the defaults are wrong: %v", d, err)
		}
	}
}

// TestSnapshot: all of the settings and of the build are in it, and it shares no memory that can be written to.
func TestSnapshot(t *testing.T) {
	s, d := everything(), declared()
	now := s.Maintenance.Until.Add(-10 * time.Minute)
	want := &compat.Snapshot{
		Revision: 12, Compatibility: "L8-0000000000000088", Content: "packs-2", Versioned: true, Supported: supported, Active: active, Components: 0x88,
		Baselines: map[int32]uint64{5: 0x55, 6: 0x66, 7: 0x77, 8: 0x88},
		Build:     compat.Build{Logic: 8, Components: 0x88, Seq: 841, Time: 1_772_460_300, ID: "server-8", Branch: "main", Compatibility: "L8-0000000000000088"},
		Policy:    compat.PolicyEnforce, Manifest: compat.ManifestHashes, PatchRules: everything().PatchRules, Redirect: &endpoint,
		Maintenance: true, Targeted: []string{"iOS-*", "Windows-win64"}, AllowFetch: true, RetryAfter: 600, Until: s.Maintenance.Until,
		Targets: map[string]compat.Target{ // the newest first
			"Windows-win64": {Payloads: []compat.Payload{{Logic: 8, Components: 0x88}, {Logic: 7, Components: 0x77, Patch: 2}, {Logic: 7, Components: 0x77}, {Logic: 6, Components: 0x66}}},
			"iOS-arm64":     {Store: true}, "Linux-arm64": {},
		},
		StoreURLs: everything().StoreURLs, Messages: everything().Messages, Developers: map[string]bool{"ada": true, "grace": true},
	}
	got := d.Snapshot(s, now)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\n%+v", got, want)
	}
	s.PatchRules[0].Logic, s.Maintenance.Targets[0], s.Messages["P-MAINT"], s.StoreURLs["*"], s.Developers[0] = 1, "x", "x", "x", "x"
	d.Baselines[5], d.Targets["Windows-win64"].Payloads[0] = 1, compat.Payload{}
	d.Targets["x"] = compat.Target{}
	if !reflect.DeepEqual(got, want) {
		t.Error("it changed with what it was made of")
	}
	fresh := declared().Snapshot(everything(), time.Time{})
	if fresh.Build.Seq == 0 || reflect.DeepEqual(fresh, d.Snapshot(s, now)) {
		t.Error("what was changed doesn't count")
	}
}

// TestSnapshotBaselines: unknown ones are none, and the server's own is what it was built from.
func TestSnapshotBaselines(t *testing.T) {
	d := declared()
	d.Baselines = map[int32]uint64{5: 0, 6: 0x66, 8: 0x80}
	got := d.Snapshot(compat.Defaults(d), time.Time{}).Baselines
	if want := map[int32]uint64{6: 0x66, 8: 0x88}; !reflect.DeepEqual(got, want) {
		t.Errorf("%x", got)
	}
	d.Build.Components = 0
	if got = d.Snapshot(compat.Defaults(d), time.Time{}).Baselines; got[8] != 0x80 {
		t.Errorf("without components of its own: %x", got)
	}
}

// TestCompatibilityVersion: the game's own, or one that is derived, or nothing.
func TestCompatibilityVersion(t *testing.T) {
	for _, e := range []struct {
		d      compat.Declared
		want   string
		custom bool
	}{
		{declared(), "L8-0000000000000088", false},
		{compat.Declared{Versioned: true, Compatibility: "game-8"}, "game-8", true},
		{compat.Declared{Compatibility: "game-8"}, "game-8", true},
		{compat.Declared{}, "", true},
	} {
		if got, custom := e.d.CompatibilityVersion(); got != e.want || custom != e.custom {
			t.Errorf("%q, custom %v, want %q, %v", got, custom, e.want, e.custom)
		}
	}
}
