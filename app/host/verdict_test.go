package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto/compat"
	"collet/netproto/transporttest"
)

// The two logic versions of these tests as compatibility versions.
const (
	sumOf6, sumOf7 = 0x344f237d92ca82f0, 0x4c37681f163b1204
	version6       = "L6-344f237d92ca82f0"
	version7       = "L7-4c37681f163b1204"
)

// production is a server of logic version 7 that serves 6 and 7.
func production() compat.Snapshot {
	return compat.Snapshot{
		Revision: 12, Compatibility: version7, Versioned: true, Supported: compat.Range{Min: 5, Max: 8}, Active: compat.Range{Min: 6, Max: 7},
		Components: sumOf7, Baselines: map[int32]uint64{6: sumOf6, 7: sumOf7},
		Build:  compat.Build{Logic: 7, Components: sumOf7, Time: 1_772_460_300, Seq: 841, ID: "9f2ac41", Branch: "main"},
		Policy: compat.PolicyEnforce, Manifest: compat.ManifestNone,
		Targets:   map[string]compat.Target{"Linux-x64": {Payloads: []compat.Payload{{Logic: 7, Components: sumOf7}}}},
		StoreURLs: map[string]string{}, Messages: map[string]string{},
	}
}

func packsAndModule() map[string]string {
	return map[string]string{"Lathe.so": strings.Repeat("module of 7 ", 50), "Core.zip": strings.Repeat("pack ", 200)}
}

// with changes a snapshot.
func with(s compat.Snapshot, change func(*compat.Snapshot)) compat.Snapshot {
	change(&s)
	return s
}

// TestVerdictsEndAsTheTableSays starts the client against a server that gives each verdict: exit code, words on standard error,
// and fetched files.
func TestVerdictsEndAsTheTableSays(t *testing.T) {
	nowhere := map[string]compat.Target{}
	store := map[string]compat.Target{"Linux-x64": {Store: true}}
	for _, test := range []struct {
		name    string
		change  func(*compat.Snapshot)
		floor   int32
		version string
		outcome update.Outcome
		exit    int
		says    string // on standard error
		fetches bool
	}{
		{"current", func(*compat.Snapshot) {}, 0, version7, update.ResourcesReady, 0, "", true},
		{"older and active", func(*compat.Snapshot) {}, 0, version6, update.ResourcesReady, 0, "", true},
		{"too old", func(*compat.Snapshot) {}, 0, "L5-0000000000000005", update.BinariesStaged, 0, "", true},
		{"too old, store", func(s *compat.Snapshot) { s.Targets = store }, 0, "L5-0000000000000005", update.PlatformUnsupported, 12, "Client outdated", false},
		{"too old, no payload", func(s *compat.Snapshot) { s.Targets = nowhere }, 0, "L5-0000000000000005", update.ServerMissingNativeUpdate, 13, "Linux-x64", false},
		{"dormant", func(*compat.Snapshot) {}, 0, "L8-0000000000000008", update.ClientTooNew, 17, "newer than this server", false},
		{"unheard of", func(*compat.Snapshot) {}, 0, "L9-0000000000000009", update.ClientTooNew, 17, "newer than this server", false},
		{"pinned", func(*compat.Snapshot) {}, 7, version6, update.BinariesStaged, 0, "", true},
		{"pinned, no payload", func(s *compat.Snapshot) { s.Targets = nowhere }, 7, version6, update.PlayerPinned, 11, "version 7", false},
		{"pinned above all", func(*compat.Snapshot) {}, 8, version7, update.PlayerPinned, 11, "version 8", false},
		{"components, a developer's server", func(s *compat.Snapshot) { s.Development = true }, 0, "L7-0000000000000077", update.ComponentsMismatch, 18, "Client and server differ", false},
		{"maintenance", func(s *compat.Snapshot) { s.Maintenance, s.RetryAfter = true, 1200 }, 0, version7, update.Maintenance, 19, "about 20 min", false},
		{"maintenance, with downloads", func(s *compat.Snapshot) { s.Maintenance, s.AllowFetch, s.RetryAfter = true, true, 60 }, 0, version7, update.Maintenance, 19, "about 1 min", true},
		{"an operator's words", func(s *compat.Snapshot) {
			s.Messages[compat.PopupNewer] = "We update at noon."
		}, 0, "L9-0000000000000009", update.ClientTooNew, 17, "We update at noon.", false},
		{"words for another popup", func(s *compat.Snapshot) {
			s.Messages[compat.PopupStore] = "We update at noon."
		}, 0, "L9-0000000000000009", update.ClientTooNew, 17, "no download can change that", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			j := newJudging(t, with(production(), test.change), packsAndModule())
			j.floor = test.floor
			got := j.sync(t.TempDir(), test.version)
			if got.code != test.exit || got.end.Outcome != test.outcome.String() {
				t.Errorf("%s (exit %d), want %s (%d): %+v", got.end.Outcome, got.code, test.outcome, test.exit, got.end)
			}
			if !strings.Contains(got.aside, test.says) || test.says == "" && got.aside != "" {
				t.Errorf("standard error is %q, want %q in it", got.aside, test.says)
			}
			if fetched := j.bytesSent() > 0; fetched != test.fetches {
				t.Errorf("%d bytes were fetched", j.bytesSent())
			}
		})
	}
}

