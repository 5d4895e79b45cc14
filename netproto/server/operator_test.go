package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server"
	"collet/netproto/server/admin"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/server/operator"
	"collet/platform/testlevel"
)

// sums are set hashes of the builds in these tests, by logic version. Any numbers do: only equality counts.
var sums = map[int32]uint64{5: 0x5555, 6: 0x6666, 7: 0x7777, 8: 0x8888}

// sidecarOf is what lies beside a module.
func sidecarOf(logic int32, patch int) string {
	return fmt.Sprintf(`{"logic": %d, "patch": %d, "set_hash": "%016x", "build": {"id": "client-%d.%d", "branch": "main", "time": 1772460300, "seq": %d}}`,
		logic, patch, sums[logic], logic, patch, 800+logic)
}

// manifestOf writes a manifest of one component whose hash makes the set what it comes to; it returns that.
func manifestOf(t testing.TB, path string, logic int32, components map[string]uint64) compat.Manifest {
	t.Helper()
	m := compat.Manifest{Mode: compat.ManifestFull, Build: compat.Build{Logic: logic, Time: 1_770_000_000 + int64(logic)*86400, Seq: 800 + uint64(logic), ID: fmt.Sprintf("server-%d", logic), Branch: "main"}}
	id := uint16(1)
	for _, name := range []string{"Camera", "Mailbox", "Wallet"} {
		if sum := components[name]; sum != 0 {
			m.Entries = append(m.Entries, compat.Entry{Name: name, WireID: id, Hash: sum, ChangedAt: 1_770_000_000})
		}
		id++
	}
	if err := m.Seal(); err != nil {
		t.Fatal(err)
	}
	if path != "" {
		text, err := compat.EncodeManifest(&m)
		if err != nil {
			t.Fatal(err)
		}
		put(t, path, string(text))
	}
	return m
}

// versioned is a package whose server supports 5 to 8, with modules of 7 in place and of 6 beside.
func versioned(t testing.TB) config.Settings {
	t.Helper()
	files := fixture()
	files["PlatformBinaries/Linux-x64/FoGame.so.compat.json"] = sidecarOf(7, 2)
	files["PlatformBinaries/Android-arm64/libmain.so.compat.json"] = sidecarOf(7, 2)
	files["Payloads/6/Linux-x64/FoGame.so"] = "module of 6"
	files["Payloads/6/Linux-x64/FoGame.so.compat.json"] = sidecarOf(6, 0)
	root := pack(t, files)
	set := config.ForFolder(root, "")
	set.Network.UpdateFileMaxPortionSize = 1000
	set.Compat = config.Compat{Store: filepath.Join(t.TempDir(), "compat.db"), Supported: "5-8", Payloads: filepath.Join(root, "Payloads"), Build: "server-8"}
	return set
}

// testSecret is the secret of the token that the operators of governed servers have.
const testSecret = "collet_test"

