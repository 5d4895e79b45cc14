package product_test

import (
	"testing"

	"collet/netproto/product"
)

// TestTargets has the engine's name of each system and processor, by Go's names.
func TestTargets(t *testing.T) {
	tests := []struct {
		goos, goarch string
		want         product.Target
		self         bool
		library      string
	}{
		{"windows", "amd64", "Windows-win64", true, "MyAlt.dll"},
		{"windows", "386", "Windows-win32", true, "MyAlt.dll"},
		{"windows", "arm64", "Windows-arm64", true, "MyAlt.dll"},
		{"windows", "arm", "Windows-unknown", true, "MyAlt.dll"},
		{"linux", "amd64", "Linux-x64", true, "MyAlt.so"},
		{"linux", "arm64", "Linux-arm64", true, "MyAlt.so"},
		{"linux", "386", "Linux-x86", true, "MyAlt.so"},
		{"linux", "arm", "Linux-arm", true, "MyAlt.so"},
		{"linux", "riscv64", "Linux-unknown", true, "MyAlt.so"},
		{"darwin", "arm64", "macOS-arm64", true, "MyAlt.dylib"},
		{"darwin", "amd64", "macOS-x64", true, "MyAlt.dylib"},
		{"darwin", "ppc64", "macOS-unknown", true, "MyAlt.dylib"},
		{"android", "arm64", "Android-arm64", false, "MyAlt.so"},
		{"android", "arm", "Android-arm32", false, "MyAlt.so"},
		{"android", "386", "Android-x86", false, "MyAlt.so"},
		{"android", "amd64", "Android-unknown", false, "MyAlt.so"},
		{"ios", "arm64", "iOS-arm64", false, "MyAlt.dylib"},
		{"ios", "amd64", "iOS-simulator", false, "MyAlt.dylib"},
		{"ios", "arm", "iOS-unknown", false, "MyAlt.dylib"},
		{"js", "wasm", "Web-wasm", false, "MyAlt.so"},
		{"freebsd", "amd64", "freebsd-unknown", false, "MyAlt.so"},
		{"", "", "-unknown", false, "MyAlt.so"},
	}
	for _, test := range tests {
		got := product.TargetFor(test.goos, test.goarch)
		if got != test.want || got.CanSelfUpdate() != test.self || got.LibraryName("MyAlt") != test.library {
			t.Errorf("%s/%s is %q, self %t, %s; want %q, %t, %s", test.goos, test.goarch,
				got, got.CanSelfUpdate(), got.LibraryName("MyAlt"), test.want, test.self, test.library)
		}
	}
}

func TestRuntimeBase(t *testing.T) {
	tests := map[string]string{
		"MyAlt.exe":            "MyAlt",
		"MyAlt.EXE":            "MyAlt",
		"MyAlt":                "MyAlt",
		`C:\Games\MyAlt.exe`:   "MyAlt",
		"/opt/a.b/MyAlt":       "MyAlt",
		"game-1.2":             "game-1.2", // the engine says game-1
		"game-1.2.exe":         "game-1.2",
		"LF_Client_OpenGL.exe": "LF_Client_OpenGL",
		"my.game.x86_64":       "my.game.x86_64",
		"exe":                  "exe",
		".exe":                 ".exe",
		"Игра.exe":             "Игра",
		"İ.exe":                "İ",
		"":                     "",
	}
	for exe, want := range tests {
		if got := product.RuntimeBase(exe); got != want {
			t.Errorf("%q has base %q, want %q", exe, got, want)
		}
	}
}

// TestHostOf: host and module have one base name; what is no module has no host.
func TestHostOf(t *testing.T) {
	for _, test := range []struct {
		target product.Target
		module string
		want   string
		ok     bool
	}{
		{"Windows-win64", "Lathe.dll", "Lathe.exe", true}, {"Linux-x64", "Lathe.so", "Lathe", true}, {"macOS-arm64", "Lathe.dylib", "Lathe", true},
		{"Windows-win64", "Lathe.program", "Lathe.exe", true}, {"Linux-x64", "Lathe.program", "Lathe", true}, {"Linux-x64", ".program", "", false},
		{"Linux-x64", "game-1.2.so", "game-1.2", true}, {"Windows-win64", "Lathe_OpenGL.dll", "Lathe_OpenGL.exe", true},
		{"Windows-win64", "Lathe.dll.pdb", "", false}, {"Linux-x64", ".so", "", false}, {"Linux-x64", "Lathe", "", false}, {"Windows-win64", "Lathe.so", "", false},
	} {
		if got, ok := test.target.HostOf(test.module); ok != test.ok || ok && got != test.want {
			t.Errorf("%s, %s: %q, %v", test.target, test.module, got, ok)
		}
	}
}
