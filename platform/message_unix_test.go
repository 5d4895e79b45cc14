//go:build unix

package platform_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"collet/platform"
)

// TestMessagesAreShownByWhateverIsThere puts programs of its own in the place of the desktop's: one that can't show it is passed over, and
// what is shown is the text itself, however it begins.
func TestMessagesAreShownByWhateverIsThere(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("there is one program, which is always there")
	}
	const title, text = "Lathe", "--text=<b>x</b> & y\nsecond line"
	for _, test := range []struct {
		name, desktop string
		programs      map[string]string // what each does after it has written down what it was given
		shows         string
		want          string
	}{
		{"zenity", "", map[string]string{"zenity": "", "kdialog": "", "xmessage": ""}, "zenity", "--error|--no-markup|--title=Lathe|--text=" + text + "|"},
		{"KDE", "KDE", map[string]string{"zenity": "", "kdialog": ""}, "kdialog", "--title=Lathe|--error=<qt>--text=&lt;b&gt;x&lt;/b&gt; &amp; y<br/>second line</qt>|"},
		{"the last", "", map[string]string{"zenity": "exit 1", "xmessage": ""}, "xmessage", "-center|-xrm|*international: true|-title|Lathe|-file|-|" + text},
		{"no good", "", map[string]string{"zenity": "exit 1", "kdialog": "exit 255"}, "", ""},
		{"not there", "", nil, "", ""},
	} {
		dir := t.TempDir()
		for name, then := range test.programs {
			script := "#!/bin/sh\n{ for a in \"$@\"; do printf '%s|' \"$a\"; done; [ " + name + " != xmessage ] || while read -r l; do echo \"$l\"; done; } >" + filepath.Join(dir, name+".shown") + "\n" + then + "\n"
			if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("PATH", dir)
		t.Setenv("DISPLAY", ":1")
		t.Setenv("XDG_CURRENT_DESKTOP", test.desktop)
		err := platform.ShowMessage(t.Context(), title, text)
		if (err == nil) != (test.shows != "") || err != nil && !errors.Is(err, platform.ErrNoMessage) {
			t.Errorf("%s: %v", test.name, err)
		}
		if shown, _ := os.ReadFile(filepath.Join(dir, test.shows+".shown")); test.shows != "" && strings.TrimSuffix(string(shown), "\n") != test.want {
			t.Errorf("%s: shown %q, want %q", test.name, shown, test.want)
		}
	}
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	if err := platform.ShowMessage(t.Context(), title, text); !errors.Is(err, platform.ErrNoMessage) {
		t.Errorf("without a display: %v", err)
	}
}
