package compat_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/netproto/compat"
)

// declared is a production build that supports 5 to 8, with modules of each active version.
func declared() compat.Declared {
	return compat.Declared{
		Versioned: true, Supported: supported, Content: "packs-2", Own: []string{"play.example:4000", "[2001:db8::1]:4000"},
		Build:     compat.Build{Logic: 8, Components: 0x88, Seq: 841, Time: 1_772_460_300, ID: "server-8", Branch: "main"},
		Baselines: map[int32]uint64{5: 0x55, 6: 0x66, 7: 0x77, 8: 0x88},
		Targets: map[string]compat.Target{
			"Windows-win64": {Payloads: []compat.Payload{{Logic: 6, Components: 0x66}, {Logic: 8, Components: 0x88}, {Logic: 7, Components: 0x77}, {Logic: 7, Components: 0x77, Patch: 2}}},
			"iOS-arm64":     {Store: true}, "Linux-arm64": {},
		},
	}
}

// everything are settings in which every key says something, and all of it is right for declared.
func everything() compat.Settings {
	return compat.Settings{
		Revision: 12, ActiveMin: 6, ActiveMax: 7, Components: compat.PolicyEnforce, Manifest: compat.ManifestHashes, AutoUpgrade: true,
		PatchRules:  []compat.PatchRule{{Logic: 6, Target: "Windows-*", MinPatch: 3}, {Logic: 7, MinPatch: 2}},
		Redirect:    compat.RedirectSettings{Enabled: true, Host: "next.example", Port: 4000, TLS: true, BaseURL: "https://next.example/packs/"},
		Maintenance: compat.MaintenanceSettings{Enabled: true, Until: time.Date(2026, 3, 2, 14, 5, 0, 0, time.UTC), AllowDownload: true, Targets: []string{"iOS-*", "Windows-win64"}},
		StoreURLs:   map[string]string{"iOS-*": "itms-apps://apps.example/app/id1", "Android-*": "market://details?id=game", "*": "https://game.example/"},
		Messages:    map[string]string{"P-MAINT": "Back at noon.\nThank you!", "P-STORE": "<b>Новая версия</b> \u200c"},
		Developers:  []string{"ada", "grace"},
	}
}

// TestDocument: the document has the keys of docs/COMPATIBILITY.md, one form, and says what it was made of.
func TestDocument(t *testing.T) {
	const want = `{
  "revision": 12,
  "active_min": 6,
  "active_max": 7,
  "components": "enforce",
  "manifest": "hashes",
  "auto_upgrade": true,
  "patch_rules": [
    {
      "logic": 6,
      "target": "Windows-*",
      "min_patch": 3
    },
    {
      "logic": 7,
      "target": "",
      "min_patch": 2
    }
  ],
  "redirect": {
    "enabled": true,
    "host": "next.example",
    "port": 4000,
    "tls": true,
    "base_url": "https://next.example/packs/"
  },
  "maintenance": {
    "enabled": true,
    "until": "2026-03-02T14:05:00Z",
    "allow_download": true,
    "targets": [
      "iOS-*",
      "Windows-win64"
    ]
  },
  "store_urls": {
    "*": "https://game.example/",
    "Android-*": "market://details?id=game",
    "iOS-*": "itms-apps://apps.example/app/id1"
  },
  "messages": {
    "P-MAINT": "Back at noon.\nThank you!",
    "P-STORE": "<b>Новая версия</b> ` + "\u200c" + `"
  },
  "developers": [
    "ada",
    "grace"
  ]
}
`
	s := everything()
	if got := string(s.Encode()); got != want {
		t.Errorf("the document is\n%s", got)
	}
	s.Maintenance.Until = s.Maintenance.Until.In(time.FixedZone("", 7200)).Add(time.Millisecond)
	if got := string(s.Encode()); got != want {
		t.Errorf("the same moment elsewhere is\n%s", got)
	}
	parsed, err := compat.ParseSettings([]byte(want), compat.Settings{})
	if err != nil || !reflect.DeepEqual(parsed, everything()) {
		t.Errorf("%v: %+v", err, parsed)
	}
	empty := string(compat.Settings{Revision: 1}.Encode())
	for _, part := range []string{`"patch_rules": [],`, `"targets": []`, `"store_urls": {},`, `"messages": {},`, `"developers": []`} {
		if !strings.Contains(empty, part) {
			t.Errorf("nothing is written as\n%s, without %s", empty, part)
		}
	}
	if strings.Contains(empty, "until") {
		t.Errorf("no time is written as one: %s", empty)
	}
}

