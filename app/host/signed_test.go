package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/app/acquire"
	"collet/app/settings"
	"collet/app/update"
)

func TestLanguageTag(t *testing.T) {
	for locale, want := range map[string]string{"ru_RU.UTF-8": "ru-RU", "pt-BR": "pt-BR", "de:ru": "de", "C": "C", "": "", "en_US@euro": "en-US"} {
		if got := languageTag(locale); got != want {
			t.Errorf("%q: %q", locale, got)
		}
	}
}

// TestSigned puts flags and settings together.
func TestSigned(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "root.json")
	if err := os.WriteFile(root, []byte("a root"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "large"), make([]byte, maxRootFile+1), 0o644); err != nil {
		t.Fatal(err)
	}
	const web = "http://127.0.0.1/game"
	for _, test := range []struct {
		name   string
		f      Options
		set    func(*settings.Settings)
		on     bool
		server bool
		fault  string
	}{
		{"nothing", Options{Trust: "auto"}, nil, false, true, ""},
		{"a web server", Options{Trust: "auto", Release: []string{web}, TrustedRoot: root}, nil, true, false, ""},
		{"and a server", Options{Trust: "auto", Release: []string{web}, TrustedRoot: root, Server: "x:1"}, nil, true, true, ""},
		{"a server of the settings", Options{Trust: "auto", TrustedRoot: root}, func(s *settings.Settings) { s.NamesServer = true }, true, true, ""},
		{"both of the settings", Options{Trust: "auto"}, func(s *settings.Settings) {
			s.Release.Urls, s.Release.TrustedRoot, s.NamesServer = []string{web}, "root.json", true
		}, true, true, ""},
		{"told otherwise", Options{Trust: "sha256", TrustedRoot: root}, nil, false, true, ""},
		{"the settings told otherwise", Options{TrustedRoot: root}, func(s *settings.Settings) { s.Update.Trust = "sha256" }, false, true, ""},
		{"the command line goes before them", Options{Trust: "release", TrustedRoot: root}, func(s *settings.Settings) { s.Update.Trust = "fnv" }, true, true, ""},
		{"a web server of the settings without signatures", Options{TrustedRoot: root}, func(s *settings.Settings) {
			s.Release.Urls, s.Update.Trust = []string{web}, "sha256"
		}, false, false, "exclude each other"},
		{"no root", Options{Trust: "auto", Release: []string{web}}, nil, false, false, "need a trusted root"},
		{"no root, asked for by name", Options{Trust: "release"}, nil, false, false, "need a trusted root"},
		{"a root that is not there", Options{Trust: "auto", TrustedRoot: filepath.Join(dir, "gone")}, nil, false, false, "trusted root"},
		{"a root that is none", Options{Trust: "auto", TrustedRoot: filepath.Join(dir, "large")}, nil, false, false, "more than"},
	} {
		var set settings.Settings
		if test.set != nil {
			test.set(&set)
		}
		s, err := newSigned(test.f, set, dir, func(string) string { return "" })
		if (err != nil) != (test.fault != "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if err == nil && (s.on() != test.on || s.server != test.server || s.channel != "stable") {
			t.Errorf("%s: on %t, server %t, channel %q", test.name, s.on(), s.server, s.channel)
		}
		if err == nil && (s.offline > 0) != test.on {
			t.Errorf("%s: offline after %v", test.name, s.offline)
		}
	}
}

func TestMeansInWords(t *testing.T) {
	if got := (means{acquire.Copied: 10, acquire.Patched: 500, acquire.Entire: 10}).String(); got != "patch 500, copy 10, whole 10" {
		t.Errorf("%q", got)
	}
	if got := means(nil).String(); got != "" {
		t.Errorf("%q", got)
	}
}

// TestOfflineNow: the installed set is played without asking only if no server could be reached.
func TestOfflineNow(t *testing.T) {
	h := hostWith(setup{}, func(h *host) { h.signed = signed{offline: time.Second}; h.loaded = true })
	unreachable := update.Status{Outcome: update.Failed, Fault: &update.Fault{Cause: update.Unreachable}}
	if h.offlineNow(unreachable) {
		t.Error("without an install")
	}
	if h.offlineNow(update.Status{Outcome: update.Failed, Fault: &update.Fault{Cause: update.Untrusted}}) {
		t.Error("what is not trusted")
	}
}
