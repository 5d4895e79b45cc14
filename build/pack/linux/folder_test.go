package linux_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/pack/archive"
	"collet/build/pack/bundle"
	"collet/build/pack/linux"
	"collet/build/pack/macos"
	"collet/netproto/product"
	"collet/platform/testlevel"
)

// unpackers are archives, and the tools that people unpack them with.
var unpackers = map[string]struct {
	tool   string
	make   func(context.Context, bundle.Tree, string, archive.Options) error
	unpack func(t *testing.T, file, folder string)
}{
	"tar.zst": {"zstd", archive.TarZst, func(t *testing.T, file, folder string) { run(t, "tar", "--zstd", "-xf", file, "-C", folder) }},
	"tar.gz":  {"tar", archive.TarGz, func(t *testing.T, file, folder string) { run(t, "tar", "-xzf", file, "-C", folder) }},
	"zip":     {"unzip", archive.Zip, func(t *testing.T, file, folder string) { run(t, "unzip", "-q", file, "-d", folder) }},
}

// TestPortableLifecycle: unpack, start, update, remove. A portable client writes where it lies, so there is one folder to remove.
func TestPortableLifecycle(t *testing.T) {
	w := open(t)
	second, third := w.offer(t, 2), w.offer(t, 3)
	for name, u := range unpackers {
		t.Run(name, func(t *testing.T) {
			need(t, u.tool)
			file, folder := filepath.Join(t.TempDir(), "Lathe."+name), t.TempDir()
			b := w.game(t, "1.0", 1)
			if err := u.make(t.Context(), b.Tree.Below("Lathe"), file, archive.Options{Time: b.Product.Time}); err != nil {
				t.Fatal(err)
			}
			u.unpack(t, file, folder)
			ada := newPlayer(t, filepath.Join(folder, "Lathe", "Lathe"))
			ada.log = filepath.Join(folder, "Lathe", "Lathe.log")
			for i, args := range [][]string{{"--offline"}, {"--server", second}, {"--server", third}} {
				ada.start(args...)
				ada.ran(i + 1)
			}
			only(t, "the player's home", listing(t, ada.home))
			if err := os.RemoveAll(filepath.Join(folder, "Lathe")); err != nil {
				t.Fatal(err)
			}
			only(t, "beside the game", listing(t, folder))
		})
	}
}

// TestAppDirLifecycle: unpack, start, update, remove. The AppDir never changes, so a read-only disk would do.
func TestAppDirLifecycle(t *testing.T) {
	w := open(t)
	need(t, "tar", "zstd")
	b, second := w.game(t, "1.0", 1), w.offer(t, 2)
	tree, err := linux.AppDir(b)
	if err != nil {
		t.Fatal(err)
	}
	file, folder := filepath.Join(t.TempDir(), "Lathe.tar.zst"), t.TempDir()
	if err := archive.TarZst(t.Context(), tree, file, archive.Options{Time: b.Product.Time}); err != nil {
		t.Fatal(err)
	}
	run(t, "tar", "--zstd", "-xf", file, "-C", folder)
	before := listing(t, folder)
	ada := newPlayer(t, filepath.Join(folder, "Lathe.AppDir", "AppRun"))
	ada.start("--offline")
	ada.ran(1)
	ada.start("--server", second)
	ada.ran(2)
	ada.keepsake()
	ada.game = filepath.Join(folder, "Lathe.AppDir", "usr", "bin", "lathe")
	ada.start("--offline")
	ada.ran(2)
	same(t, "the AppDir", listing(t, folder), before)
	for _, name := range []string{"Lathe.AppDir/org.example.lathe.desktop", "Lathe.AppDir/org.example.lathe.png", "Lathe.AppDir/.DirIcon"} {
		if before[name] == "" {
			t.Errorf("no %s", name)
		}
	}
	kept := listing(t, ada.home)
	if err := os.RemoveAll(filepath.Join(folder, "Lathe.AppDir")); err != nil {
		t.Fatal(err)
	}
	same(t, "the player's files", listing(t, ada.home), kept)
	only(t, "the player's files", kept, ".local/share/Lathe/")
}

