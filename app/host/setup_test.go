package host

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"collet/app/update"
)

// layered is a host of two folders with packs in them, or, with one, a portable host.
func layered(t *testing.T, own, delivered string, portable bool) *host {
	t.Helper()
	h := hostWith(setup{base: "Lathe", target: "Linux-x64", paths: twoPaths(t, own, delivered)})
	if portable {
		h.paths.data = h.paths.install
	}
	h.settings.Baking.ClientResources = "Resources"
	return h
}

func TestPackArgs(t *testing.T) {
	h := layered(t, "", "", true)
	one := filepath.Join(h.paths.install, "Resources")
	if got := h.packArgs(); !slices.Equal(got, []string{"--ClientResources", one}) {
		t.Errorf("portable: %q", got)
	}
	h = layered(t, "", "", false)
	one, two := filepath.Join(h.paths.install, "Resources"), filepath.Join(h.paths.data, "Resources")
	if got := h.packArgs(); !slices.Equal(got, []string{"--ClientResources", one, "--ClientResourcesPatched", two}) {
		t.Errorf("two folders, install not open: %q", got)
	}
}

func TestHasPacks(t *testing.T) {
	tests := []struct {
		name, own, delivered string
		portable             bool
		want                 bool
	}{
		{"none", "", "", false, false},
		{"delivered", "", "Resources/Core.zip", false, true},
		{"own", "Resources/Core.zip", "", false, true},
		{"own pack of a portable host", "Resources/Core.zip", "", true, false},
		{"portable", "", "Resources/Core.zip", true, true},
		{"only on their way", "Resources/~Core.zip", "", false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := layered(t, test.own, test.delivered, test.portable).hasPacks(); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestRemedy: another folder to write to is offered where it would help, and was not asked for already.
func TestRemedy(t *testing.T) {
	refused := &update.Fault{Cause: update.NoPermission}
	tests := []struct {
		name     string
		portable bool
		tried    error
		fault    *update.Fault
		want     bool
	}{
		{"read-only and portable", true, nil, refused, true},
		{"two folders", false, nil, refused, false},
		{"portable because the other folder failed", true, os.ErrPermission, refused, false},
		{"another fault", true, nil, &update.Fault{Cause: update.DiskFull}, false},
		{"no fault", true, nil, nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := layered(t, "", "", test.portable)
			h.paths.refused, h.exe = test.tried, filepath.Join(h.paths.install, "Lathe")
			want := ""
			if test.want {
				want = `"Lathe" "--UserWritablePath=*"`
			}
			if got := h.remedy(test.fault); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestOpenRoots opens one folder or two, and none where one of them is missing.
func TestOpenRoots(t *testing.T) {
	for _, portable := range []bool{true, false} {
		h := layered(t, "", "", portable)
		data, base, err := h.openFolders()
		if err != nil || (base == nil) != portable {
			t.Fatalf("portable %v: %v, %v", portable, base, err)
		}
		if err := errors.Join(data.Close(), closeBase(base)); err != nil {
			t.Error(err)
		}
		if err := os.Remove(h.paths.install); err != nil {
			t.Fatal(err)
		}
		if data, base, err := h.openFolders(); err == nil {
			t.Errorf("portable %v: opened %v and %v without an install folder", portable, data, base)
		}
	}
}
