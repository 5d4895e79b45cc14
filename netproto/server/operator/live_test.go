package operator_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server/admin"
	"collet/netproto/server/config"
	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
	"collet/platform/testlevel"
)

// TestT6LiveChange narrows the range from 5..7 to 6..7 under a client of 5.
func TestT6LiveChange(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	set := servertest.VersionedSettings(t)
	h, o := servertest.StartWithToken(t, set)
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMax = 7 })
	old := h.Expect(t, servertest.VersionHandshake(5, "Linux-x64"), compat.Accept, compat.RuleAccept)
	files := servertest.Next[*netproto.FileList](old).Files
	servertest.Next[*netproto.Ping](old)

	out := servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMin = 6 })
	if out.Settings.Revision != 3 || len(out.Changed) != 1 || out.Changed[0] != "active_min" || out.Impact.Sessions != 1 {
		t.Errorf("the change came to %+v", out)
	}
	h.Expect(t, servertest.VersionHandshake(5, "Linux-x64"), compat.UpdateBinaries, compat.RuleTooOld)
	h.Expect(t, servertest.VersionHandshake(6, "Linux-x64"), compat.Accept, compat.RuleAccept)
	old.Send(&netproto.GetRange{Request: 1, Index: files[0].Index, Length: 10})
	if data := servertest.Next[*netproto.RangeData](old); len(data.Data) == 0 {
		t.Error("the client of 5 is served no longer")
	}

	old.Raw.Close()
	records, err := o.Audit.Records(0, 10)
	if err != nil || len(records) != 3 || records[0].Keys[0] != "active_min" || records[0].Actor != "ops" || records[0].Impact.Sessions != 1 || records[2].Actor != compat.ActorBoot {
		t.Errorf("the audit log has %+v, %v", records, err)
	}
	if n, err := o.Audit.Verify(); n != 3 || err != nil {
		t.Errorf("verified %d records, %v", n, err)
	}

	h.Stop()
	<-h.Done
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	again, o := restart(t, set)
	if s := o.Settings(); s.ActiveMin != 6 || s.ActiveMax != 7 || s.Revision != 3 {
		t.Errorf("after a restart the settings are %+v", s)
	}
	again.Expect(t, servertest.VersionHandshake(5, "Linux-x64"), compat.UpdateBinaries, compat.RuleTooOld)
}

// restart starts a server on the store of an earlier one.
func restart(t testing.TB, set config.Settings) (*servertest.Server, *operator.Operator) {
	t.Helper()
	return servertest.StartWithToken(t, set)
}

// TestT9Floors plays with 7 and comes back with 6.
func TestT9Floors(t *testing.T) {
	t.Parallel()
	h, o := servertest.StartWithToken(t, servertest.VersionedSettings(t))
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 6, 7 })
	h.Expect(t, servertest.VersionHandshake(6, "Linux-x64", servertest.WithAccount("ann")), compat.Accept, compat.RuleAccept)
	h.Expect(t, servertest.VersionHandshake(7, "Linux-x64", servertest.WithAccount("ann")), compat.Accept, compat.RuleAccept)
	p, j := h.Ask(t, servertest.VersionHandshake(6, "Linux-x64", servertest.WithAccount("ann")))
	if j.Verdict != compat.UpdateBinaries || !j.Pinned() || j.Floor != 7 {
		t.Errorf("came back with 6: %+v", j)
	}
	if files := servertest.Next[*netproto.FileList](p).Files; !servertest.IsListed(files, "FoGame.so", "module") {
		t.Errorf("a pinned client is offered %v", files)
	}
	h.Expect(t, servertest.VersionHandshake(6, "Linux-x64", servertest.WithAccount("bob")), compat.Accept, compat.RuleAccept)
	h.Expect(t, servertest.VersionHandshake(6, "Linux-x64"), compat.Accept, compat.RuleAccept)
	h.Expect(t, servertest.VersionHandshake(6, "Android-arm64", servertest.WithAccount("ann")), compat.UpdateViaStore, compat.RuleFloor)
	h.Expect(t, servertest.VersionHandshake(6, "Windows-win64", servertest.WithAccount("ann")), compat.NoNativeUpdate, compat.RuleFloor)

	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.Developers = []string{"ann"} })
	h.Expect(t, servertest.VersionHandshake(6, "Linux-x64", servertest.WithAccount("ann")), compat.Accept, compat.RuleAccept)
	if floor, err := o.Floors.Get("ann"); floor != 7 || err != nil {
		t.Errorf("a developer's floor is %d, %v", floor, err)
	}
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.Developers = nil })

	for name, wrong := range map[string]struct {
		by      operator.Actor
		floor   int32
		comment string
		lower   bool
	}{
		"lowered without being asked for": {servertest.Editor(), 6, "sorry", false},
		"lowered without a comment":       {servertest.Editor(), 6, "", true},
		"raised beyond all":               {servertest.Editor(), 8, "", false},
		"negative":                        {servertest.Editor(), -1, "x", true},
		"by one who may only look":        {operator.Actor{Name: "eve", Role: operator.RoleView}, 7, "x", true},
	} {
		if _, err := o.Floors.Set(wrong.by, "ann", wrong.floor, wrong.comment, wrong.lower); err == nil {
			t.Errorf("a floor was %s", name)
		}
	}
	if was, err := o.Floors.Set(servertest.Editor(), "ann", 6, "restored from a backup", true); was != 7 || err != nil {
		t.Errorf("lowering: %d, %v", was, err)
	}
	h.Expect(t, servertest.VersionHandshake(6, "Linux-x64", servertest.WithAccount("ann")), compat.Accept, compat.RuleAccept)
	if newest, err := o.Audit.Records(0, 1); err != nil || newest[0].Keys[0] != "floors.ann" || string(newest[0].Before) != `{"floor":7}` || newest[0].Comment == "" {
		t.Errorf("the record of a lowering is %+v, %v", newest, err)
	}
	if _, err := o.Audit.Verify(); err != nil {
		t.Error(err)
	}
}