// TestPrefetchSavesTheUpdate: after the maintenance nothing is left to fetch.
func TestPrefetchSavesTheUpdate(t *testing.T) {
	j := newJudging(t, with(production(), func(s *compat.Snapshot) { s.Maintenance, s.AllowFetch = true, true }), packsAndModule())
	dir := t.TempDir()
	if got := j.sync(dir, version7); got.code != 19 {
		t.Fatalf("%+v", got)
	}
	before := j.bytesSent()
	if _, err := os.Stat(filepath.Join(dir, "Resources", "Core.zip")); err == nil || before == 0 {
		t.Errorf("%d bytes were fetched; the pack is live: %v", before, err == nil)
	}
	j.change(func(s *compat.Snapshot) { s.Maintenance = false })
	if got := j.sync(dir, version7); got.code != 0 || j.bytesSent() != before {
		t.Errorf("%+v, %d bytes more", got, j.bytesSent()-before)
	}
	if _, err := os.Stat(filepath.Join(dir, "Resources", "Core.zip")); err != nil {
		t.Error(err)
	}
}

// TestT11UpdateLoop is the loop guard from end to end: one update is applied, and the same demand after it ends in P-LOOP without a byte, start
// after start, until the server asks for something else.
func TestT11UpdateLoop(t *testing.T) {
	j := newJudging(t, production(), packsAndModule())
	dir := t.TempDir()
	const old = "L5-0000000000000005" // what the module says of itself, whatever was installed
	if got := j.sync(dir, old); got.code != 0 || got.end.Outcome != update.BinariesStaged.String() {
		t.Fatalf("%+v", got)
	}
	before := j.bytesSent()
	for range 2 {
		got := j.sync(dir, old)
		if got.code != 10 || got.end.Outcome != update.UpdateLoop.String() || j.bytesSent() != before {
			t.Fatalf("%+v, %d bytes more", got, j.bytesSent()-before)
		}
		if !strings.Contains(got.aside, "Update did not help") || !strings.Contains(got.aside, "R5-12-") {
			t.Errorf("standard error is %q", got.aside)
		}
	}
	var flags []bool
	for _, hello := range j.met() {
		flags = append(flags, hello.Flags&compat.FlagAfterUpdate != 0)
	}
	if !slices.Equal(flags, []bool{false, true, true}) {
		t.Errorf("flag 8 was told %v", flags)
	}
	j.change(func(s *compat.Snapshot) { s.Revision++ })
	if got := j.sync(dir, old); got.code != 0 {
		t.Errorf("another revision: %+v", got)
	}
	if got := j.sync(dir, old); got.code != 10 {
		t.Errorf("the same once more: %+v", got)
	}
	if got := j.sync(dir, version7); got.code != 0 {
		t.Errorf("an update that helped: %+v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "Cache", install.GuardFile)); err == nil {
		t.Error("the guard stays although the update helped")
	}
	if got := j.sync(dir, old); got.code != 0 {
		t.Errorf("after one that helped: %+v", got)
	}
}

// TestUpdateLoopForgetsWhatWasTakenBack: where the set before an update is back, that update has not helped nor failed.
func TestUpdateLoopForgetsWhatWasTakenBack(t *testing.T) {
	j := newJudging(t, production(), packsAndModule())
	dir := t.TempDir()
	const old = "L5-0000000000000005"
	for _, want := range []int{0, 10} {
		if got := j.sync(dir, old); got.code != want {
			t.Fatalf("%+v", got)
		}
	}
	installed := ""
	for _, note := range j.sync(dir, "", offline).notes {
		if _, set, found := strings.Cut(note, "of set "); found {
			installed, _, _ = strings.Cut(set, ",")
		}
	}
	name := filepath.Join(dir, "Cache", install.GuardFile)
	data, err := os.ReadFile(name)
	if err != nil || installed == "" {
		t.Fatalf("set %q, %v", installed, err)
	}
	putFile(t, name, []byte(strings.Replace(string(data), `"before":""`, `"before":"another"`, 1)))
	if got := j.sync(dir, old); got.code != 10 {
		t.Errorf("another set before: %+v", got)
	}
	kept, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(kept), `"before":"`)
	putFile(t, name, []byte(string(kept[:at])+`"before":"`+installed+`"}`))
	if got := j.sync(dir, old); got.code != 0 {
		t.Errorf("the set before is back: %+v", got)
	}
}

