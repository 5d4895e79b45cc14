package server_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server/operator"
)

// TestModulesOfOneTargetAgree offers several libraries together, if they are of one version.
func TestModulesOfOneTargetAgree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		second string // the sidecar of the second library; empty: it has none
		logic  int32
		why    string
	}{
		"agree":       {sidecarOf(7, 2), 7, ""},
		"apart":       {sidecarOf(6, 2), compat.NoLogic, "versions 7 and 6"},
		"other patch": {sidecarOf(7, 3), compat.NoLogic, "versions 7 and 7"},
		"undeclared":  {"", compat.NoLogic, "FoSound.so has no FoSound.so.compat.json"},
	} {
		set := versioned(t)
		set.Compat.Payloads = ""
		folder := filepath.Join(set.Baking.PlatformBinaries, "Linux-x64")
		put(t, filepath.Join(folder, "FoSound.so"), "sound")
		if c.second != "" {
			put(t, filepath.Join(folder, "FoSound.so.compat.json"), c.second)
		}
		h := &house{log: &logBook{}}
		o := h.govern(t, set, operator.Options{})
		for _, target := range o.Show().Targets {
			if target.Name != "Linux-x64" {
				continue
			}
			if p := target.Payloads[0]; len(target.Payloads) != 1 || p.Logic != c.logic || !strings.Contains(p.Why, c.why) || (p.Why == "") != (c.why == "") {
				t.Errorf("%s: %+v", name, target)
			}
		}
		h.Close()
	}
}

// TestPayloadsInMemory are served as those from disk are, also when their files are gone.
func TestPayloadsInMemory(t *testing.T) {
	t.Parallel()
	set := versioned(t)
	set.ServerNetwork.UpdateFilesInMemory = true
	h, o := govern(t, set)
	change(t, o, func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 6, 6 })
	p := h.expect(t, client(5, "Linux-x64"), compat.UpdateBinaries, compat.RuleTooOld)
	files := next[*netproto.FileList](p).Files
	next[*netproto.Ping](p)
	for _, f := range files {
		if f.Path != "FoGame.so" {
			continue
		}
		p.send(&netproto.GetRange{Request: 3, Index: f.Index, Length: 100})
		if got := next[*netproto.RangeData](p); string(got.Data) != "module of 6" {
			t.Errorf("got %q", got.Data)
		}
		return
	}
	t.Errorf("no module in %v", files)
}

// TestPatchesOfPayloads offers what satisfies the rule that fired, and nothing less.
func TestPatchesOfPayloads(t *testing.T) {
	t.Parallel()
	h, o := govern(t, versioned(t)) // it has patch 2 of 7, and patch 0 of 6
	rule := func(logic int32, least uint32, target string) {
		change(t, o, func(s *compat.Settings) {
			s.ActiveMin, s.ActiveMax = 6, 7
			s.PatchRules = []compat.PatchRule{{Logic: logic, Target: target, MinPatch: least}}
		})
	}
	patch := func(n uint32) func(*netproto.HelloTags) { return func(s *netproto.HelloTags) { s.Patch = n } }
	rule(7, 2, "")
	p, j := h.ask(t, client(7, "Linux-x64", patch(1)))
	if j.Verdict != compat.UpdateBinaries || j.MinPatch != 2 || !listed(next[*netproto.FileList](p).Files, "FoGame.so", "module") {
		t.Errorf("patch 1 where 2 is needed: %+v", j)
	}
	h.expect(t, client(7, "Linux-x64", patch(2)), compat.Accept, compat.RuleAccept)
	rule(7, 3, "Linux-*")
	h.expect(t, client(7, "Linux-x64", patch(2)), compat.NoNativeUpdate, compat.RulePatch)
	h.expect(t, client(7, "Android-arm64", patch(2)), compat.Accept, compat.RuleAccept)
	p = h.expect(t, client(5, "Linux-x64"), compat.UpdateBinaries, compat.RuleTooOld)
	if !listed(next[*netproto.FileList](p).Files, "FoGame.so", "module of 6") {
		t.Error("5 is not sent to 6, where 7 would be refused")
	}
	rule(7, 3, "Android-*")
	h.expect(t, client(7, "Android-arm64", patch(2)), compat.UpdateViaStore, compat.RulePatch)
}