// TestFloorAboveTheRange locks players out whom no client can help, and says how many there are before it does.
func TestFloorAboveTheRange(t *testing.T) {
	t.Parallel()
	h, o := servertest.StartWithToken(t, servertest.VersionedSettings(t))
	h.Expect(t, servertest.VersionHandshake(8, "Linux-x64", servertest.WithAccount("ann")), compat.Accept, compat.RuleAccept)
	h.Expect(t, servertest.VersionHandshake(8, "Linux-x64", servertest.WithAccount("bob")), compat.Accept, compat.RuleAccept)
	s := o.Settings()
	s.ActiveMax = 7
	for _, c := range []operator.Change{{Confirm: true}, {Comment: "rolled back"}, {}} {
		c.Revision, c.Settings = s.Revision, s
		_, err := o.Change(t.Context(), servertest.Editor(), c)
		var confirm *operator.ConfirmError
		if !errors.As(err, &confirm) || confirm.NeedsComment != (c.Comment == "") || confirm.NeedsConfirm == c.Confirm || confirm.Impact.Floors != 2 {
			t.Errorf("a lowering with %+v: %v", c, err)
		}
	}
	f, err := o.DryRun(s)
	if err != nil || f.Impact.Floors != 2 || f.Impact.Sessions != 2 || !f.Lowers || f.Then["CLIENT_TOO_NEW"] != 2 || f.Now["ACCEPT"] != 2 {
		t.Errorf("a dry run says %+v, %v", f, err)
	}
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMax = 7 })
	_, j := h.Ask(t, servertest.VersionHandshake(7, "Linux-x64", servertest.WithAccount("ann")))
	if j.Verdict != compat.ClientTooNew || !j.Pinned() {
		t.Errorf("locked out: %+v", j)
	}
}

// TestSidecarFaults names what is wrong with one.
func TestSidecarFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{":                              "unexpected end",
		`{"patch": 1}`:                   "no logic version",
		`{"logic": -2}`:                  "no logic version",
		`{"logic": 7, "set_hash": "12"}`: "16 hex digits",
		`{"logic": 7, "set_hash": "` + strings.Repeat("g", 16) + `"}`: "16 hex digits",
		`{"logic": 99999999999}`: "cannot unmarshal",
	} {
		set := servertest.VersionedSettings(t)
		servertest.WriteFile(t, filepath.Join(set.Baking.PlatformBinaries, "Linux-x64", "FoGame.so.compat.json"), text)
		set.Compat.Payloads = ""
		h := servertest.New()
		o := h.OpenWithOperator(t, set, operator.Options{})
		h.Close()
		if target := servertest.Target(t, o, "Linux-x64"); !target.NoBinary || !strings.Contains(target.Payloads[0].Why, want) {
			t.Errorf("%s: %+v", text, target)
		}
	}
}

