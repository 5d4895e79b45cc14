package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/platform"
)

// guarded is a host with an open install in a folder of its own.
func guarded(t *testing.T) *host {
	t.Helper()
	folder, err := platform.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := install.Open(t.Context(), install.Config{
		FS: folder, Trust: install.TrustSHA256, Log: zerolog.Nop(), Names: install.Names{Runtime: "Lathe", Ext: ".so", Resources: "Resources", Cache: "Cache"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
		if err := folder.Close(); err != nil {
			t.Error(err)
		}
	})
	h := hostWith(setup{log: zerolog.Nop()}, func(h *host) { h.fs = folder; h.dir = dir })
	h.settings.Baking.CacheResources = "Cache"
	return h
}

// TestGuardIsKept: another start finds the recorded update, until the record is removed.
func TestGuardIsKept(t *testing.T) {
	h := guarded(t)
	offer := update.Offer{Server: "s7", Revision: 12, Rule: 9, Hash: "00ff"}
	if got := h.applied(); got != (update.Offer{}) {
		t.Errorf("at first %+v", got)
	}
	h.guardUpdate(offer)
	again := hostWith(setup{log: zerolog.Nop(), settings: h.settings}, func(a *host) { a.fs, a.dir = h.fs, h.dir })
	if got := again.applied(); got != offer {
		t.Errorf("noted %+v", got)
	}
	h.guardUpdate(update.Offer{})
	if got := h.applied(); got != (update.Offer{}) {
		t.Errorf("an update without grounds leaves %+v", got)
	}
	h.guardUpdate(offer)
	h.dropGuard()
	h.dropGuard()
	if got := h.applied(); got != (update.Offer{}) {
		t.Errorf("forgotten, and still %+v", got)
	}
	if got := hostWith(setup{log: zerolog.Nop()}).applied(); got != (update.Offer{}) {
		t.Errorf("without an install %+v", got)
	}
	hostWith(setup{log: zerolog.Nop()}).dropGuard()
}

// TestGuardsThatAreNone: whatever stands in the file, a start goes on.
func TestGuardsThatAreNone(t *testing.T) {
	h := guarded(t)
	name := h.fs.Path(h.guardName())
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", "[]", `{"offer": 7}`, "\x00\xff", strings.Repeat(" ", maxGuard) + `{"offer": {"rule": 9}}`} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := h.applied(); got != (update.Offer{}) {
			t.Errorf("%.20q is %+v", text, got)
		}
	}
	if err := os.WriteFile(name, []byte(`{"offer": {"rule": 9, "later": true}, "more": 1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := h.applied(); got.Rule != 9 {
		t.Errorf("a newer client's file is %+v", got)
	}
}

// TestGuardOfAnotherSet: while the set that an update replaces is installed, the update has not been tried.
func TestGuardOfAnotherSet(t *testing.T) {
	h := guarded(t)
	h.guardUpdate(update.Offer{Rule: 9, Hash: "00ff"})
	name := h.fs.Path(h.guardName())
	for before, want := range map[string]uint8{"": 9, "sha256:00": 9} {
		if err := os.WriteFile(name, []byte(`{"offer": {"rule": 9}, "before": "`+before+`"}`), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := h.applied(); got.Rule != want {
			t.Errorf("before %q: %+v", before, got)
		}
	}
}
