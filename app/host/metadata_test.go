package host

import (
	"archive/zip"
	"bytes"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/update"
	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/session"
)

// packOf is a pack with a metadata version; "" is a pack without.
func packOf(t *testing.T, version string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	if version != "" {
		f, err := w.Create(netproto.MetadataFile)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte("FMDF\x01\x00" + string(rune(len(version))) + "\x00" + version)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestContradictions covers which packs speak against a server.
func TestContradictions(t *testing.T) {
	const served, other = "fedcba9876543210", "0000000000000000"
	for _, test := range []struct {
		name      string
		files     map[string]string // below a folder for both paths: path to version
		announced string
		want      string
	}{
		{"the same", map[string]string{"install/Core.zip": served, "install/Maps.zip": ""}, served, ""},
		{"another", map[string]string{"install/Core.zip": other}, served, "Core.zip"},
		{"another, and nothing announced", map[string]string{"install/Core.zip": other}, "", ""},
		{"none", map[string]string{"install/Core.zip": ""}, served, ""},
		{"a newer one in the data folder", map[string]string{"install/Core.zip": other, "data/Core.zip": served}, served, ""},
		{"an older one in the data folder", map[string]string{"install/Core.zip": served, "data/Core.zip": other}, served, "Core.zip"},
		{"one on its way", map[string]string{"install/~Core.zip": other}, served, ""},
		{"no packs", nil, served, ""},
	} {
		root := t.TempDir()
		for name, version := range test.files {
			putFile(t, filepath.Join(root, name), packOf(t, version))
		}
		pack, version, found := contradiction([]string{filepath.Join(root, "install"), filepath.Join(root, "data")}, test.announced)
		if pack != test.want || found != (test.want != "") || found != (version == other) {
			t.Errorf("%s: %q %q %t", test.name, pack, version, found)
		}
	}
}

// TestContentMismatch updates from a server that speaks of other packs than it has.
func TestContentMismatch(t *testing.T) {
	for forced, want := range map[string]update.Outcome{"": update.ResourcesReady, "another": update.ContentMismatch} {
		play := newForcedGame(t, netproto.G2b, map[string][]byte{"Core.zip": packOf(t, "fedcba9876543210")}, forced)
		status, _ := play.sync(false)
		h := hostWith(setup{paths: paths{install: play.dir, data: play.dir}, log: zerolog.Nop()})
		h.settings.Baking.ClientResources = "Resources"
		s := &source{options: session.Options{Addr: play.addr, Generation: netproto.G2b, Compatibility: testCompatibility, Target: "Linux-x64"}}
		if _, err := s.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := h.consistent(s, status).Outcome; got != want {
			t.Errorf("forced %q: %v, want %v", forced, got, want)
		}
		for _, other := range []update.Status{
			{Outcome: update.BinariesStaged}, {Outcome: update.ResourcesReady, Blocked: true}, {Outcome: update.Failed},
		} {
			other.Judgement = compat.Judgement{Verdict: compat.Accept}
			if got := h.consistent(s, other).Outcome; got != other.Outcome {
				t.Errorf("%v becomes %v", other.Outcome, got)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