// TestT13OneVerdict asks a connection, the API and Evaluate the same questions.
func TestT13OneVerdict(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	set := servertest.VersionedSettings(t)
	root := t.TempDir()
	set.Compat.Manifest = filepath.Join(root, "manifest.json")
	own := servertest.WriteManifest(t, set.Compat.Manifest, 8, map[string]uint64{"Camera": 1, "Wallet": 2})
	set.Compat.Baselines = filepath.Join(root, "baselines")
	six := servertest.WriteManifest(t, filepath.Join(set.Compat.Baselines, "6.json"), 6, map[string]uint64{"Camera": 1})
	set.Limits.ConnectionsPerSecond, set.Limits.Connections = 100_000, 100_000
	h, o := servertest.StartWithToken(t, set)
	address := servertest.ServeMonitor(t, h, set)
	random := newRandom()
	verdicts := map[compat.Verdict]int{}
	for round := range 12 {
		servertest.ChangeSettings(t, o, func(s *compat.Settings) {
			s.ActiveMin = 5 + int32(random.IntN(3))
			s.ActiveMax = s.ActiveMin + int32(random.IntN(int(9-s.ActiveMin)))
			s.Maintenance.Enabled = random.IntN(6) == 0
			s.Maintenance.AllowDownload = random.IntN(2) == 0
			s.PatchRules = []compat.PatchRule{{Logic: s.ActiveMin, Target: "Linux-*", MinPatch: uint32(random.IntN(3))}}
			s.Redirect = compat.RedirectSettings{Enabled: random.IntN(3) == 0, Host: "next.example", Port: 4000, BaseURL: "https://next.example/"}
			s.Messages = map[string]string{compat.PopupMaintenance: fmt.Sprint("round ", round)}
		})
		for range 25 {
			logic := int32(random.IntN(11)) - 1
			ask := admin.HelloRequest{
				Target: []string{"Linux-x64", "Android-arm64", "Windows-win64", "Elsewhere"}[random.IntN(4)], Compatibility: "any",
				Logic: &logic, Patch: uint32(random.IntN(4)), Account: []string{"", "ann", "bob"}[random.IntN(3)], Branch: "main",
				Components: fmt.Sprintf("%016x", []uint64{own.Build.Components, six.Build.Components, 99}[random.IntN(3)]),
				BuildSeq:   uint64(700 + random.IntN(300)), Flags: uint32(random.IntN(2)) * uint32(compat.FlagRedirected),
			}
			tool := verdictOf(t, address, ask)
			m := servertest.VersionHandshake(logic, ask.Target, servertest.WithAccount(ask.Account), func(said *netproto.HelloTags) {
				fmt.Sscanf(ask.Components, "%x", &said.Build.Components)
				said.Build.Seq, said.Build.Branch, said.Patch, said.Flags = ask.BuildSeq, ask.Branch, ask.Patch, compat.Flags(ask.Flags)
			})
			m.Compatibility = "any"
			direct, err := o.Evaluate(m.Hello(netproto.C1), ask.Account)
			if err != nil {
				t.Fatal(err)
			}
			p, j := h.Ask(t, m)
			p.Raw.Close()
			if tool.Code != uint8(j.Verdict) || tool.Rule != uint8(j.Rule) || tool.Revision != j.Revision || tool.Age != j.Age.String() || tool.Floor != j.Floor || tool.MinPatch != j.MinPatch ||
				direct.Verdict != j.Verdict || direct.Rule != j.Rule || direct.Reasons != j.Reasons || direct.Warnings != j.Warnings {
				t.Fatalf("%+v: the connection says %+v, the API %+v, Evaluate %+v", ask, j, tool, direct)
			}
			verdicts[j.Verdict]++
		}
	}
	if len(verdicts) < 6 {
		t.Errorf("only %v came up", verdicts)
	}
}