// TestParseSettings: what is not in a document stays as it is, a list is replaced and not merged, and mistakes of form are errors.
func TestParseSettings(t *testing.T) {
	base := everything()
	got, err := compat.ParseSettings([]byte(`{"active_min": 7, "patch_rules": [{"logic": 8}], "maintenance": {"enabled": false}, "messages": {"P-NEWER": "Soon."}}`), base)
	if err != nil {
		t.Fatal(err)
	}
	want := everything()
	want.ActiveMin, want.PatchRules, want.Maintenance.Enabled = 7, []compat.PatchRule{{Logic: 8}}, false
	want.Messages = map[string]string{"P-NEWER": "Soon."}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if !reflect.DeepEqual(base, everything()) {
		t.Error("what stays as it is was written to")
	}
	got, err = compat.ParseSettings([]byte(`{"store_urls": {"Web-*": "https://game.example/", "iOS-*": null}, "messages": {"P-NEWER": ""}}`), base)
	if err != nil || len(got.StoreURLs) != 1 || got.StoreURLs["Web-*"] == "" || len(got.Messages) != 0 {
		t.Errorf("entries that are taken away: %v, %+v", err, got)
	}
	got, err = compat.ParseSettings([]byte(`{"patch_rules": [], "store_urls": {}, "messages": {}, "developers": [], "maintenance": {"targets": []}}`), base)
	if err != nil || len(got.PatchRules)+len(got.StoreURLs)+len(got.Messages)+len(got.Developers)+len(got.Maintenance.Targets) != 0 {
		t.Errorf("%v: emptied lists are %+v", err, got)
	}
	for document, part := range map[string]string{
		``: "EOF", `{`: "EOF", `[]`: "array", `{"activemin": 6}`: `unknown field "activemin"`, `{} {}`: "more than one", `{"redirect": {"url": ""}}`: `"url"`,
		`{"active_min": 2147483648}`: "active_min", `{"patch_rules": [{"min_patch": -1}]}`: "min_patch", `{"maintenance": {"until": "noon"}}`: "noon",
		`{"redirect": {"port": 70000}}`: "port", strings.Repeat(" ", compat.MaxSettings) + `{}`: "at most",
	} {
		if _, err := compat.ParseSettings([]byte(document), base); err == nil || !strings.Contains(err.Error(), part) || !strings.HasPrefix(err.Error(), "settings: ") {
			t.Errorf("%.40q: %v, want something about %s", document, err, part)
		}
	}
}