// govern starts a server on loopback with an operator that has a token of testSecret.
func govern(t testing.TB, set config.Settings) (*house, *operator.Operator) {
	t.Helper()
	store, err := operator.OpenStore(set.Compat.Store, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := store.Tokens()
	if err == nil && len(tokens) == 0 {
		err = store.SetTokens([]operator.Token{{Name: "local", Role: operator.RoleEdit, Created: time.Now().UTC(), Sum: operator.Sum(testSecret)}})
	}
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	return unsecured(t, set)
}

// unsecured is govern without the token.
func unsecured(t testing.TB, set config.Settings) (*house, *operator.Operator) {
	t.Helper()
	h := &house{log: &logBook{}, done: make(chan error, 1)}
	o := h.govern(t, set, operator.Options{})
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return h.serve(t, listener), o
}

// govern opens everything but does not serve.
func (h *house) govern(t testing.TB, set config.Settings, opt operator.Options) *operator.Operator {
	t.Helper()
	catalogue, err := catalogue.Open(t.Context(), set, h.logger())
	if err != nil {
		t.Fatal(err)
	}
	o, err := operator.Open(set.Compat.Store, catalogue.Declared(), opt, h.logger())
	if err != nil {
		catalogue.Close()
		t.Fatal(err)
	}
	h.Server = server.New(catalogue, set, h.logger())
	h.Govern(o)
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// editor is an actor with RoleEdit.
func editor() operator.Actor {
	return operator.Actor{Name: "ops", Role: operator.RoleEdit, Source: compat.SourceAPI, Remote: "192.0.2.1"}
}

// change changes the settings or fails the test.
func change(t testing.TB, o *operator.Operator, edit func(*compat.Settings)) operator.Outcome {
	t.Helper()
	s := o.Settings()
	edit(&s)
	out, err := o.Change(context.Background(), editor(), operator.Change{Revision: s.Revision, Settings: s, Comment: "a test", Confirm: true})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// client is what a client of logic version says.
func client(logic int32, target string, more ...func(*netproto.HelloTags)) *netproto.Handshake {
	said := netproto.HelloTags{Build: compat.Build{Logic: logic}}
	for _, add := range more {
		add(&said)
	}
	m := &netproto.Handshake{Version: netproto.C1.Version(), Compatibility: compat.Derived(logic, said.Build.Components), Target: target, Capabilities: netproto.CapPipeline}
	if err := m.Say(said); err != nil {
		panic(err)
	}
	return m
}

// account says whose account plays.
func account(name string) func(*netproto.HelloTags) {
	return func(t *netproto.HelloTags) { t.Account = name }
}

// ask connects and says hello; it returns the answer.
func (h *house) ask(t testing.TB, m *netproto.Handshake) (*peer, compat.Judgement) {
	t.Helper()
	p := h.dial(t, netproto.C1)
	p.send(m)
	return p, next[*netproto.HandshakeAnswer](p).Judgement(netproto.C1)
}

// expect is ask with what must come of it.
func (h *house) expect(t testing.TB, m *netproto.Handshake, verdict compat.Verdict, rule compat.Rule) *peer {
	t.Helper()
	p, j := h.ask(t, m)
	if j.Verdict != verdict || j.Rule != rule {
		t.Errorf("%s for %s: got %v by rule %d, want %v by rule %d", m.Compatibility, m.Target, j.Verdict, j.Rule, verdict, rule)
	}
	return p
}

// TestT6LiveChange narrows the range from 5..7 to 6..7 under a client of 5.
func TestT6LiveChange(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	set := versioned(t)
	h, o := govern(t, set)
	change(t, o, func(s *compat.Settings) { s.ActiveMax = 7 })
	old := h.expect(t, client(5, "Linux-x64"), compat.Accept, compat.RuleAccept)
	files := next[*netproto.FileList](old).Files
	next[*netproto.Ping](old)

	out := change(t, o, func(s *compat.Settings) { s.ActiveMin = 6 })
	if out.Settings.Revision != 3 || len(out.Changed) != 1 || out.Changed[0] != "active_min" || out.Impact.Sessions != 1 {
		t.Errorf("the change came to %+v", out)
	}
	h.expect(t, client(5, "Linux-x64"), compat.UpdateBinaries, compat.RuleTooOld)
	h.expect(t, client(6, "Linux-x64"), compat.Accept, compat.RuleAccept)
	old.send(&netproto.GetRange{Request: 1, Index: files[0].Index, Length: 10})
	if data := next[*netproto.RangeData](old); len(data.Data) == 0 {
		t.Error("the client of 5 is served no longer")
	}

	old.raw.Close()
	records, err := o.Audit.Records(0, 10)
	if err != nil || len(records) != 3 || records[0].Keys[0] != "active_min" || records[0].Actor != "ops" || records[0].Impact.Sessions != 1 || records[2].Actor != compat.ActorBoot {
		t.Errorf("the audit log has %+v, %v", records, err)
	}
	if n, err := o.Audit.Verify(); n != 3 || err != nil {
		t.Errorf("verified %d records, %v", n, err)
	}

	h.stop()
	<-h.done
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	again, o := restart(t, set)
	if s := o.Settings(); s.ActiveMin != 6 || s.ActiveMax != 7 || s.Revision != 3 {
		t.Errorf("after a restart the settings are %+v", s)
	}
	again.expect(t, client(5, "Linux-x64"), compat.UpdateBinaries, compat.RuleTooOld)
}

// restart is govern on a store that is there already.
func restart(t testing.TB, set config.Settings) (*house, *operator.Operator) {
	t.Helper()
	return govern(t, set)
}

// TestT9Floors plays with 7 and comes back with 6.
func TestT9Floors(t *testing.T) {
	t.Parallel()
	h, o := govern(t, versioned(t))
	change(t, o, func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 6, 7 })
	h.expect(t, client(6, "Linux-x64", account("ann")), compat.Accept, compat.RuleAccept)
	h.expect(t, client(7, "Linux-x64", account("ann")), compat.Accept, compat.RuleAccept)
	p, j := h.ask(t, client(6, "Linux-x64", account("ann")))
	if j.Verdict != compat.UpdateBinaries || !j.Pinned() || j.Floor != 7 {
		t.Errorf("came back with 6: %+v", j)
	}
	if files := next[*netproto.FileList](p).Files; !listed(files, "FoGame.so", "module") {
		t.Errorf("a pinned client is offered %v", files)
	}
	h.expect(t, client(6, "Linux-x64", account("bob")), compat.Accept, compat.RuleAccept)
	h.expect(t, client(6, "Linux-x64"), compat.Accept, compat.RuleAccept)
	h.expect(t, client(6, "Android-arm64", account("ann")), compat.UpdateViaStore, compat.RuleFloor)
	h.expect(t, client(6, "Windows-win64", account("ann")), compat.NoNativeUpdate, compat.RuleFloor)

	change(t, o, func(s *compat.Settings) { s.Developers = []string{"ann"} })
	h.expect(t, client(6, "Linux-x64", account("ann")), compat.Accept, compat.RuleAccept)
	if floor, err := o.Floors.Get("ann"); floor != 7 || err != nil {
		t.Errorf("a developer's floor is %d, %v", floor, err)
	}
	change(t, o, func(s *compat.Settings) { s.Developers = nil })

	for name, wrong := range map[string]struct {
		by      operator.Actor
		floor   int32
		comment string
		lower   bool
	}{
		"lowered without being asked for": {editor(), 6, "sorry", false},
		"lowered without a comment":       {editor(), 6, "", true},
		"raised beyond all":               {editor(), 8, "", false},
		"negative":                        {editor(), -1, "x", true},
		"by one who may only look":        {operator.Actor{Name: "eve", Role: operator.RoleView}, 7, "x", true},
	} {
		if _, err := o.Floors.Set(wrong.by, "ann", wrong.floor, wrong.comment, wrong.lower); err == nil {
			t.Errorf("a floor was %s", name)
		}
	}
	if was, err := o.Floors.Set(editor(), "ann", 6, "restored from a backup", true); was != 7 || err != nil {
		t.Errorf("lowering: %d, %v", was, err)
	}
	h.expect(t, client(6, "Linux-x64", account("ann")), compat.Accept, compat.RuleAccept)
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
	h, o := govern(t, versioned(t))
	h.expect(t, client(8, "Linux-x64", account("ann")), compat.Accept, compat.RuleAccept)
	h.expect(t, client(8, "Linux-x64", account("bob")), compat.Accept, compat.RuleAccept)
	s := o.Settings()
	s.ActiveMax = 7
	for _, c := range []operator.Change{{Confirm: true}, {Comment: "rolled back"}, {}} {
		c.Revision, c.Settings = s.Revision, s
		_, err := o.Change(t.Context(), editor(), c)
		var confirm *operator.ConfirmError
		if !errors.As(err, &confirm) || confirm.NeedsComment != (c.Comment == "") || confirm.NeedsConfirm == c.Confirm || confirm.Impact.Floors != 2 {
			t.Errorf("a lowering with %+v: %v", c, err)
		}
	}
	f, err := o.DryRun(s)
	if err != nil || f.Impact.Floors != 2 || f.Impact.Sessions != 2 || !f.Lowers || f.Then["CLIENT_TOO_NEW"] != 2 || f.Now["ACCEPT"] != 2 {
		t.Errorf("a dry run says %+v, %v", f, err)
	}
	change(t, o, func(s *compat.Settings) { s.ActiveMax = 7 })
	_, j := h.ask(t, client(7, "Linux-x64", account("ann")))
	if j.Verdict != compat.ClientTooNew || !j.Pinned() {
		t.Errorf("locked out: %+v", j)
	}
}

// TestT11Sidecars offers what sidecars say, and nothing that has none or is of a version that is not active.
func TestT11Sidecars(t *testing.T) {
	t.Parallel()
	set := versioned(t)
	h, o := govern(t, set)
	change(t, o, func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 6, 7 })
	p := h.expect(t, client(5, "Linux-x64"), compat.UpdateBinaries, compat.RuleTooOld)
	files := next[*netproto.FileList](p).Files
	if !listed(files, "FoGame.so", "module") || listed(files, "FoGame.so.compat.json", "") {
		t.Errorf("offered %v", files)
	}
	change(t, o, func(s *compat.Settings) { s.ActiveMax = 6 })
	p = h.expect(t, client(5, "Linux-x64"), compat.UpdateBinaries, compat.RuleTooOld)
	files = next[*netproto.FileList](p).Files
	if !listed(files, "FoGame.so", "module of 6") || !listed(files, "Core.zip", "") {
		t.Errorf("with 7 dormant, offered %v", files)
	}
	for _, f := range files {
		if f.Path != "FoGame.so" {
			continue
		}
		next[*netproto.Ping](p)
		p.send(&netproto.GetRange{Request: 9, Index: f.Index, Length: 1000})
		if got := next[*netproto.RangeData](p); string(got.Data) != "module of 6" {
			t.Errorf("the module of 6 is %q", got.Data)
		}
		break
	}
	h.expect(t, client(5, "Windows-win64"), compat.NoNativeUpdate, compat.RuleTooOld) // no sidecar
	h.expect(t, client(5, "Linux-arm64"), compat.NoNativeUpdate, compat.RuleTooOld)   // nothing
	h.expect(t, client(5, "Android-arm64"), compat.UpdateViaStore, compat.RuleTooOld)
	for _, target := range o.Show().Targets {
		if want := target.Name == "Windows-win64" || target.Name == "macOS-arm64"; target.NoBinary != want {
			t.Errorf("%+v, want no binary %t", target, want)
		}
		if target.Name == "Windows-win64" && !strings.Contains(target.Payloads[0].Why, "FoGame.dll.compat.json") {
			t.Errorf("why there is none: %q", target.Payloads[0].Why)
		}
	}
	change(t, o, func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 8, 8 })
	h.expect(t, client(5, "Linux-x64"), compat.NoNativeUpdate, compat.RuleTooOld) // it would be asked for again and again
}

