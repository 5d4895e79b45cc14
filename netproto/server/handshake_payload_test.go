package server_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
)

// TestModulesOfOneTargetAgree offers several libraries together, if they are of one version.
func TestModulesOfOneTargetAgree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		second string // the sidecar of the second library; empty: it has none
		logic  int32
		why    string
	}{
		"agree":       {servertest.Sidecar(7, 2), 7, ""},
		"apart":       {servertest.Sidecar(6, 2), compat.NoLogic, "versions 7 and 6"},
		"other patch": {servertest.Sidecar(7, 3), compat.NoLogic, "versions 7 and 7"},
		"undeclared":  {"", compat.NoLogic, "FoSound.so has no FoSound.so.compat.json"},
	} {
		set := servertest.VersionedSettings(t)
		set.Compat.Payloads = ""
		folder := filepath.Join(set.Baking.PlatformBinaries, "Linux-x64")
		servertest.WriteFile(t, filepath.Join(folder, "FoSound.so"), "sound")
		if c.second != "" {
			servertest.WriteFile(t, filepath.Join(folder, "FoSound.so.compat.json"), c.second)
		}
		h := servertest.New()
		o := h.OpenWithOperator(t, set, operator.Options{})
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
	set := servertest.VersionedSettings(t)
	set.ServerNetwork.UpdateFilesInMemory = true
	h, o := servertest.StartWithToken(t, set)
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 6, 6 })
	p := h.Expect(t, servertest.VersionHandshake(5, "Linux-x64"), compat.UpdateBinaries, compat.RuleTooOld)
	files := servertest.Next[*netproto.FileList](p).Files
	servertest.Next[*netproto.Ping](p)
	for _, f := range files {
		if f.Path != "FoGame.so" {
			continue
		}
		p.Send(&netproto.GetRange{Request: 3, Index: f.Index, Length: 100})
		if got := servertest.Next[*netproto.RangeData](p); string(got.Data) != "module of 6" {
			t.Errorf("got %q", got.Data)
		}
		return
	}
	t.Errorf("no module in %v", files)
}

// TestPatchesOfPayloads offers what satisfies the rule that fired, and nothing less.
func TestPatchesOfPayloads(t *testing.T) {
	t.Parallel()
	h, o := servertest.StartWithToken(t, servertest.VersionedSettings(t)) // it has patch 2 of 7, and patch 0 of 6
	rule := func(logic int32, least uint32, target string) {
		servertest.ChangeSettings(t, o, func(s *compat.Settings) {
			s.ActiveMin, s.ActiveMax = 6, 7
			s.PatchRules = []compat.PatchRule{{Logic: logic, Target: target, MinPatch: least}}
		})
	}
	patch := func(n uint32) func(*netproto.HelloTags) { return func(s *netproto.HelloTags) { s.Patch = n } }
	rule(7, 2, "")
	p, j := h.Ask(t, servertest.VersionHandshake(7, "Linux-x64", patch(1)))
	if j.Verdict != compat.UpdateBinaries || j.MinPatch != 2 || !servertest.IsListed(servertest.Next[*netproto.FileList](p).Files, "FoGame.so", "module") {
		t.Errorf("patch 1 where 2 is needed: %+v", j)
	}
	h.Expect(t, servertest.VersionHandshake(7, "Linux-x64", patch(2)), compat.Accept, compat.RuleAccept)
	rule(7, 3, "Linux-*")
	h.Expect(t, servertest.VersionHandshake(7, "Linux-x64", patch(2)), compat.NoNativeUpdate, compat.RulePatch)
	h.Expect(t, servertest.VersionHandshake(7, "Android-arm64", patch(2)), compat.Accept, compat.RuleAccept)
	p = h.Expect(t, servertest.VersionHandshake(5, "Linux-x64"), compat.UpdateBinaries, compat.RuleTooOld)
	if !servertest.IsListed(servertest.Next[*netproto.FileList](p).Files, "FoGame.so", "module of 6") {
		t.Error("5 is not sent to 6, where 7 would be refused")
	}
	rule(7, 3, "Android-*")
	h.Expect(t, servertest.VersionHandshake(7, "Android-arm64", patch(2)), compat.UpdateViaStore, compat.RulePatch)
}

