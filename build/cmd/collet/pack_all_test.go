package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"collet/platform/testlevel"
	"collet/platform/testwait"
)

// packGame is the part of a description that all tests share.
const packGame = `
[game]
name = "Lathe"
nice-name = "The Lathe"
id = "org.example.lathe"
version = "1.4.2"
publisher = "Example Games"
maintainer = "Example Games <games@example.org>"
summary = "Turning wood among the stars"
icon = "icon.png"
time = 2026-11-22T12:00:00Z
[[resources.pack]]
name = "Core"
from = "core"
[[target]]
name = "Linux-x64"
host = "client"
module = "module.so"
[[variant]]
profiling = "total"
[[variant.build]]
name = "Linux-x64"
module = "profiling.so"
[server]
formats = ["tar.zst"]
compatibility = "lathe-2026.2"
[[server.program]]
target = "Linux-x64"
from = "server"
`

// packProject makes a project of the real programs, with more in its description.
func packProject(t *testing.T, more string) string {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("NOT TESTED: packages of real programs, which are made for Linux-x64 here")
	}
	folder, dir := programs(t), t.TempDir()
	for to, from := range map[string]string{
		"client": "collet-client", "server": "collet-server",
		"module.so": "modules/release-2/Lathe.so", "profiling.so": "modules/release-1/Lathe.so",
	} {
		data, err := os.ReadFile(filepath.Join(folder, from))
		if err != nil {
			t.Fatal(err)
		}
		packFile(t, filepath.Join(dir, to), string(data))
	}
	var icon bytes.Buffer
	if err := png.Encode(&icon, image.NewGray(image.Rect(0, 0, 256, 256))); err != nil {
		t.Fatal(err)
	}
	packFile(t, filepath.Join(dir, "icon.png"), icon.String())
	packFile(t, filepath.Join(dir, "core", "game.txt"), strings.Repeat("a game\n", 100_000))
	packFile(t, filepath.Join(dir, "collet.toml"), packGame+more)
	return dir
}

func packFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// succeed runs a command and gives what it prints.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(args, &out, &errs); code != 0 {
		t.Fatalf("collet %s: code %d\n%s%s", strings.Join(args, " "), code, &out, &errs)
	}
	return out.String()
}

// unpack unpacks what a person would, in the way a person would.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	for _, tool := range []string{"tar", "zstd"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("NOT TESTED: packages, for want of %s; make setup installs it", tool)
		}
	}
	if said, err := exec.CommandContext(t.Context(), "tar", "--zstd", "-C", dir, "-xf", archive).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}

// installed are the files of a client that came with its package.
func installed(t *testing.T, dir string) map[string]fs.FileInfo {
	t.Helper()
	found := map[string]fs.FileInfo{}
	for _, name := range []string{"Lathe", "Lathe.so", "Resources/Core.zip"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		found[name] = info
	}
	return found
}

// play starts a client without a window, with nothing beside it edited, and wants it to change no file.
func play(t *testing.T, dir string) string {
	t.Helper()
	before := installed(t, dir)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	said, err := exec.CommandContext(ctx, filepath.Join(dir, "Lathe"), "--headless", "--json").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for name, now := range installed(t, dir) {
		if was := before[name]; !os.SameFile(was, now) || !was.ModTime().Equal(now.ModTime()) {
			t.Errorf("%s was replaced\n%s", name, said)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "Lathe_Profiling.so")); err == nil {
		t.Error("another variant's module was fetched")
	}
	return string(said)
}

// TestPackedClientFindsItsServer packs both, starts both, and nothing is downloaded.
func TestPackedClientFindsItsServer(t *testing.T) {
	address := testwait.FreeAddress(t)
	project, out, place := packProject(t, fmt.Sprintf("[client]\nserver = %q\n[client.settings]\nUpdate.Trust = \"sha256\"\n", address)), t.TempDir(), t.TempDir()
	said := succeed(t, "pack", "all", "--file", filepath.Join(project, "collet.toml"), "--out", out)
	for _, want := range []string{"Lathe-Client-Linux-x64-1.4.2.tar.zst", "Lathe-Client-Linux-x64_Profiling-1.4.2.tar.zst", "Lathe-Server-Linux-x64-1.4.2.tar.zst", "Lathe-Release-1.4.2/", "4 artefacts"} {
		if !strings.Contains(said, want) {
			t.Errorf("%s is not told:\n%s", want, said)
		}
	}
	unpack(t, filepath.Join(out, "Lathe-Client-Linux-x64-1.4.2.tar.zst"), place)
	unpack(t, filepath.Join(out, "Lathe-Server-Linux-x64-1.4.2.tar.zst"), place)
	log := startServer(t, filepath.Join(place, "Lathe-Server"), address)
	if said := play(t, filepath.Join(place, "Lathe")); !strings.Contains(said, `"outcome":"ResourcesReady"`) {
		t.Errorf("the client: %s", said)
	}
	if !strings.Contains(log(), "requests=0") {
		t.Errorf("the server was asked for files:\n%s", log())
	}
}