// FuzzParseSettings: parsed settings have one form, and valid ones can be served.
func FuzzParseSettings(f *testing.F) {
	f.Add([]byte(`{}`))
	f.Add(everything().Encode())
	f.Add(compat.Defaults(declared()).Encode())
	f.Add([]byte(`{"maintenance":{"until":"0001-01-01T00:00:00Z"},"messages":null,"active_min":-1}`))
	f.Add([]byte(`{"maintenance":{"until":"9999-12-31T23:59:59-23:59"},"redirect":{"enabled":true}}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		s, err := compat.ParseSettings(document, compat.Defaults(declared()))
		if err != nil || s.Check(declared()) != nil {
			return
		}
		again, err := compat.ParseSettings(s.Encode(), compat.Settings{})
		if err != nil || !reflect.DeepEqual(again, s) || len(compat.Diff(s, again)) > 0 {
			t.Errorf("%v: %+v is read back as %+v", err, s, again)
		}
		h, served := player(7, "Windows-win64"), declared().Snapshot(s, time.Now())
		if why := invariants(served, &h, compat.Evaluate(served, &h)); why != "" {
			t.Error(why)
		}
		s.Hints(declared())
	})
}

// mistakes are the fields that an error names.
func mistakes(err error) (fields []string) {
	var wrong *compat.SettingsError
	if errors.As(err, &wrong) {
		for _, m := range wrong.Mistakes {
			fields = append(fields, m.Field)
		}
	}
	return fields
}

// TestCheck changes one thing of what is right, and wants to be told of it by name.
func TestCheck(t *testing.T) {
	type change = func(s *compat.Settings, d *compat.Declared)
	for _, e := range []struct {
		name   string
		change change
		fields []string
	}{
		{"nothing", func(*compat.Settings, *compat.Declared) {}, nil},
		{"no revision", func(s *compat.Settings, _ *compat.Declared) { s.Revision = 0 }, []string{"revision"}},
		{"ends crossed", func(s *compat.Settings, _ *compat.Declared) { s.ActiveMin, s.ActiveMax = 7, 6 }, []string{"active_min"}},
		{"below supported", func(s *compat.Settings, _ *compat.Declared) { s.ActiveMin = 4 }, []string{"active_min"}},
		{"above supported", func(s *compat.Settings, _ *compat.Declared) { s.ActiveMax = 9 }, []string{"active_max"}},
		{"everything supported", func(s *compat.Settings, _ *compat.Declared) { s.ActiveMin, s.ActiveMax = 5, 8 }, nil},
		{"no versions", func(_ *compat.Settings, d *compat.Declared) { d.Versioned = false }, []string{"active_min", "active_max", "patch_rules[0].logic", "patch_rules[1].logic", "redirect.enabled"}},
		{"no policy", func(s *compat.Settings, _ *compat.Declared) { s.Components = "" }, []string{"components"}},
		{"warn in production", func(s *compat.Settings, _ *compat.Declared) { s.Components = compat.PolicyWarn }, []string{"components"}},
		{"off in production", func(s *compat.Settings, _ *compat.Declared) { s.Components = compat.PolicyOff }, []string{"components"}},
		{"off where it is allowed", func(s *compat.Settings, d *compat.Declared) { s.Components, d.Lax = compat.PolicyOff, true }, nil},
		{"warn at a developer's", func(s *compat.Settings, d *compat.Declared) { s.Components, d.Development = compat.PolicyWarn, true }, nil},
		{"no manifest mode", func(s *compat.Settings, _ *compat.Declared) { s.Manifest = "all" }, []string{"manifest"}},
		{"a rule outside of supported", func(s *compat.Settings, _ *compat.Declared) { s.PatchRules[1].Logic = 9 }, []string{"patch_rules[1].logic"}},
		{"a rule for no pattern", func(s *compat.Settings, _ *compat.Declared) { s.PatchRules[0].Target = "Windows-[" }, []string{"patch_rules[0].target"}},
		{"a rule for a folder", func(s *compat.Settings, _ *compat.Declared) { s.PatchRules[0].Target = "a/b" }, []string{"patch_rules[0].target"}},
		{"a rule for a long name", func(s *compat.Settings, _ *compat.Declared) { s.PatchRules[0].Target = strings.Repeat("x", 65) }, []string{"patch_rules[0].target"}},
		{"a rule for a name that can't be shown", func(s *compat.Settings, _ *compat.Declared) { s.PatchRules[0].Target = "Windows\x7f" }, []string{"patch_rules[0].target"}},
		{"too many rules", func(s *compat.Settings, _ *compat.Declared) {
			s.PatchRules = slices.Repeat(s.PatchRules[:1], compat.MaxPatchRules+1)
		}, []string{"patch_rules"}},
		{"a redirect to nowhere", func(s *compat.Settings, _ *compat.Declared) { s.Redirect = compat.RedirectSettings{Enabled: true} }, []string{"redirect.host", "redirect.port", "redirect.base_url"}},
		{"no redirect", func(s *compat.Settings, _ *compat.Declared) { s.Redirect = compat.RedirectSettings{} }, nil},
		{"a redirect that is not on", func(s *compat.Settings, _ *compat.Declared) {
			s.Redirect = compat.RedirectSettings{Host: "play.example", Port: 4000}
		}, nil},
		{"a redirect to here", func(s *compat.Settings, _ *compat.Declared) { s.Redirect.Host = "Play.Example." }, []string{"redirect.host"}},
		{"a redirect to another port here", func(s *compat.Settings, _ *compat.Declared) { s.Redirect.Host, s.Redirect.Port = "play.example", 4001 }, nil},
		{"a redirect to our address", func(s *compat.Settings, _ *compat.Declared) { s.Redirect.Host = "2001:DB8:0::1" }, []string{"redirect.host"}},
		{"a host that is none", func(s *compat.Settings, _ *compat.Declared) { s.Redirect.Host = "next.example/x" }, []string{"redirect.host"}},
		{"a base that is none", func(s *compat.Settings, _ *compat.Declared) { s.Redirect.BaseURL = "ftp://next.example" }, []string{"redirect.base_url"}},
		{"a base with a password", func(s *compat.Settings, _ *compat.Declared) { s.Redirect.BaseURL = "https://a:b@next.example" }, []string{"redirect.base_url"}},
		{"a base without a host", func(s *compat.Settings, _ *compat.Declared) { s.Redirect.BaseURL = "https:packs" }, []string{"redirect.base_url"}},
		{"a year beyond all", func(s *compat.Settings, _ *compat.Declared) {
			s.Maintenance.Until = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
		}, []string{"maintenance.until"}},
		{"a year before all", func(s *compat.Settings, _ *compat.Declared) { s.Maintenance.Until = time.Unix(-1, 0) }, []string{"maintenance.until"}},
		{"maintenance of no name", func(s *compat.Settings, _ *compat.Declared) { s.Maintenance.Targets[1] = "" }, []string{"maintenance.targets[1]"}},
		{"maintenance of too many", func(s *compat.Settings, _ *compat.Declared) {
			s.Maintenance.Targets = slices.Repeat([]string{"*"}, compat.MaxTargeted+1)
		}, []string{"maintenance.targets"}},
		{"a link that runs something", func(s *compat.Settings, _ *compat.Declared) { s.StoreURLs["*"] = "javascript:alert(1)" }, []string{"store_urls.*"}},
		{"a link to a file", func(s *compat.Settings, _ *compat.Declared) { s.StoreURLs["*"] = "file:///etc/passwd" }, []string{"store_urls.*"}},
		{"a link without an end", func(s *compat.Settings, _ *compat.Declared) {
			s.StoreURLs["*"] = "https://x/" + strings.Repeat("y", 510)
		}, []string{"store_urls.*"}},
		{"a link for no pattern", func(s *compat.Settings, _ *compat.Declared) { s.StoreURLs[`\`] = "https://game.example/" }, []string{`store_urls.\`}},
		{"too many links", func(s *compat.Settings, _ *compat.Declared) {
			for i := range compat.MaxTargeted {
				s.StoreURLs[fmt.Sprint("a", i)] = "https://game.example/"
			}
		}, []string{"store_urls"}},
		{"a text for no popup", func(s *compat.Settings, _ *compat.Declared) { s.Messages["P-MAINTAIN"] = "x" }, []string{"messages.P-MAINTAIN"}},
		{"no text", func(s *compat.Settings, _ *compat.Declared) { s.Messages["P-STORE"] = "" }, []string{"messages.P-STORE"}},
		{"a long text", func(s *compat.Settings, _ *compat.Declared) { s.Messages["P-STORE"] = strings.Repeat("x", 1001) }, []string{"messages.P-STORE"}},
		{"a text that rings", func(s *compat.Settings, _ *compat.Declared) { s.Messages["P-STORE"] = "x\a" }, []string{"messages.P-STORE"}},
		{"a text that turns round", func(s *compat.Settings, _ *compat.Declared) { s.Messages["P-STORE"] = "x\u202ey" }, []string{"messages.P-STORE"}},
		{"bytes that are no text", func(s *compat.Settings, _ *compat.Declared) { s.Messages["P-STORE"] = "x\xff" }, []string{"messages.P-STORE"}},
		{"an empty developer", func(s *compat.Settings, _ *compat.Declared) { s.Developers[0] = "" }, []string{"developers[0]"}},
		{"a long account", func(s *compat.Settings, _ *compat.Declared) { s.Developers[1] = strings.Repeat("x", 65) }, []string{"developers[1]"}},
		{"one account twice", func(s *compat.Settings, _ *compat.Declared) { s.Developers[1] = "ada" }, []string{"developers[1]"}},
		{"too many developers", func(s *compat.Settings, _ *compat.Declared) {
			s.Developers = nil
			for i := range compat.MaxDevelopers + 1 {
				s.Developers = append(s.Developers, fmt.Sprint(i))
			}
		}, []string{"developers"}},
		{"several at once", func(s *compat.Settings, _ *compat.Declared) {
			s.ActiveMax, s.Manifest, s.Redirect.Port = 9, "", 0
		}, []string{"active_max", "manifest", "redirect.port"}},
	} {
		s, d := everything(), declared()
		e.change(&s, &d)
		if err := s.Check(d); !slices.Equal(mistakes(err), e.fields) || err != nil && !strings.HasPrefix(err.Error(), "settings: "+e.fields[0]+": ") {
			t.Errorf("%s: %v, want mistakes of %v", e.name, err, e.fields)
		}
	}
}

// TestLargestSettings: what Check lets pass fits the document that ParseSettings reads, and two of it fit an audit record.
func TestLargestSettings(t *testing.T) {
	for _, long := range []string{`"`, "<", "\u2028", "x"} { // escaped in one document, in the other, in both, in neither
		s := everything()
		s.Developers = nil
		for i := range compat.MaxDevelopers {
			s.Developers = append(s.Developers, fmt.Sprintf("%s%04d", strings.Repeat(long, 60/len(long)), i))
		}
		for _, key := range compat.Popups() {
			s.Messages[key] = strings.Repeat(long, 1000/len(long))
		}
		for i := len(s.StoreURLs); i < compat.MaxTargeted; i++ {
			s.StoreURLs[fmt.Sprintf("%s%02d", strings.Repeat("<", 62), i)] = "https://x/" + strings.Repeat("<", 502)
		}
		s.PatchRules = slices.Repeat([]compat.PatchRule{{Logic: 8, Target: strings.Repeat(long, 64/len(long))}}, compat.MaxPatchRules)
		s.Maintenance.Targets = slices.Repeat([]string{strings.Repeat("<", 64)}, compat.MaxTargeted)
		if err := s.Check(declared()); err != nil {
			t.Fatal(err)
		}
		document := s.Encode()
		if _, err := compat.ParseSettings(document, compat.Settings{}); err != nil {
			t.Error(err)
		}
		if line := compat.Chain(nil, compat.Audit{Before: document, After: document, Keys: compat.Diff(s, everything())}).Line(); len(line) > compat.MaxAuditLine {
			t.Errorf("a record has %d bytes", len(line))
		}
	}
}

// TestHints: rules without effect, versions that are not compared, modules that are not offered.
func TestHints(t *testing.T) {
	rule := func(logic int32, target string, patch uint32) compat.PatchRule {
		return compat.PatchRule{Logic: logic, Target: target, MinPatch: patch}
	}
	for _, e := range []struct {
		name   string
		change func(s *compat.Settings, d *compat.Declared)
		want   []string // "field: the beginning of why"
	}{
		{"nothing", func(*compat.Settings, *compat.Declared) {}, nil},
		{"the same twice", func(s *compat.Settings, _ *compat.Declared) {
			s.PatchRules = []compat.PatchRule{rule(6, "iOS-*", 1), rule(6, "iOS-*", 1)}
		}, []string{"patch_rules[1]: redundant: patch_rules[0]"}},
		{"a stricter one for the same", func(s *compat.Settings, _ *compat.Declared) {
			s.PatchRules = []compat.PatchRule{rule(6, "iOS-*", 1), rule(6, "iOS-*", 2)}
		}, []string{"patch_rules[0]: redundant: patch_rules[1]"}},
		{"a stricter one for all", func(s *compat.Settings, _ *compat.Declared) {
			s.PatchRules = []compat.PatchRule{rule(6, "iOS-*", 1), rule(6, "", 2)}
		}, []string{"patch_rules[0]: redundant: patch_rules[1]"}},
		{"all said in two ways", func(s *compat.Settings, _ *compat.Declared) {
			s.PatchRules = []compat.PatchRule{rule(6, "", 1), rule(6, "*", 1)}
		}, []string{"patch_rules[1]: redundant: patch_rules[0]"}},
		{"one name within a pattern", func(s *compat.Settings, _ *compat.Declared) {
			s.PatchRules = []compat.PatchRule{rule(6, "iOS-arm64", 1), rule(6, "iOS-*", 1)}
		}, []string{"patch_rules[0]: redundant: patch_rules[1]"}},
		{"a laxer one for more", func(s *compat.Settings, _ *compat.Declared) {
			s.PatchRules = []compat.PatchRule{rule(6, "iOS-arm64", 2), rule(6, "iOS-*", 1)}
		}, nil},
		{"of other versions", func(s *compat.Settings, _ *compat.Declared) {
			s.PatchRules = []compat.PatchRule{rule(6, "iOS-*", 1), rule(7, "iOS-*", 1)}
		}, nil},
		{"patch 0", func(s *compat.Settings, _ *compat.Declared) { s.PatchRules = []compat.PatchRule{rule(6, "iOS-*", 0)} }, []string{"patch_rules[0]: redundant: every client"}},
		{"a version that is not active", func(s *compat.Settings, _ *compat.Declared) { s.PatchRules = []compat.PatchRule{rule(8, "iOS-*", 1)} }, []string{"patch_rules[0]: no effect while"}},
		{"a text that no answer takes along", func(s *compat.Settings, _ *compat.Declared) { s.Messages["P-LOOP"] = "x" }, []string{"messages.P-LOOP: no effect"}},
		{"missing baselines", func(_ *compat.Settings, d *compat.Declared) { d.Baselines = nil }, []string{"components: not compared for logic version 6-7"}},
		{"missing baselines without a policy", func(s *compat.Settings, d *compat.Declared) { d.Baselines, s.Components = nil, compat.PolicyOff }, nil},
		{"modules that no client may have", func(s *compat.Settings, d *compat.Declared) {
			d.Targets["Linux-x64"] = compat.Target{Payloads: []compat.Payload{{Logic: 8, Components: 0x88}, {Undeclared: true}, {Logic: 7, Components: 1}, {Logic: 7, Components: 0x77}, {Undeclared: true}}}
			s.PatchRules = []compat.PatchRule{rule(7, "Linux-*", 1)}
		}, []string{"active_max: clients of Linux-x64 can't be updated: of its modules 1 of a logic version that is not active, 1 with a patch that the rules refuse, 1 with other components than their logic version has, 2 without a sidecar"}},
		{"modules of a store", func(_ *compat.Settings, d *compat.Declared) {
			d.Targets["iOS-arm64"] = compat.Target{Store: true, Payloads: []compat.Payload{{Undeclared: true}}}
		}, nil},
		{"no versions", func(s *compat.Settings, d *compat.Declared) { s.PatchRules, d.Versioned, d.Baselines = nil, false, nil }, nil},
	} {
		s, d := everything(), declared()
		e.change(&s, &d)
		hints := s.Hints(d)
		if !slices.EqualFunc(hints, e.want, func(m compat.Mistake, want string) bool { return strings.HasPrefix(m.String(), want) }) {
			t.Errorf("%s: %v, want %v", e.name, hints, e.want)
		}
	}
}

// TestDiff changes one key after another, and both ends of the comparison.
func TestDiff(t *testing.T) {
	for keys, change := range map[string]func(s *compat.Settings){
		"":                                  func(s *compat.Settings) { s.Revision = 99 },
		"active_min":                        func(s *compat.Settings) { s.ActiveMin = 5 },
		"active_max,active_min":             func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 8, 8 },
		"components,manifest":               func(s *compat.Settings) { s.Components, s.Manifest = compat.PolicyOff, compat.ManifestFull },
		"auto_upgrade":                      func(s *compat.Settings) { s.AutoUpgrade = false },
		"patch_rules":                       func(s *compat.Settings) { s.PatchRules[1].MinPatch++ },
		"redirect.host,redirect.port":       func(s *compat.Settings) { s.Redirect.Host, s.Redirect.Port = "a", 1 },
		"redirect.base_url,redirect.tls":    func(s *compat.Settings) { s.Redirect.BaseURL, s.Redirect.TLS = "", false },
		"redirect.enabled":                  func(s *compat.Settings) { s.Redirect.Enabled = false },
		"maintenance.until":                 func(s *compat.Settings) { s.Maintenance.Until = time.Time{} },
		"maintenance.enabled":               func(s *compat.Settings) { s.Maintenance.Enabled = false },
		"maintenance.allow_download":        func(s *compat.Settings) { s.Maintenance.AllowDownload = false },
		"maintenance.targets":               func(s *compat.Settings) { s.Maintenance.Targets = nil },
		"store_urls.*,store_urls.Web-*":     func(s *compat.Settings) { delete(s.StoreURLs, "*"); s.StoreURLs["Web-*"] = "https://game.example/" },
		"messages.P-MAINT,messages.P-NOBIN": func(s *compat.Settings) { s.Messages["P-MAINT"], s.Messages["P-NOBIN"] = "a", "b" },
		"developers":                        func(s *compat.Settings) { s.Developers = nil },
	} {
		s := everything()
		change(&s)
		for _, got := range [][]string{compat.Diff(everything(), s), compat.Diff(s, everything())} {
			if strings.Join(got, ",") != keys || !slices.IsSorted(got) {
				t.Errorf("%v, want %s", got, keys)
			}
		}
	}
	empty := compat.Settings{Developers: []string{}, Messages: map[string]string{}}
	if got := compat.Diff(compat.Settings{}, empty); len(got) != 0 {
		t.Errorf("nothing differs from nothing in %v", got)
	}
}

// TestLowers: only an end that goes down needs to be confirmed.
func TestLowers(t *testing.T) {
	for to, want := range map[compat.Range]bool{{6, 7}: false, {7, 7}: false, {6, 8}: false, {5, 7}: true, {6, 6}: true, {5, 8}: true, {7, 8}: false} {
		s := everything()
		s.ActiveMin, s.ActiveMax = to.Min, to.Max
		if got := compat.Lowers(everything(), s); got != want {
			t.Errorf("6-7 to %s lowers: %v", to, got)
		}
	}
}