// TestMaintenance closes a server for players, in whole or for some targets, and lets those prefetch who may.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	h, o := servertest.StartWithToken(t, servertest.VersionedSettings(t))
	until := time.Now().Add(90 * time.Minute)
	servertest.ChangeSettings(t, o, func(s *compat.Settings) {
		s.ActiveMin, s.ActiveMax = 6, 7
		s.Developers = []string{"ann"}
		s.Maintenance = compat.MaintenanceSettings{Enabled: true, Until: until, AllowDownload: true, Targets: []string{"Linux-*"}}
	})
	p := h.Dial(t, netproto.C1)
	p.Send(servertest.VersionHandshake(6, "Linux-x64"))
	answer := servertest.Next[*netproto.HandshakeAnswer](p)
	told := answer.Told()
	if answer.Verdict != compat.Maintenance || !told.Fetch || told.RetryAfter < 5000 || told.RetryAfter > 5400 {
		t.Errorf("%v, %+v", answer.Verdict, told)
	}
	if !servertest.IsListed(servertest.Next[*netproto.FileList](p).Files, "FoGame.so", "module of 6") {
		t.Error("who would play fetches something else")
	}
	p = h.Expect(t, servertest.VersionHandshake(5, "Linux-x64"), compat.Maintenance, compat.RuleMaintenance)
	if !servertest.IsListed(servertest.Next[*netproto.FileList](p).Files, "FoGame.so", "module") {
		t.Error("who would have to update can't prefetch that")
	}
	h.Expect(t, servertest.VersionHandshake(6, "Linux-x64", servertest.WithAccount("ann")), compat.Accept, compat.RuleAccept)
	h.Expect(t, servertest.VersionHandshake(9, "Linux-x64"), compat.Maintenance, compat.RuleMaintenance)
	h.Expect(t, servertest.VersionHandshake(6, "Android-arm64"), compat.Accept, compat.RuleAccept)
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.Maintenance.AllowDownload, s.Maintenance.Targets = false, nil })
	p = h.Expect(t, servertest.VersionHandshake(6, "Android-arm64"), compat.Maintenance, compat.RuleMaintenance)
	if last := p.ReadToEnd(); len(last) != 0 {
		t.Errorf("after the verdict came %v", last)
	}
}

// TestFloorsAreTheAPIsOwn where the settings say so: no hello raises one.
func TestFloorsAreTheAPIsOwn(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	set.Compat.FloorsByAPI = true
	h, o := servertest.StartWithToken(t, set)
	h.Expect(t, servertest.VersionHandshake(8, "Linux-x64", servertest.WithAccount("ann")), compat.Accept, compat.RuleAccept)
	if floor, err := o.Floors.Get("ann"); floor != 0 || err != nil {
		t.Errorf("the floor is %d, %v", floor, err)
	}
	if _, err := o.Floors.Set(servertest.Editor(), "ann", 8, "", false); err != nil {
		t.Fatal(err)
	}
	h.Expect(t, servertest.VersionHandshake(7, "Linux-x64", servertest.WithAccount("ann")), compat.NoNativeUpdate, compat.RuleFloor)
}

// TestWhoDoesNotPlayRaisesNoFloor: an account is pinned by playing, not by asking.
func TestWhoDoesNotPlayRaisesNoFloor(t *testing.T) {
	t.Parallel()
	h, o := servertest.StartWithToken(t, servertest.VersionedSettings(t))
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMax = 7 })
	h.Expect(t, servertest.VersionHandshake(8, "Linux-x64", servertest.WithAccount("ann")), compat.ClientTooNew, compat.RuleTooNew)
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.Maintenance.Enabled = true })
	h.Expect(t, servertest.VersionHandshake(7, "Linux-x64", servertest.WithAccount("ann")), compat.Maintenance, compat.RuleMaintenance)
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.Maintenance.Enabled, s.ActiveMin = false, 6 })
	h.Expect(t, servertest.VersionHandshake(5, "Linux-x64", servertest.WithAccount("ann")), compat.UpdateBinaries, compat.RuleTooOld)
	if floor, err := o.Floors.Get("ann"); floor != 0 || err != nil {
		t.Errorf("the floor is %d, %v", floor, err)
	}
	h.Expect(t, servertest.VersionHandshake(6, "Linux-x64", servertest.WithAccount("ann")), compat.Accept, compat.RuleAccept)
	if floor, err := o.Floors.Get("ann"); floor != 6 || err != nil {
		t.Errorf("the floor is %d, %v", floor, err)
	}
}
