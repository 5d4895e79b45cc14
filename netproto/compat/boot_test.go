package compat_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"collet/netproto/compat"
	"collet/platform/testlevel"
)

// stored are settings that an operator left behind.
func stored(lo, hi int32, change ...func(*compat.Settings)) *compat.Settings {
	s := compat.Defaults(declared())
	s.Revision, s.ActiveMin, s.ActiveMax = 12, lo, hi
	for _, f := range change {
		f(&s)
	}
	return &s
}

// TestT7Boot is the table of start-up, without what only a store can do.
func TestT7Boot(t *testing.T) {
	auto := func(s *compat.Settings) { s.AutoUpgrade = true }
	rules := func(logics ...int32) func(*compat.Settings) {
		return func(s *compat.Settings) {
			for _, l := range logics {
				s.PatchRules = append(s.PatchRules, compat.PatchRule{Logic: l, MinPatch: 2})
			}
		}
	}
	unversioned := func(d *compat.Declared) { d.Versioned = false }
	for _, e := range []struct {
		name     string
		stored   *compat.Settings
		build    func(*compat.Declared)
		accept   bool
		active   compat.Range
		revision uint64
		changes  string // "step actor keys", one after another
	}{
		{"B1: nothing stored", nil, nil, false, compat.Range{Min: 5, Max: 8}, 1, "B1 boot active_min active_max"},
		{"nothing to do", stored(6, 7), nil, false, compat.Range{Min: 6, Max: 7}, 12, ""},
		{"dormant without auto_upgrade", stored(5, 7), nil, false, compat.Range{Min: 5, Max: 7}, 12, ""},
		{"B3: the minimum is raised", stored(3, 7), nil, false, compat.Range{Min: 5, Max: 7}, 13, "B3 boot-forced active_min"},
		{"B3: and the maximum with it", stored(2, 4), nil, false, compat.Range{Min: 5, Max: 5}, 13, "B3 boot-forced active_max active_min; B7"},
		{"B3: and their rules go", stored(3, 7, rules(3, 6, 4)), nil, false, compat.Range{Min: 5, Max: 7}, 13, "B3 boot-forced active_min; B3 boot-forced patch_rules"},
		{"B4: accepted", stored(6, 9), nil, true, compat.Range{Min: 6, Max: 8}, 13, "B4 boot-forced active_max"},
		{"B4: accepted, with the minimum", stored(9, 10, auto), nil, true, compat.Range{Min: 8, Max: 8}, 13, "B4 boot-forced active_max active_min"},
		{"B4: accepted, and its rules go", stored(6, 9, rules(9)), nil, true, compat.Range{Min: 6, Max: 8}, 13, "B4 boot-forced active_max; B4 boot-forced patch_rules"},
		{"B3 and B4 at once", stored(3, 9), nil, true, compat.Range{Min: 5, Max: 8}, 13, "B3 boot-forced active_min; B4 boot-forced active_max"},
		{"an option that nothing asks for", stored(6, 7), nil, true, compat.Range{Min: 6, Max: 7}, 12, ""},
		{"B5: the maximum is raised, and nothing else", stored(6, 7, auto), nil, false, compat.Range{Min: 6, Max: 8}, 13, "B5 boot-auto active_max"},
		{"B5: nothing to raise", stored(6, 8, auto), nil, false, compat.Range{Min: 6, Max: 8}, 12, ""},
		{"B3, then B5", stored(2, 4, auto), nil, false, compat.Range{Min: 5, Max: 8}, 13, "B3 boot-forced active_max active_min; B5 boot-auto active_max"},
		{"B6: a baseline is missing", stored(6, 7), func(d *compat.Declared) { delete(d.Baselines, 6) }, false, compat.Range{Min: 6, Max: 7}, 12, "B6"},
		{"B6: of a version that is not active", stored(6, 7), func(d *compat.Declared) { delete(d.Baselines, 5) }, false, compat.Range{Min: 6, Max: 7}, 12, ""},
		{"B6: the build is not what was released", stored(6, 7), func(d *compat.Declared) { d.Baselines[8] = 1 }, false, compat.Range{Min: 6, Max: 7}, 12, "B6"},
		{"B7: only modules that no client may have", stored(6, 6), func(d *compat.Declared) {
			d.Targets["Linux-x64"] = compat.Target{Payloads: []compat.Payload{{Logic: 7, Components: 0x77}, {Undeclared: true}}}
		}, false, compat.Range{Min: 6, Max: 6}, 12, "B7"},
		{"the server had no logic version", stored(compat.NoLogic, compat.NoLogic), nil, false, compat.Range{Min: 5, Max: 8}, 13, "B1 boot active_max active_min"},
		{"it has none", stored(compat.NoLogic, compat.NoLogic), unversioned, false, compat.Range{Min: compat.NoLogic, Max: compat.NoLogic}, 12, ""},
		{"it has none any more, which was accepted", stored(6, 7, rules(6), func(s *compat.Settings) { s.Redirect = everything().Redirect }), unversioned, true,
			compat.Range{Min: compat.NoLogic, Max: compat.NoLogic}, 13, "B4 boot-forced active_max active_min; B4 boot-forced redirect.enabled; B4 boot-forced patch_rules"},
	} {
		t.Run(e.name, func(t *testing.T) {
			d := declared()
			if e.build != nil {
				e.build(&d)
			}
			s, changes, err := compat.Boot(e.stored, d, compat.BootOptions{AcceptRollback: e.accept, LastBuild: "server-9"})
			if err != nil {
				t.Fatal(err)
			}
			var told []string
			for _, c := range changes {
				told = append(told, strings.TrimSpace(strings.Join(append([]string{c.Step, c.Actor}, c.Keys...), " ")))
				if c.Why == "" || c.Warning() != (c.Actor == "") {
					t.Errorf("%+v", c)
				}
			}
			if s.Active() != e.active || s.Revision != e.revision || strings.Join(told, "; ") != e.changes {
				t.Errorf("active %s, revision %d, %q; want %s, %d, %q", s.Active(), s.Revision, strings.Join(told, "; "), e.active, e.revision, e.changes)
			}
			if err := s.Check(d); err != nil {
				t.Error(err)
			}
			again, changes, err := compat.Boot(&s, d, compat.BootOptions{})
			if slices.ContainsFunc(changes, func(c compat.Change) bool { return !c.Warning() }) || err != nil || len(compat.Diff(s, again)) > 0 {
				t.Errorf("the next start: %v, %v, %v", compat.Diff(s, again), changes, err)
			}
		})
	}
}