// mount is a run-time that is not the official one.
func mount(t *testing.T) string {
	t.Helper()
	testlevel.Lab(t)
	need(t, "cc", "mksquashfs", "unsquashfs")
	name := filepath.Join(t.TempDir(), "runtime")
	run(t, "cc", "-O1", "-o", name, "testdata/runtime.c")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	copy(data[8:], "AI\x02")
	if err := os.WriteFile(name, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestAppImageLifecycle does it with one file, twice made.
func TestAppImageLifecycle(t *testing.T) {
	w, runtime := open(t), mount(t)
	make, b, second := linux.AppImage(runtime), w.game(t, "1.0", 1), w.offer(t, 2)
	image := made(t, make, b, "Lathe.AppImage")
	t.Setenv("SOURCE_DATE_EPOCH", "1")
	t.Setenv("TZ", "Asia/Kathmandu")
	one, err1 := os.ReadFile(image)
	two, err2 := os.ReadFile(made(t, make, b, "Again.AppImage"))
	if err := errors.Join(err1, err2); err != nil || !bytes.Equal(one, two) {
		t.Errorf("%d and %d bytes, and not the same; %v", len(one), len(two), err)
	}
	ada := newPlayer(t, image)
	t.Setenv("RUNTIME_FOLDER", filepath.Join(t.TempDir(), "first"))
	ada.start("--offline")
	ada.ran(1)
	// A run-time mounts at another place each time.
	t.Setenv("RUNTIME_FOLDER", filepath.Join(t.TempDir(), "second"))
	ada.start("--server", second)
	ada.ran(2)
	t.Setenv("RUNTIME_FOLDER", filepath.Join(t.TempDir(), "third"))
	ada.start("--offline")
	ada.ran(2)
	kept := listing(t, ada.home)
	if err := os.Remove(image); err != nil {
		t.Fatal(err)
	}
	only(t, "the player's files", kept, ".local/share/Lathe/")
}

func TestAppImageRefuses(t *testing.T) {
	runtime := mount(t)
	data, err := os.ReadFile(runtime)
	if err != nil {
		t.Fatal(err)
	}
	write := func(data []byte) string {
		name := filepath.Join(t.TempDir(), "runtime")
		if err := os.WriteFile(name, data, 0o755); err != nil {
			t.Fatal(err)
		}
		return name
	}
	plain, other := bytes.Clone(data), bytes.Clone(data)
	copy(plain[8:], "\x00\x00\x00")
	other[18] ^= 0x80 // e_machine
	for want, name := range map[string]string{
		"no such file": "none", "mark of AppImages": write(plain), "is for": write(other), "bad magic": write([]byte(strings.Repeat("text", 100))), "EOF": write(nil),
	} {
		out := filepath.Join(t.TempDir(), "out")
		err := linux.AppImage(name)(t.Context(), toy(t, "Lathe"), out)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %q", err, want)
		}
	}
	t.Setenv("PATH", "")
	if err := linux.AppImage(runtime)(t.Context(), toy(t, "Lathe"), filepath.Join(t.TempDir(), "out")); err == nil || !strings.Contains(err.Error(), "AppDir instead") {
		t.Errorf("without mksquashfs: %v", err)
	}
}

// TestAppLifecycle plays with the folder of a .app as far as that goes without a Mac: with this system's programs in it, and
// with the folder named that a host on a Mac finds by itself. Nothing of it may change, or its signature were void.
func TestAppLifecycle(t *testing.T) {
	w := open(t)
	b, second := w.game(t, "1.0", 1), w.offer(t, 2)
	b.Target = product.TargetFor("darwin", "arm64")
	app, err := macos.App(b)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := app.Lay(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	before, contents := listing(t, folder), filepath.Join(folder, macos.Folder(b), "Contents")
	ada := newPlayer(t, filepath.Join(contents, "MacOS", "Lathe"))
	ada.start("--dir", contents, "--offline")
	ada.ran(1)
	ada.start("--dir", contents, "--server", second)
	ada.ran(2)
	same(t, "the .app", listing(t, folder), before)
	only(t, "the player's files", listing(t, ada.home), ".local/share/Lathe/")
}
