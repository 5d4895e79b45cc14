package host

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestInstallFolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ goos, exe, want string }{
		{"linux", "/opt/lathe/Lathe", "/opt/lathe"},
		{"linux", "/x/The Lathe.app/Contents/MacOS/Lathe", "/x/The Lathe.app/Contents/MacOS"},
		{"darwin", "/Applications/The Lathe.app/Contents/MacOS/Lathe", "/Applications/The Lathe.app/Contents"},
		{"darwin", "/Users/ada/Lathe/Lathe", "/Users/ada/Lathe"},
		{"darwin", "/Users/ada/MacOS/Lathe", "/Users/ada/MacOS"},
		{"darwin", "/Users/ada/Contents/MacOS/Lathe", "/Users/ada/Contents/MacOS"},
		{"darwin", "/Users/ada/Lathe.app/Contents/Helpers/Lathe", "/Users/ada/Lathe.app/Contents/Helpers"},
		{"darwin", "/Lathe", "/"},
	} {
		if got := filepath.ToSlash(installFolder(c.goos, c.exe)); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.goos, c.exe, got, c.want)
		}
	}
}

// TestLinkForTheGame: the game gets the deep link before the player's arguments.
func TestLinkForTheGame(t *testing.T) {
	t.Parallel()
	h := hostWith(setup{opt: Options{DeepLinkUri: "lathe://join/7", Args: []string{"--windowed"}}, folder: t.TempDir(), base: "Lathe"})
	h.paths = paths{install: h.folder, data: h.folder}
	if args := h.gameArgs(); !slices.Equal(args[1:4], []string{"--DeepLinkUri", "lathe://join/7", "--windowed"}) {
		t.Errorf("%q", args)
	}
}