// TestBootRefuses: an older server by accident is refused with both builds by name, and so is what can't be served.
func TestBootRefuses(t *testing.T) {
	before := stored(6, 9)
	_, changes, err := compat.Boot(before, declared(), compat.BootOptions{LastBuild: "server-9"})
	var rollback *compat.RollbackError
	if !errors.As(err, &rollback) || rollback.Active != (compat.Range{Min: 6, Max: 9}) || rollback.Declared.Build.ID != "server-8" || changes != nil {
		t.Fatalf("%v, %v", err, changes)
	}
	for _, part := range []string{`"server-9"`, `"server-8"`, "6-9", "5-8", "--accept-rollback"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v, without %s", err, part)
		}
	}
	if before.Active() != (compat.Range{Min: 6, Max: 9}) {
		t.Error("what was stored has changed")
	}
	before = stored(3, 7, func(s *compat.Settings) { s.PatchRules = []compat.PatchRule{{Logic: 3}, {Logic: 4}, {Logic: 6}} })
	if got, _, err := compat.Boot(before, declared(), compat.BootOptions{}); err != nil || len(got.PatchRules) != 1 || before.PatchRules[0].Logic != 3 || before.PatchRules[2].Logic != 6 {
		t.Errorf("%v: what was stored has changed: %+v", err, before)
	}
	none := declared()
	none.Versioned, none.Build.ID = false, ""
	if _, _, err = compat.Boot(stored(6, 7), none, compat.BootOptions{}); !errors.As(err, &rollback) || !strings.Contains(err.Error(), "no logic version") || !strings.Contains(err.Error(), "(unnamed)") {
		t.Errorf("a server without a logic version: %v", err)
	}
	lax := stored(6, 7, func(s *compat.Settings) { s.Components = compat.PolicyWarn })
	if _, _, err = compat.Boot(lax, declared(), compat.BootOptions{}); !slices.Equal(mistakes(err), []string{"components"}) {
		t.Errorf("a production server that only warns: %v", err)
	}
	allowed := declared()
	allowed.Lax = true
	if _, _, err = compat.Boot(lax, allowed, compat.BootOptions{}); err != nil {
		t.Errorf("one that was allowed to: %v", err)
	}
	nowhere := stored(6, 7, func(s *compat.Settings) {
		s.Redirect = compat.RedirectSettings{Enabled: true, Host: "next.example", Port: 4000}
	})
	if _, _, err = compat.Boot(nowhere, declared(), compat.BootOptions{}); !slices.Equal(mistakes(err), []string{"redirect.base_url"}) || !strings.Contains(err.Error(), "redirect.base_url: it is empty") {
		t.Errorf("a redirect to a server whose packs are not named: %v", err)
	}
	odd := declared()
	odd.Build.Logic = 12
	if _, _, err = compat.Boot(nil, odd, compat.BootOptions{}); !slices.Equal(mistakes(err), []string{"logic"}) {
		t.Errorf("a build that doesn't support itself: %v", err)
	}
}

// TestBootOfAnything: whatever ranges meet, a start either refuses or gives settings that are right and stay as they are; it never
// raises the minimum above need, and the maximum goes down only where that was accepted.
func TestBootOfAnything(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 2026))
	refused := 0
	starts := 5_000 / testlevel.Stride(1, 10)
	for range starts {
		d := declared()
		d.Supported.Min = random.Int32N(12)
		d.Supported.Max = d.Supported.Min + random.Int32N(4)
		d.Build.Logic = d.Supported.Max
		s := *stored(random.Int32N(12), 0)
		s.ActiveMax = s.ActiveMin + random.Int32N(4)
		s.AutoUpgrade = random.IntN(2) == 1
		o := compat.BootOptions{AcceptRollback: random.IntN(2) == 1}
		got, changes, err := compat.Boot(&s, d, o)
		what := fmt.Sprintf("active %s, supported %s, %+v: active %s, %v, %v", s.Active(), d.Supported, o, got.Active(), changes, err)
		if mustRefuse := s.ActiveMax > d.Supported.Max && !o.AcceptRollback; (err != nil) != mustRefuse {
			t.Fatal(what)
		}
		if err != nil {
			refused++
			continue
		}
		if got.Check(d) != nil || got.ActiveMax < s.ActiveMax && !o.AcceptRollback || got.ActiveMin > max(s.ActiveMin, d.Supported.Min) {
			t.Fatal(what)
		}
		if got.ActiveMax > s.ActiveMax && !s.AutoUpgrade && s.ActiveMax >= d.Supported.Min {
			t.Fatal(what)
		}
		if changed := got.Active() != s.Active(); changed != (got.Revision == s.Revision+1) || !changed && got.Revision != s.Revision {
			t.Fatal(what)
		}
	}
	if refused < starts/20 {
		t.Errorf("only %d starts were refused", refused)
	}
}
