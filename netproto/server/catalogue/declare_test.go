package catalogue_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
)

// TestDeclarationFaults are builds that don't know what they are.
func TestDeclarationFaults(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(*config.Settings){
		"no range of logic versions":      func(s *config.Settings) { s.Compat.Supported = "8-5" },
		"no range of":                     func(s *config.Settings) { s.Compat.Supported = "-1-5" },
		"Compat.Store: is not set":        func(s *config.Settings) { s.Compat.Store = "" },
		"Compat.Logic: is not in":         func(s *config.Settings) { s.Compat.Logic = "9" },
		"Compat.Logic: is not in Compat":  func(s *config.Settings) { s.Compat.Logic = "eight" },
		"needs Compat.Supported":          func(s *config.Settings) { s.Compat.Supported, s.CompatibilityVersion = "", "x" },
		"Compat.Build: is 65 bytes":       func(s *config.Settings) { s.Compat.Build = strings.Repeat("b", 65) },
		"Compat.Branch: is 33 bytes":      func(s *config.Settings) { s.Compat.Branch = strings.Repeat("b", 33) },
		"compatgen gen writes it":         func(s *config.Settings) { s.Compat.Manifest = filepath.Join(t.TempDir(), "missing") },
		"set Compat.Baselines":            func(s *config.Settings) { s.Compat.Baselines = filepath.Join(t.TempDir(), "missing") },
		"but the manifest is of":          func(s *config.Settings) { s.Compat.Manifest, s.Compat.Logic = manifestAt(t, 8), "7" },
		"but the server's manifest is of": func(s *config.Settings) { s.Compat.Manifest = manifestAt(t, 4) },
		"holds folders like 7/Linux-x64":  func(s *config.Settings) { s.Compat.Payloads = filepath.Join(t.TempDir(), "missing") },
	} {
		set := servertest.VersionedSettings(t)
		spoil(&set)
		c, err := catalogue.Open(t.Context(), set, servertest.New().Logger())
		if err == nil {
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

func manifestAt(t *testing.T, logic int32) string {
	path := filepath.Join(t.TempDir(), "manifest.json")
	servertest.WriteManifest(t, path, logic, map[string]uint64{"Camera": 1})
	return path
}

// TestPayloadFaults refuses folders of payloads that say one thing and hold another.
func TestPayloadFaults(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(root string){
		"no logic version": func(root string) { servertest.WriteFile(t, filepath.Join(root, "seven", "Linux-x64", "a.so"), "") },
		"of logic version 6": func(root string) {
			servertest.WriteFile(t, filepath.Join(root, "5", "Linux-x64", "FoGame.so"), "x")
			servertest.WriteFile(t, filepath.Join(root, "5", "Linux-x64", "FoGame.so.compat.json"), servertest.Sidecar(6, 0))
		},
		"beside the target folders": func(root string) { servertest.WriteFile(t, filepath.Join(root, "6", "stray"), "x") },
	} {
		set := servertest.VersionedSettings(t)
		spoil(set.Compat.Payloads)
		c, err := catalogue.Open(t.Context(), set, servertest.New().Logger())
		var fault *catalogue.Error
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if c != nil {
			c.Close()
		}
	}
}
