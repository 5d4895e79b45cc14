package main

import (
	"path/filepath"
	"slices"
	"strings"
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

func TestLinks(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]string{
		"lathe://join/7": "", "lathe:join": "", "web+lathe://a%20b": "", "x:" + strings.Repeat("a", maxLink-2): "",
		"x:" + strings.Repeat("a", maxLink-1): "longer", "join": "no link", "--verify": "no link", "-x:y": "no link", "://": "no link", "lathe://a\nb": "control",
	} {
		err := linkFault(link)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v; want %q", link, err, want)
		}
	}
	var said strings.Builder
	if _, err := parseFlags([]string{"--DeepLinkUri", "join"}, &said, &said); err == nil || !strings.Contains(err.Error(), `--DeepLinkUri "join" is no link`) {
		t.Errorf("%v, said %s", err, &said)
	}
	f, err := parseFlags([]string{"--DeepLinkUri", "lathe://join/7", "--", "--windowed"}, &said, &said)
	h := host{flags: f, folder: t.TempDir(), base: "Lathe"}
	h.roots = roots{install: h.folder, data: h.folder}
	if args := h.gameArgs(); err != nil || !slices.Equal(args[1:4], []string{"--DeepLinkUri", "lathe://join/7", "--windowed"}) {
		t.Errorf("%q, %v", args, err)
	}
}