// TestChangeIsQuick changes the range under connected clients: the next handshake is judged by it, and none of the clients notices.
// The lab has 1 000 of them, and measures how long a change takes to reach a handshake.
func TestChangeIsQuick(t *testing.T) {
	set := servertest.VersionedSettings(t)
	set.Limits.ConnectionsPerSecond = 100_000
	h, o := servertest.StartWithToken(t, set)
	crowd := 1000 / testlevel.Stride(25, 50)
	peers := make([]*servertest.Peer, crowd)
	for i := range peers {
		peers[i] = h.Expect(t, servertest.VersionHandshake(5+int32(i%4), "Linux-x64"), compat.Accept, compat.RuleAccept)
		servertest.Next[*netproto.FileList](peers[i])
		servertest.Next[*netproto.Ping](peers[i])
	}
	if n := total(o.Show().Connected); n != crowd {
		t.Errorf("%d are counted", n)
	}
	var times []time.Duration
	for i := range 11 {
		low := int32(6 - i%2)
		began := time.Now()
		servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMin = low })
		p, j := h.Ask(t, servertest.VersionHandshake(5, "Linux-x64"))
		times = append(times, time.Since(began))
		if j.Plays() != (low == 5) {
			t.Errorf("after the change to %d: %v", low, j.Verdict)
		}
		p.Raw.Close()
	}
	slices.Sort(times)
	if limit := 50 * time.Millisecond; times[0] > limit && testlevel.Full() { // the others are those of a disk or a machine that is shared
		t.Errorf("a change took %v to reach a handshake, at most %v", times[0], limit)
	}
	t.Logf("11 changes reached a handshake in %v to %v, half of them within %v", times[0], times[10], times[5])
	for i, p := range peers {
		p.Send(&netproto.Ping{})
		if !servertest.Next[*netproto.Ping](p).Answer {
			t.Errorf("client %d was disturbed", i)
		}
		p.Raw.Close()
	}
}

func total(groups []operator.Group) (n int) {
	for _, g := range groups {
		n += g.Count
	}
	return n
}

// TestKick ends, after the countdown, exactly the sessions that would not be let in again.
func TestKick(t *testing.T) {
	t.Parallel()
	h, o := servertest.StartWithToken(t, servertest.VersionedSettings(t))
	old := h.Expect(t, servertest.VersionHandshake(5, "Linux-x64"), compat.Accept, compat.RuleAccept)
	current := h.Expect(t, servertest.VersionHandshake(6, "Linux-x64"), compat.Accept, compat.RuleAccept)
	s := o.Settings()
	s.ActiveMin = 6
	soon, never := time.Duration(0), operator.MaxKick+1
	if _, err := o.Change(t.Context(), servertest.Editor(), operator.Change{Revision: s.Revision, Settings: s, Kick: &never}); err == nil {
		t.Error("an unknown countdown was accepted")
	}
	if _, err := o.Change(t.Context(), servertest.Editor(), operator.Change{Revision: s.Revision, Settings: s, Comment: "5 is old", Kick: &soon}); err != nil {
		t.Fatal(err)
	}
	said := old.ReadToEnd()
	if refusal, is := said[len(said)-1].(*netproto.Refuse); !is || refusal.Reason != netproto.RefuseGoingDown {
		t.Errorf("the last words were %+v", said[len(said)-1])
	}
	servertest.Next[*netproto.FileList](current)
	servertest.Next[*netproto.Ping](current)
	current.Send(&netproto.Ping{})
	servertest.Next[*netproto.Ping](current)
	h.Log.Has(t, "warn", "let it in no longer")
}

// TestShow is what the dashboard and the command line read, as JSON that keeps its names.
func TestShow(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	set.Compat.Manifest = filepath.Join(t.TempDir(), "manifest.json")
	m := servertest.WriteManifest(t, set.Compat.Manifest, 8, map[string]uint64{"Camera": 1})
	h, o := servertest.StartWithoutToken(t, set)
	h.Expect(t, servertest.VersionHandshake(7, "Linux-x64", func(s *netproto.HelloTags) { s.Build.Components = 1 }), compat.Accept, compat.RuleAccept)
	h.Expect(t, servertest.VersionHandshake(99, "Amiga-68k"), compat.ClientTooNew, compat.RuleTooNew)
	text, err := json.Marshal(o.Show())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"revision":1`, `"versioned":true`, `"supported":{"min":5,"max":8}`, `"components":1`, `"secured":false`,
		fmt.Sprintf(`"baselines":[{"logic":5},{"logic":6},{"logic":7},{"logic":8,"components":"%016x"}]`, m.Build.Components),
		`{"logic":"7","target":"Linux-x64","verdict":"ACCEPT","count":1}`, `{"logic":"other","target":"other","verdict":"CLIENT_TOO_NEW","count":1}`,
		`"id":"server-8"`, `"step":"B6"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
}

