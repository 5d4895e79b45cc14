package servertest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/releasetest"
	"collet/netproto/server/config"
)

// WriteFolder writes files, path → content, into a new folder and returns it.
func WriteFolder(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		WriteFile(t, filepath.Join(root, filepath.FromSlash(name)), content)
	}
	return root
}

// WriteFile writes a file and makes the folders above it.
func WriteFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Files are the files of the recorded exchanges in small: four packs, two targets, an empty file and one that is
// larger than a portion.
func Files() map[string]string {
	return map[string]string{
		"Resources/Core.zip":                            strings.Repeat("core", 70),
		"Resources/Textures.zip":                        strings.Repeat("0123456789abcdef", 150),
		"Resources/Tiny.zip":                            "tiny",
		"Resources/readme.txt":                          "not a pack",
		"PlatformBinaries/Linux-x64/FoGame.so":          "module",
		"PlatformBinaries/Linux-x64/FoGame.so.pdb":      "",
		"PlatformBinaries/Windows-win64/FoGame.dll":     "windows module",
		"PlatformBinaries/Android-arm64/libmain.so":     "store only",
		"PlatformBinaries/macOS-arm64/FoGame.debuginfo": "no module",
	}
}

// Compatibility is the compatibility version of [Settings].
const Compatibility = "compat-A"

// Settings serves a folder with [Files] in portions of 1000 bytes, as the recordings do.
func Settings(t testing.TB) config.Settings {
	t.Helper()
	set := config.ForFolder(WriteFolder(t, Files()), Compatibility)
	set.Network.UpdateFileMaxPortionSize = 1000
	return set
}

// VersionedSettings serves a folder to the logic versions 5 to 8, with modules of 7 in place and modules of 6 below Payloads. A Peer answers no
// pings, so there is time enough for a test.
func VersionedSettings(t testing.TB) config.Settings {
	t.Helper()
	files := Files()
	files["PlatformBinaries/Linux-x64/FoGame.so.compat.json"] = Sidecar(7, 2)
	files["PlatformBinaries/Android-arm64/libmain.so.compat.json"] = Sidecar(7, 2)
	files["Payloads/6/Linux-x64/FoGame.so"] = "module of 6"
	files["Payloads/6/Linux-x64/FoGame.so.compat.json"] = Sidecar(6, 0)
	root := WriteFolder(t, files)
	set := config.ForFolder(root, "")
	set.Network.UpdateFileMaxPortionSize = 1000
	set.Limits.PingTime = time.Hour
	set.Compat = config.Compat{Store: filepath.Join(t.TempDir(), "compat.db"), Supported: "5-8", Payloads: filepath.Join(root, "Payloads"), Build: "server-8"}
	return set
}

// Publish publishes more releases into a folder.
func Publish(t testing.TB, f *releasetest.Folder, releases ...releasetest.Release) {
	t.Helper()
	for _, r := range releases {
		if err := f.Publish(r); err != nil {
			t.Fatal(err)
		}
	}
}

// ReleaseSettings serves a release folder in portions of 1000 bytes. A Peer answers no pings, and a busy machine takes longer than
// the default for thousands of portions.
func ReleaseSettings(f *releasetest.Folder) config.Settings {
	set := config.ForRelease(f.Dir)
	set.Network.UpdateFileMaxPortionSize = 1000
	set.Limits.PingTime = time.Hour
	return set
}

// ReadFolder reads the files of a release folder that clients may ask for: name → content.
func ReadFolder(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if name = filepath.ToSlash(name); netproto.IsObjectName(name) {
			data, err := os.ReadFile(path)
			all[name] = string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