// TestUpdateLoopLetsDamageBeRepaired: a missing file is fetched again, even if the update was applied before.
func TestUpdateLoopLetsDamageBeRepaired(t *testing.T) {
	j := newJudging(t, production(), packsAndModule())
	dir := t.TempDir()
	const old = "L5-0000000000000005"
	if got := j.sync(dir, old); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if got := j.sync(dir, old); got.code != 10 {
		t.Fatalf("%+v", got)
	}
	if err := os.Remove(filepath.Join(dir, "Lathe.so")); err != nil {
		t.Fatal(err)
	}
	before := j.bytesSent()
	if got := j.sync(dir, old); got.code != 0 || j.bytesSent() == before {
		t.Errorf("%+v, %d bytes more", got, j.bytesSent()-before)
	}
}

// TestT12RedirectOnce: one redirect is followed and told with flag 4, a second one is not.
func TestT12RedirectOnce(t *testing.T) {
	const newer = "L9-0000000000000009"
	authority, err := transporttest.NewAuthority("Games")
	if err != nil {
		t.Fatal(err)
	}
	pki := t.TempDir()
	staging := newJudging(t, with(production(), func(s *compat.Snapshot) {
		s.Active, s.Supported = compat.Range{Min: 9, Max: 9}, compat.Range{Min: 9, Max: 9}
		s.Baselines = map[int32]uint64{9: 9}
	}), packsAndModule()).secured(authority, pki)
	live := newJudging(t, with(production(), func(s *compat.Snapshot) { s.Redirect = staging.endpoint() }), packsAndModule()).secured(authority, pki)
	got := live.sync(t.TempDir(), newer)
	if got.code != 0 || got.end.Outcome != update.ResourcesReady.String() || staging.bytesSent() == 0 || live.bytesSent() != 0 {
		t.Errorf("%+v; %d and %d bytes", got, staging.bytesSent(), live.bytesSent())
	}
	if want := fmt.Sprintf("Switching server: tls://%s", staging.addr); !slices.Contains(got.notes, want) {
		t.Errorf("notes %q, want %q", got.notes, want)
	}
	if a, b := live.met(), staging.met(); len(a) != 1 || len(b) != 1 || a[0].Flags&compat.FlagRedirected != 0 || b[0].Flags&compat.FlagRedirected == 0 {
		t.Errorf("hellos %+v and %+v", a, b)
	}
	third := newJudging(t, production(), packsAndModule()).secured(authority, pki)
	staging.change(func(s *compat.Snapshot) { s.Active, s.Redirect = compat.Range{Min: 7, Max: 7}, third.endpoint() })
	got = live.sync(t.TempDir(), newer)
	if got.code != 17 || len(third.met()) != 0 {
		t.Errorf("a second redirect: %+v, and %d hellos", got, len(third.met()))
	}
	live.change(func(s *compat.Snapshot) { s.Redirect = live.endpoint() })
	if got = live.sync(t.TempDir(), newer); got.code != 17 {
		t.Errorf("a redirect to itself: %+v", got)
	}
	clear := newJudging(t, with(production(), func(s *compat.Snapshot) { s.Redirect = staging.endpoint() }), packsAndModule())
	before := len(staging.met())
	if got = clear.sync(t.TempDir(), newer); got.code != 17 || len(staging.met()) != before {
		t.Errorf("sent away by a server that nothing proves: %+v", got)
	}
}

// offline starts the installed game.
func offline(o *Options) { o.Offline = true }