// listed reports whether a file is in a list, with a content of a size where one is given.
func listed(files []netproto.ListedFile, name, content string) bool {
	for _, f := range files {
		if f.Path == name {
			return content == "" || f.Size == uint64(len(content))
		}
	}
	return false
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
		set := versioned(t)
		put(t, filepath.Join(set.Baking.PlatformBinaries, "Linux-x64", "FoGame.so.compat.json"), text)
		set.Compat.Payloads = ""
		h := &house{log: &logBook{}}
		o := h.govern(t, set, operator.Options{})
		h.Close()
		for _, target := range o.Show().Targets {
			if target.Name == "Linux-x64" && (!target.NoBinary || !strings.Contains(target.Payloads[0].Why, want)) {
				t.Errorf("%s: %+v", text, target)
			}
		}
	}
}

// TestPayloadFaults refuses folders of payloads that say one thing and hold another.
func TestPayloadFaults(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(root string){
		"no logic version": func(root string) { put(t, filepath.Join(root, "seven", "Linux-x64", "a.so"), "") },
		"of logic version 6": func(root string) {
			put(t, filepath.Join(root, "5", "Linux-x64", "FoGame.so"), "x")
			put(t, filepath.Join(root, "5", "Linux-x64", "FoGame.so.compat.json"), sidecarOf(6, 0))
		},
		"beside the target folders": func(root string) { put(t, filepath.Join(root, "6", "stray"), "x") },
	} {
		set := versioned(t)
		spoil(set.Compat.Payloads)
		c, err := catalogue.Open(t.Context(), set, (&house{log: &logBook{}}).logger())
		var fault *catalogue.Error
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if c != nil {
			c.Close()
		}
	}
}

