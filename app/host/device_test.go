package host

import (
	"path/filepath"
	"strings"
	"testing"

	"collet/assets"
)

func TestPlayersProgramsAreNoDevices(t *testing.T) {
	for _, marked := range []string{"", "install", "program"} {
		h := hostWith(setup{folder: t.TempDir(), exe: filepath.Join(t.TempDir(), "collet-client"), texts: assets.TextsFor("en")})
		switch marked {
		case "install":
			putFile(t, filepath.Join(h.folder, markerFile), nil)
		case "program":
			putFile(t, filepath.Join(filepath.Dir(h.exe), markerFile), nil)
		}
		why := h.noDevice()
		if (why != "") != (marked != "") || marked != "" && !strings.Contains(why, "installed for playing") {
			t.Errorf("marked in %q: %q", marked, why)
		}
	}
}