// TestMaintenance closes a server for players, in whole or for some targets, and lets those prefetch who may.
func TestMaintenance(t *testing.T) {
	h, o := govern(t, versioned(t))
	until := time.Now().Add(90 * time.Minute)
	change(t, o, func(s *compat.Settings) {
		s.ActiveMin, s.ActiveMax = 6, 7
		s.Developers = []string{"ann"}
		s.Maintenance = compat.MaintenanceSettings{Enabled: true, Until: until, AllowDownload: true, Targets: []string{"Linux-*"}}
	})
	p := h.dial(t, netproto.C1)
	p.send(client(6, "Linux-x64"))
	answer := next[*netproto.HandshakeAnswer](p)
	told := answer.Told()
	if answer.Verdict != compat.Maintenance || !told.Fetch || told.RetryAfter < 5000 || told.RetryAfter > 5400 {
		t.Errorf("%v, %+v", answer.Verdict, told)
	}
	if !listed(next[*netproto.FileList](p).Files, "FoGame.so", "module of 6") {
		t.Error("who would play fetches something else")
	}
	p = h.expect(t, client(5, "Linux-x64"), compat.Maintenance, compat.RuleMaintenance)
	if !listed(next[*netproto.FileList](p).Files, "FoGame.so", "module") {
		t.Error("who would have to update can't prefetch that")
	}
	h.expect(t, client(6, "Linux-x64", account("ann")), compat.Accept, compat.RuleAccept)
	h.expect(t, client(9, "Linux-x64"), compat.Maintenance, compat.RuleMaintenance)
	h.expect(t, client(6, "Android-arm64"), compat.Accept, compat.RuleAccept)
	change(t, o, func(s *compat.Settings) { s.Maintenance.AllowDownload, s.Maintenance.Targets = false, nil })
	p = h.expect(t, client(6, "Android-arm64"), compat.Maintenance, compat.RuleMaintenance)
	if last := p.gone(); len(last) != 0 {
		t.Errorf("after the verdict came %v", last)
	}
}

// TestFloorsAreTheAPIsOwn where the settings say so: no hello raises one.
func TestFloorsAreTheAPIsOwn(t *testing.T) {
	t.Parallel()
	set := versioned(t)
	set.Compat.FloorsByAPI = true
	h, o := govern(t, set)
	h.expect(t, client(8, "Linux-x64", account("ann")), compat.Accept, compat.RuleAccept)
	if floor, err := o.Floors.Get("ann"); floor != 0 || err != nil {
		t.Errorf("the floor is %d, %v", floor, err)
	}
	if _, err := o.Floors.Set(editor(), "ann", 8, "", false); err != nil {
		t.Fatal(err)
	}
	h.expect(t, client(7, "Linux-x64", account("ann")), compat.NoNativeUpdate, compat.RuleFloor)
}

// TestWhoDoesNotPlayRaisesNoFloor: an account is pinned by playing, not by asking.
func TestWhoDoesNotPlayRaisesNoFloor(t *testing.T) {
	t.Parallel()
	h, o := govern(t, versioned(t))
	change(t, o, func(s *compat.Settings) { s.ActiveMax = 7 })
	h.expect(t, client(8, "Linux-x64", account("ann")), compat.ClientTooNew, compat.RuleTooNew)
	change(t, o, func(s *compat.Settings) { s.Maintenance.Enabled = true })
	h.expect(t, client(7, "Linux-x64", account("ann")), compat.Maintenance, compat.RuleMaintenance)
	change(t, o, func(s *compat.Settings) { s.Maintenance.Enabled, s.ActiveMin = false, 6 })
	h.expect(t, client(5, "Linux-x64", account("ann")), compat.UpdateBinaries, compat.RuleTooOld)
	if floor, err := o.Floors.Get("ann"); floor != 0 || err != nil {
		t.Errorf("the floor is %d, %v", floor, err)
	}
	h.expect(t, client(6, "Linux-x64", account("ann")), compat.Accept, compat.RuleAccept)
	if floor, err := o.Floors.Get("ann"); floor != 6 || err != nil {
		t.Errorf("the floor is %d, %v", floor, err)
	}
}