// TestT13OneVerdict asks a connection, the API and Evaluate the same questions.
func TestT13OneVerdict(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	set := versioned(t)
	root := t.TempDir()
	set.Compat.Manifest = filepath.Join(root, "manifest.json")
	own := manifestOf(t, set.Compat.Manifest, 8, map[string]uint64{"Camera": 1, "Wallet": 2})
	set.Compat.Baselines = filepath.Join(root, "baselines")
	six := manifestOf(t, filepath.Join(set.Compat.Baselines, "6.json"), 6, map[string]uint64{"Camera": 1})
	set.Limits.ConnectionsPerSecond, set.Limits.Connections = 100_000, 100_000
	h, o := govern(t, set)
	address := monitored(t, h, set)
	random := newRandom()
	verdicts := map[compat.Verdict]int{}
	for round := range 12 {
		change(t, o, func(s *compat.Settings) {
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
			m := client(logic, ask.Target, account(ask.Account), func(said *netproto.HelloTags) {
				fmt.Sscanf(ask.Components, "%x", &said.Build.Components)
				said.Build.Seq, said.Build.Branch, said.Patch, said.Flags = ask.BuildSeq, ask.Branch, ask.Patch, compat.Flags(ask.Flags)
			})
			m.Compatibility = "any"
			direct, err := o.Evaluate(m.Hello(netproto.C1), ask.Account)
			if err != nil {
				t.Fatal(err)
			}
			p, j := h.ask(t, m)
			p.raw.Close()
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
	set := versioned(t)
	set.Limits.ConnectionsPerSecond = 100_000
	h, o := govern(t, set)
	crowd := 1000 / testlevel.Stride(25, 50)
	peers := make([]*peer, crowd)
	for i := range peers {
		peers[i] = h.expect(t, client(5+int32(i%4), "Linux-x64"), compat.Accept, compat.RuleAccept)
		next[*netproto.FileList](peers[i])
		next[*netproto.Ping](peers[i])
	}
	if n := total(o.Show().Connected); n != crowd {
		t.Errorf("%d are counted", n)
	}
	var times []time.Duration
	for i := range 11 {
		low := int32(6 - i%2)
		began := time.Now()
		change(t, o, func(s *compat.Settings) { s.ActiveMin = low })
		p, j := h.ask(t, client(5, "Linux-x64"))
		times = append(times, time.Since(began))
		if j.Plays() != (low == 5) {
			t.Errorf("after the change to %d: %v", low, j.Verdict)
		}
		p.raw.Close()
	}
	slices.Sort(times)
	t.Logf("11 changes reached a handshake in %v to %v, half of them within %v", times[0], times[10], times[5])
	if limit := 50 * time.Millisecond; times[5] > limit && testlevel.Full() { // the slowest are those of a disk or a machine that others use
		t.Errorf("a change took %v to reach a handshake, at most %v", times[5], limit)
	}
	for i, p := range peers {
		p.send(&netproto.Ping{})
		if !next[*netproto.Ping](p).Answer {
			t.Errorf("client %d was disturbed", i)
		}
		p.raw.Close()
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
	h, o := govern(t, versioned(t))
	old := h.expect(t, client(5, "Linux-x64"), compat.Accept, compat.RuleAccept)
	current := h.expect(t, client(6, "Linux-x64"), compat.Accept, compat.RuleAccept)
	s := o.Settings()
	s.ActiveMin = 6
	soon, never := time.Duration(0), operator.MaxKick+1
	if _, err := o.Change(t.Context(), editor(), operator.Change{Revision: s.Revision, Settings: s, Kick: &never}); err == nil {
		t.Error("a countdown that nobody remembers was taken")
	}
	if _, err := o.Change(t.Context(), editor(), operator.Change{Revision: s.Revision, Settings: s, Kick: &soon}); err != nil {
		t.Fatal(err)
	}
	said := old.gone()
	if refusal, is := said[len(said)-1].(*netproto.Refuse); !is || refusal.Reason != netproto.RefuseGoingDown {
		t.Errorf("the last words were %+v", said[len(said)-1])
	}
	next[*netproto.FileList](current)
	next[*netproto.Ping](current)
	current.send(&netproto.Ping{})
	next[*netproto.Ping](current)
	h.log.has(t, "warn", "let it in no longer")
}

// TestShow is what the dashboard and the command line read, as JSON that keeps its names.
func TestShow(t *testing.T) {
	t.Parallel()
	set := versioned(t)
	set.Compat.Manifest = filepath.Join(t.TempDir(), "manifest.json")
	m := manifestOf(t, set.Compat.Manifest, 8, map[string]uint64{"Camera": 1})
	h, o := unsecured(t, set)
	h.expect(t, client(7, "Linux-x64", func(s *netproto.HelloTags) { s.Build.Components = 1 }), compat.Accept, compat.RuleAccept)
	h.expect(t, client(99, "Amiga-68k"), compat.ClientTooNew, compat.RuleTooNew)
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
	set := settings(t)
	set.Compat.Store = filepath.Join(t.TempDir(), "compat.db")
	h, o := govern(t, set)
	p := h.expect(t, hello(netproto.C1), compat.Accept, compat.RuleAccept)
	if files := next[*netproto.FileList](p).Files; !listed(files, "FoGame.so", "module") {
		t.Errorf("offered %v", files)
	}
	change(t, o, func(s *compat.Settings) { s.Maintenance.Enabled, s.Maintenance.AllowDownload = true, false })
	p, j := h.ask(t, hello(netproto.C1))
	if j.Verdict != compat.Maintenance {
		t.Errorf("under maintenance: %+v", j)
	}
	p.gone()
	change(t, o, func(s *compat.Settings) { s.Maintenance.AllowDownload = true })
	p = h.expect(t, hello(netproto.C1), compat.Maintenance, compat.RuleMaintenance)
	if files := next[*netproto.FileList](p).Files; !listed(files, "FoGame.so", "module") {
		t.Errorf("under maintenance, offered %v", files)
	}
}

// TestReloadKeepsTheOperator offers new files under the settings in force, and refuses a build for which they make no sense.
func TestReloadKeepsTheOperator(t *testing.T) {
	t.Parallel()
	set := versioned(t)
	h, o := govern(t, set)
	change(t, o, func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 7, 8 })
	module := filepath.Join(set.Baking.PlatformBinaries, "Windows-win64", "FoGame.dll")
	h.expect(t, client(6, "Windows-win64"), compat.NoNativeUpdate, compat.RuleTooOld)
	put(t, module+".compat.json", sidecarOf(7, 0))
	if err := h.Reload(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	h.expect(t, client(6, "Windows-win64"), compat.UpdateBinaries, compat.RuleTooOld)
	older := set
	older.Compat.Supported = "5-7"
	if err := h.Reload(t.Context(), older); err == nil || !strings.Contains(err.Error(), "active_max") {
		t.Errorf("an older build was taken: %v", err)
	}
	h.expect(t, client(8, "Windows-win64"), compat.Accept, compat.RuleAccept)
	if err := os.Remove(module + ".compat.json"); err != nil {
		t.Fatal(err)
	}
}
