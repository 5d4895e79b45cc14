package host

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestWritableRoot(t *testing.T) {
	const win, mac, linux = `C:\Users\Ada\AppData\Local`, "/Users/ada/Library/Application Support", "/home/ada/.local/share"
	tests := []struct {
		name          string
		goos, install string
		asked         string
		marked        bool
		game          string
		folder        string // empty: unknown
		want          string
		says          string // in the error
	}{
		{"portable", "linux", "/games/Lathe", "", false, "Lathe", linux, "/games/Lathe", ""},
		{"portable without any home", "linux", "/games/Lathe", "", false, "Lathe", "", "/games/Lathe", ""},
		{"marked", "linux", "/opt/lathe", "", true, "Lathe", linux, "/home/ada/.local/share/Lathe", ""},
		{"marked on macOS", "darwin", "/Applications/Lathe.app/Contents/MacOS", "", true, "Lathe", mac, mac + "/Lathe", ""},
		{"marked on Windows", "windows", `C:\Program Files\Lathe`, "", true, "Lathe", win, win + `\Lathe`, ""},
		{"asked for", "linux", "/opt/lathe", "*", false, "Die Drehbank", linux, "/home/ada/.local/share/Die Drehbank", ""},
		{"asked for and marked", "linux", "/opt/lathe", "*", true, "Токарь", linux, "/home/ada/.local/share/Токарь", ""},
		{"no home", "linux", "/opt/lathe", "*", false, "Lathe", "", "", "unknown home"},
		{"game is a path", "linux", "/opt/lathe", "*", false, "../Lathe", linux, "", "set Client.GameName"},
		{"game has a folder", "linux", "/opt/lathe", "*", false, "a/b", linux, "", "set Client.GameName"},
		{"game is a device", "windows", `C:\Lathe`, "*", false, "CON", win, "", "set Client.GameName"},
		{"game ends in a dot", "linux", "/opt/lathe", "*", false, "Lathe.", linux, "", "set Client.GameName"},

		{"path", "linux", "/opt/lathe", "/srv/lathe", false, "Lathe", "", "/srv/lathe", ""},
		{"path wins over the marker", "linux", "/opt/lathe", "/srv/lathe", true, "Lathe", linux, "/srv/lathe", ""},
		{"relative path", "linux", "/opt/lathe", "data", false, "Lathe", "", "/opt/lathe/data", ""},
		{"relative path upwards", "linux", "/opt/lathe", "../data", true, "Lathe", "", "/opt/data", ""},
		{"the install folder itself", "linux", "/opt/lathe", ".", true, "Lathe", "", "/opt/lathe", ""},
		{"Windows path", "windows", `C:\Lathe`, `D:\Spiele\Drehbank`, false, "Lathe", "", `D:\Spiele\Drehbank`, ""},
		{"Windows path with slashes", "windows", `C:\Lathe`, "D:/Spiele", false, "Lathe", "", "D:/Spiele", ""},
		{"Windows share", "windows", `C:\Lathe`, `\\box\games`, false, "Lathe", "", `\\box\games`, ""},
		{"Windows relative path", "windows", `C:\Lathe`, "data/x", false, "Lathe", "", `C:\Lathe\data\x`, ""},
		{"Windows path without a drive", "windows", `C:\Lathe`, `\data`, false, "Lathe", "", "", "current drive"},
		{"Windows slash without a drive", "windows", `C:\Lathe`, `/data`, false, "Lathe", "", "", "current drive"},
		{"Windows drive without a root", "windows", `C:\Lathe`, `D:data`, false, "Lathe", "", "", "current drive"},

		{"among the packs", "linux", "/opt/lathe", "Resources", false, "Lathe", "", "", "among the packs"},
		{"below the packs", "linux", "/opt/lathe", "/opt/lathe/Resources/own", false, "Lathe", "", "", "among the packs"},
		{"around a corner", "linux", "/opt/lathe", "/opt/lathe/x/../Resources", false, "Lathe", "", "", "among the packs"},
		{"beside the packs", "linux", "/opt/lathe", "Resources2", false, "Lathe", "", "/opt/lathe/Resources2", ""},
		{"among the packs of Windows", "windows", `C:\Lathe`, `c:/lathe/resources`, false, "Lathe", "", "", "among the packs"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := pathsQuery{
				goos: test.goos, install: test.install, packs: "Resources", asked: test.asked, marked: test.marked, game: test.game,
				folder: func() (string, error) {
					if test.folder == "" {
						return "", errors.New("unknown home")
					}
					return test.folder, nil
				},
			}.writable()
			switch {
			case test.says == "" && (err != nil || got != test.want):
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)):
				t.Errorf("got %q, %v, want an error with %q", got, err, test.says)
			}
		})
	}
}

// query is a portable client in a folder of the test that asks for a writable root.
func query(install, asked string) pathsQuery {
	return pathsQuery{goos: runtime.GOOS, install: install, packs: "Resources", asked: asked, game: "Lathe",
		folder: func() (string, error) { return "", errors.New("no home folder") }}
}

func TestFindRoots(t *testing.T) {
	install := t.TempDir()
	file := filepath.Join(install, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	far := filepath.Join(t.TempDir(), "Игрок 玩家", strings.Repeat("long ", 20)+"x", strings.Repeat("y", 120))
	tests := []struct {
		name, asked string
		want        string // empty: portable
		refused     bool
	}{
		{"portable", "", "", false},
		{"new folders, long and not English", far, far, false},
		{"the same once more", far, far, false},
		{"unclean", far + string(filepath.Separator), far, false},
		{"relative", "data", filepath.Join(install, "data"), false},
		{"the install folder", ".", "", false},
		{"no data folder", "*", "", true},
		{"a file in the way", file, "", true},
		{"a file on the way", filepath.Join(file, "data"), "", true},
		{"impossible", "a\x00b", "", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := findPaths(query(install, test.asked))
			if test.want == "" {
				test.want = install
			}
			if r.install != install || r.data != test.want || (r.refused != nil) != test.refused || r.portable() != (r.data == install) {
				t.Errorf("got %+v, want %q, refused %v", r, test.want, test.refused)
			}
			if left, _ := filepath.Glob(filepath.Join(r.data, ".collet-*")); left != nil {
				t.Errorf("the trial left %q", left)
			}
		})
	}
}

// TestFindRootsOneFolder: the install folder under another name is still the install folder.
func TestFindRootsOneFolder(t *testing.T) {
	install := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(install, link); err != nil {
		t.Skipf("no links here: %v", err)
	}
	if r := findPaths(query(install, link)); !r.portable() || r.refused != nil {
		t.Errorf("a link to the install folder is a folder of its own: %+v", r)
	}
	if r := findPaths(query(link, install)); !r.portable() || r.data != link {
		t.Errorf("an install folder that is a link: %+v", r)
	}
}

func TestMarker(t *testing.T) {
	folder := t.TempDir()
	if isMarked(folder) {
		t.Error("an empty folder has the mark")
	}
	if err := os.WriteFile(filepath.Join(folder, "INSTALLED"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if !isMarked(folder) {
		t.Error("the mark is not seen")
	}
}