// TestUnversionedServerWithAStore has maintenance and nothing of versions.
func TestUnversionedServerWithAStore(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	set.Compat.Store = filepath.Join(t.TempDir(), "compat.db")
	h, o := servertest.StartWithToken(t, set)
	p := h.Expect(t, servertest.Handshake(netproto.C1), compat.Accept, compat.RuleAccept)
	if files := servertest.Next[*netproto.FileList](p).Files; !servertest.IsListed(files, "FoGame.so", "module") {
		t.Errorf("offered %v", files)
	}
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.Maintenance.Enabled, s.Maintenance.AllowDownload = true, false })
	p, j := h.Ask(t, servertest.Handshake(netproto.C1))
	if j.Verdict != compat.Maintenance {
		t.Errorf("under maintenance: %+v", j)
	}
	p.ReadToEnd()
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.Maintenance.AllowDownload = true })
	p = h.Expect(t, servertest.Handshake(netproto.C1), compat.Maintenance, compat.RuleMaintenance)
	if files := servertest.Next[*netproto.FileList](p).Files; !servertest.IsListed(files, "FoGame.so", "module") {
		t.Errorf("under maintenance, offered %v", files)
	}
}

// TestReloadKeepsTheOperator offers new files under the settings in force, and refuses a build for which they make no sense.
func TestReloadKeepsTheOperator(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	h, o := servertest.StartWithToken(t, set)
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 7, 8 })
	module := filepath.Join(set.Baking.PlatformBinaries, "Windows-win64", "FoGame.dll")
	h.Expect(t, servertest.VersionHandshake(6, "Windows-win64"), compat.NoNativeUpdate, compat.RuleTooOld)
	servertest.WriteFile(t, module+".compat.json", servertest.Sidecar(7, 0))
	if err := h.Reload(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	h.Expect(t, servertest.VersionHandshake(6, "Windows-win64"), compat.UpdateBinaries, compat.RuleTooOld)
	older := set
	older.Compat.Supported = "5-7"
	if err := h.Reload(t.Context(), older); err == nil || !strings.Contains(err.Error(), "active_max") {
		t.Errorf("an older build was taken: %v", err)
	}
	h.Expect(t, servertest.VersionHandshake(8, "Windows-win64"), compat.Accept, compat.RuleAccept)
	if err := os.Remove(module + ".compat.json"); err != nil {
		t.Fatal(err)
	}
}

// newRandom gives the same numbers in each run, so that a failure can be repeated.
func newRandom() *rand.Rand { return rand.New(rand.NewPCG(6, 2026)) }

// verdictOf is the API's dry run of a hello.
func verdictOf(t testing.TB, address string, ask admin.HelloRequest) admin.VerdictAnswer {
	t.Helper()
	body, err := json.Marshal(admin.EvaluateRequest{Hello: &ask})
	if err != nil {
		t.Fatal(err)
	}
	answer, text := servertest.CallAPI(t, "POST", address+"/api/compat/evaluate", string(body))
	return *servertest.Decode[admin.EvaluateAnswer](t, answer, text, http.StatusOK).Verdict
}

// TestShowWithoutVersions: a server without logic versions tells of no ranges, and who reads that knows so.
func TestShowWithoutVersions(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	set.Compat.Store = filepath.Join(t.TempDir(), "compat.db")
	_, o := servertest.StartWithoutToken(t, set)
	made := servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.Developers = []string{"ann"} })
	for name, told := range map[string]any{"state": o.Show(), "outcome": made} {
		text, err := json.Marshal(told)
		if err != nil || strings.Contains(string(text), `"active_min":`) || strings.Contains(string(text), "supported") || !strings.Contains(string(text), `"developers":["ann"]`) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
		var state operator.State
		var outcome operator.Outcome
		read := map[string]any{"state": &state, "outcome": &outcome}[name]
		if err := json.Unmarshal(text, read); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(read)
		if err != nil || string(again) != string(text) || min(state.Settings.ActiveMax, outcome.Settings.ActiveMax) != compat.NoLogic {
			t.Errorf("%s is read as %s, %v", name, again, err)
		}
	}
}
