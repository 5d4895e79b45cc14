//go:build unix

package pack_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"collet/build/pack"
)

// TestServerSettings gives servers settings of the operator's own.
func TestServerSettings(t *testing.T) {
	for _, c := range []struct{ name, settings, want string }{
		{"good", "CompatibilityVersion = 'lathe-9'\n[Network]\nServerPort = 4711\nWebSocketPort = 4712\n", ""},
		{"other release folder", "[Release]\nFolder = 'elsewhere'\n", ""},
		{"a store of the operator's", "CompatibilityVersion = 'lathe-9'\n[Compat]\nStore = 'store'\n", ""},
		{"unknown name", "CompatibilityVersion = 'lathe-9'\nPort = 1\n", "Port"},
		{"nothing to serve", "", "CompatibilityVersion"},
		{"pack that is not there", "CompatibilityVersion = 'lathe-9'\n[Baking]\nClientResourceEntries = ['Core', 'Missing']\n", "Missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := kit(t, func(text string) string {
				return strings.Replace(text, `compatibility = "lathe-2"`, `settings = "server.toml"`, 1)
			}, file{"server.toml", c.settings})
			out := t.TempDir()
			_, err := p.Make(t.Context(), pack.MakeOptions{Out: out, Servers: true, Only: []string{"*/container"}})
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "the server refuses") {
					t.Errorf("%v, want %s", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			folder := filepath.Join(out, "Lathe-Server-Linux-x64-1.4.2-container")
			if read(t, folder, "collet-server.toml") != c.settings {
				t.Error("the settings are not the operator's")
			}
			if recipe := read(t, folder, "Containerfile"); strings.Contains(c.settings, "4711") != strings.Contains(recipe, "EXPOSE 4711\nEXPOSE 4712\n") {
				t.Errorf("the container's recipe:\n%s", recipe)
			}
			if _, err := os.Stat(filepath.Join(folder, "store")); err == nil {
				t.Error("trying the server has left a store")
			}
			if info, err := os.Stat(filepath.Join(folder, "collet-server")); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("the program: %v, %v", info, err)
			}
		})
	}
}

// TestMadeSettings are those of a description without any: the server listens where the packed clients look.
func TestMadeSettings(t *testing.T) {
	for address, want := range map[string]string{
		"update.example.org:4711":            "ServerPort = 4711\n",
		"tcp://update.example.org:4711":      "ServerPort = 4711\n",
		"[2001:db8::1]:4711":                 "ServerPort = 4711\n",
		"ws://update.example.org:8080/lathe": "WebSocketPort = 8080\n",
		"wss://update.example.org/lathe":     "",
		"tls://update.example.org:4443":      "",
	} {
		out := t.TempDir()
		p := kit(t, func(text string) string { return strings.Replace(text, "update.example.org:4000", address, 1) })
		if _, err := p.Make(t.Context(), pack.MakeOptions{Out: out, Servers: true, Only: []string{"*/container"}}); err != nil {
			t.Fatal(err)
		}
		text := read(t, out, "Lathe-Server-Linux-x64-1.4.2-container", "collet-server.toml")
		for _, want := range []string{"CompatibilityVersion = 'lathe-2'\n", "ClientResourceEntries = ['Core', 'Art']\n", want} {
			if !strings.Contains(text, want) {
				t.Errorf("the settings for %s do not say %q:\n%s", address, want, text)
			}
		}
		if want == "" && strings.Contains(text, "Port") {
			t.Errorf("the settings for %s say a port:\n%s", address, text)
		}
	}
}

// TestReleaseFolderIsCopied: what is published must not change with another build.
func TestReleaseFolderIsCopied(t *testing.T) {
	p := windowsKit(t, nil)
	out := t.TempDir()
	if _, err := p.Make(t.Context(), pack.MakeOptions{Out: out, Servers: true, Only: []string{"release"}, Jobs: runtime.NumCPU()}); err != nil {
		t.Fatal(err)
	}
	symbols := filepath.Join(out, "Lathe-Release-1.4.2", "PlatformBinaries", "Windows-win64", "Lathe.dll.pdb")
	before := read(t, symbols)
	f, err := os.OpenFile(filepath.Join(p.Dir, "windows", "game-with-room-for-names.pdb"), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if read(t, symbols) != before {
		t.Error("the published symbols are the build's own file")
	}
}