// startServer starts a server from its package, and gives what it has logged when it is asked to stop.
func startServer(t *testing.T, dir, address string) (log func() string) {
	t.Helper()
	program, settings := filepath.Join(dir, "collet-server"), filepath.Join(dir, "collet-server.toml")
	if said, err := exec.CommandContext(t.Context(), program, "check", "--config", settings).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, "--config", settings, "--listen", address)
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}
	}
	t.Cleanup(stop)
	testwait.Until(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	}, "the server listens")
	return func() string { stop(); return out.String() }
}

// TestPackedClientTakesPublishedRelease publishes the folder that comes with the packages. A client from the same packages leads it
// back to the root in its program, and fetches the lists alone, although it would take a newer program, too.
func TestPackedClientTakesPublishedRelease(t *testing.T) {
	testlevel.Lab(t)
	place := t.TempDir()
	var sent atomic.Int64
	files := http.FileServer(http.Dir(filepath.Join(place, "release")))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		files.ServeHTTP(counting{w, &sent}, r)
	}))
	defer web.Close()
	project := packProject(t, fmt.Sprintf("[client]\nurls = [%q]\ntrusted-root = \"root.json\"\nweak-root = true\n[client.settings]\nUpdate.Host = true\n", web.URL))
	at := func(elements ...string) string { return filepath.Join(append([]string{place}, elements...)...) }
	succeed(t, "keys", "init", "--development", "--keys", at("keys"))
	succeed(t, "release", "init", "--product", "lathe", "--dir", at("release"), "--keys", at("keys"), "--allow-development")
	succeed(t, "keys", "export", filepath.Join(project, "root.json"), "--dir", at("release"), "--allow-development")
	succeed(t, "pack", "all", "--file", filepath.Join(project, "collet.toml"), "--out", at("out"))
	said := succeed(t, "release", "publish", at("out", "Lathe-Release-1.4.2"), "--dir", at("release"), "--keys", at("keys"), "--allow-development", "--compatibility", "lathe-2026.2")
	if !strings.Contains(said, "Linux-x64") {
		t.Errorf("published: %s", said)
	}
	unpack(t, at("out", "Lathe-Client-Linux-x64-1.4.2.tar.zst"), place)
	if said := play(t, at("Lathe")); !strings.Contains(said, `"outcome":"ResourcesReady"`) {
		t.Errorf("the client: %s", said)
	}
	if n := sent.Load(); n == 0 || n > 50_000 {
		t.Errorf("%d bytes were sent; want the lists of releases and nothing else", n)
	}
}

// counting counts what is sent.
type counting struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c counting) Write(data []byte) (int, error) {
	c.sent.Add(int64(len(data)))
	return c.ResponseWriter.Write(data)
}

func TestPackVerify(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	packFile(t, filepath.Join(a, "file"), "same text")
	packFile(t, filepath.Join(b, "file"), "same text")
	for _, c := range []struct {
		args        []string
		code        int
		out, errors string
	}{
		{[]string{a, b}, 0, "no difference\n", ""},
		{[]string{filepath.Join(a, "file"), filepath.Join(b, "file")}, 0, "no difference\n", ""},
		{[]string{a, filepath.Join(a, "missing")}, 1, "", "missing"},
		{[]string{a}, 2, "", "collet pack verify --help"},
	} {
		var out, errs bytes.Buffer
		code := run(append([]string{"pack", "verify"}, c.args...), &out, &errs)
		if code != c.code || out.String() != c.out || !strings.Contains(errs.String(), c.errors) {
			t.Errorf("%v: code %d, %q, %q", c.args, code, &out, &errs)
		}
	}
	packFile(t, filepath.Join(b, "file"), "same test")
	var out, errs bytes.Buffer
	if code := run([]string{"pack", "verify", a, b}, &out, &errs); code != 1 || out.String() != "file: byte 7 (0x7): 0x78 and 0x73\n" || errs.Len() > 0 {
		t.Errorf("code %d, %q, %q", code, &out, &errs)
	}
}

func TestPackUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"pack", "all", "--jobs=-1"}, 2, "--jobs -1"},
		{[]string{"pack", "all", "--file", filepath.Join(t.TempDir(), "collet.toml")}, 1, "collet pack init"},
		{[]string{"pack", "client", "--help"}, 0, "--only"},
		{[]string{"pack", "server", "--help"}, 0, "collet release publish"},
	} {
		var out bytes.Buffer
		if code := run(c.args, &out, &out); code != c.code || !strings.Contains(out.String(), c.text) {
			t.Errorf("%v: code %d\n%s", c.args, code, &out)
		}
	}
}
