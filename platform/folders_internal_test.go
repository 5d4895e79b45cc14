package platform

import (
	"strings"
	"testing"
)

// TestDataFolderOfEverySystem is the table of the engine's data folders.
func TestDataFolderOfEverySystem(t *testing.T) {
	type env map[string]string
	for _, c := range []struct {
		goos string
		env  env
		want string // a word of the error where it begins with "!"
	}{
		{"windows", env{"LOCALAPPDATA": `C:\Users\me\AppData\Local`, "APPDATA": `C:\Users\me\AppData\Roaming`}, `C:\Users\me\AppData\Local`},
		{"windows", env{"APPDATA": `C:\Users\me\AppData\Roaming`}, `C:\Users\me\AppData\Roaming`},
		{"windows", env{"LOCALAPPDATA": `\\server\share\me`}, `\\server\share\me`},
		{"windows", env{"LOCALAPPDATA": `D:/data`}, `D:/data`},
		{"windows", env{"LOCALAPPDATA": `AppData`, "APPDATA": `C:\roaming`}, `C:\roaming`},
		{"windows", env{"LOCALAPPDATA": `C:relative`}, "!LOCALAPPDATA"},
		{"windows", env{"LOCALAPPDATA": `\rooted`}, "!APPDATA"},
		{"windows", env{"HOME": "/home/me", "XDG_DATA_HOME": "/data"}, "!LOCALAPPDATA"},
		{"windows", env{}, "!APPDATA"},
		{"darwin", env{"HOME": "/Users/me"}, "/Users/me/Library/Application Support"},
		{"darwin", env{"HOME": "/Users/me/"}, "/Users/me/Library/Application Support"},
		{"darwin", env{"HOME": "me"}, "!HOME"},
		{"darwin", env{"XDG_DATA_HOME": "/data"}, "!HOME"},
		{"linux", env{"XDG_DATA_HOME": "/data", "HOME": "/home/me"}, "/data"},
		{"linux", env{"XDG_DATA_HOME": "data", "HOME": "/home/me"}, "/home/me/.local/share"},
		{"linux", env{"HOME": "/home/me"}, "/home/me/.local/share"},
		{"linux", env{"HOME": "/"}, "/.local/share"},
		{"linux", env{"HOME": "me"}, "!XDG_DATA_HOME"},
		{"linux", env{}, "!HOME"},
		{"freebsd", env{"XDG_DATA_HOME": "/data"}, "/data"},
		{"freebsd", env{"HOME": "/home/me", "LOCALAPPDATA": `C:\x`}, "/home/me/.local/share"},
	} {
		got, err := dataFolder(c.goos, func(name string) string { return c.env[name] })
		if word, fails := strings.CutPrefix(c.want, "!"); fails {
			if err == nil || !strings.Contains(err.Error(), word) || got != "" {
				t.Errorf("%s %v: got %q, %v; want an error about %s", c.goos, c.env, got, err, word)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%s %v: got %q, %v; want %q", c.goos, c.env, got, err, c.want)
		}
	}
}
