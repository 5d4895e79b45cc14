package main

import (
	"os"
	"path/filepath"
	"testing"

	"collet/netproto/server/admin"
)

// TestOwnConfig: a server that was unpacked with its settings starts with them, unless something else was said.
func TestOwnConfig(t *testing.T) {
	folder := t.TempDir()
	own := filepath.Join(folder, ownConfig)
	for name, test := range map[string]struct {
		given options
		there bool
		want  string
	}{
		"unpacked":       {options{}, true, own},
		"checked":        {options{Command: askCheck}, true, own},
		"nothing beside": {options{}, false, ""},
		"other settings": {options{Config: "mine.toml"}, true, "mine.toml"},
		"a folder":       {options{Root: "."}, true, ""},
		"a version":      {options{Compat: "1"}, true, ""},
		"a release":      {options{Release: releaseFlags{Folder: "."}}, true, ""},
		"a reload":       {options{Command: admin.Reload}, true, ""},
	} {
		_ = os.RemoveAll(own)
		if test.there {
			if err := os.WriteFile(own, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		o := test.given
		if o.usePackagedConfig(folder); o.Config != test.want {
			t.Errorf("%s: settings file %q, want %q", name, o.Config, test.want)
		}
	}
	_ = os.Remove(own)
	if err := os.Mkdir(own, 0o755); err != nil {
		t.Fatal(err)
	}
	var o options
	if o.usePackagedConfig(folder); o.Config != "" {
		t.Errorf("a folder of that name was taken for settings")
	}
}
