//go:build unix

package pack_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"collet/build/pack"
	"collet/build/pack/verify"
)

func everything(out string) pack.MakeOptions {
	return pack.MakeOptions{Out: out, Clients: true, Servers: true, Jobs: 2}
}

// elsewhere is another machine as far as a process can be one: another umask, time zone, language and clock of files.
func elsewhere(t *testing.T, project string) {
	t.Helper()
	umask, local := syscall.Umask(0o077), time.Local
	time.Local = time.FixedZone("far", 13*3600)
	t.Cleanup(func() {
		syscall.Umask(umask)
		time.Local = local
	})
	t.Setenv("TZ", "Pacific/Auckland")
	t.Setenv("LC_ALL", "tr_TR.UTF-8")
	t.Setenv("LANG", "tr_TR.UTF-8")
	then := time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC)
	err := filepath.WalkDir(project, func(name string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(name, then, then))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSameBytesElsewhere packs everything twice, in two folders of two projects.
func TestSameBytesElsewhere(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "packages"), filepath.Join(t.TempDir(), "deeper", "other packages")
	made, err := kit(t, nil).Make(t.Context(), everything(first))
	if err != nil {
		t.Fatal(err)
	}
	p := kit(t, nil)
	elsewhere(t, p.Dir)
	o := everything(second)
	o.Jobs = 1
	if _, err := p.Make(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if d, err := verify.Compare(t.Context(), first, second); d != nil || err != nil {
		t.Errorf("%v, %v", d, err)
	}
	if found := names(t, first); len(found) != len(made)+1 || !slices.Contains(found, pack.SumsFile) {
		t.Errorf("%d artefacts were told of, there are %v", len(made), found)
	}
	for _, a := range made {
		t.Logf("%-60s %9d bytes", a.Name, a.Size)
	}
	if _, err := exec.LookPath("sha256sum"); err != nil {
		t.Skip("NOT TESTED: SHA256SUMS, for want of sha256sum")
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--strict", "--quiet", "-c", pack.SumsFile)
	check.Dir = first
	if said, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// members are the files of a zip, a tar.gz or a tar.zst, by their paths.
func members(t *testing.T, name string) map[string]string {
	t.Helper()
	data, found := read(t, name), map[string]string{}
	take := func(name string, from io.Reader) {
		content, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		found[name] = string(content)
	}
	if strings.HasSuffix(name, ".zip") {
		r, err := zip.NewReader(strings.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			take(f.Name, in)
		}
		return found
	}
	z, err := zstd.NewReader(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if err == io.EOF {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		take(h.Name, r)
	}
}

// withZip adds the format for Windows where this machine can build for it.
func withZip(p *pack.Project, formats ...string) []string {
	for _, build := range p.Builds() {
		if build.Target.System() == "Windows" {
			return append(formats, "*/zip")
		}
	}
	return formats
}

// TestClientHoldsWhatServersOffer compares every file of the packages for players with what servers and releases have.
func TestClientHoldsWhatServersOffer(t *testing.T) {
	out := t.TempDir()
	o := everything(out)
	p := kit(t, nil)
	o.Only = withZip(p, "*/tar.zst", "release", "*/container")
	if _, err := p.Make(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	server := members(t, filepath.Join(out, "Lathe-Server-Linux-x64-1.4.2.tar.zst"))
	for _, build := range p.Builds() {
		if build.Target.System() == "macOS" {
			continue // in an .app
		}
		ext := map[string]string{"Windows": ".zip", "Linux": ".tar.zst"}[build.Target.System()]
		client := members(t, filepath.Join(out, "Lathe-Client-"+string(build.Target)+strings.TrimPrefix(build.Base, "Lathe")+"-1.4.2"+ext))
		shared := map[string]string{}
		for name, content := range client {
			name = strings.TrimPrefix(name, build.Base+"/")
			switch {
			case strings.HasPrefix(name, "Resources/"):
				shared[name] = content
			case name == build.ModuleName(), strings.HasSuffix(name, ".pdb"):
				shared[path.Join("PlatformBinaries", string(build.Target), name)] = content
			}
		}
		want := 3
		if build.ModulePDB != "" {
			want = 5
		}
		if len(shared) != want {
			t.Errorf("%s for %s shares %d files, want %d", build.Base, build.Target, len(shared), want)
		}
		for name, content := range shared {
			for _, offered := range []string{server["Lathe-Server/"+name], read(t, out, "Lathe-Release-1.4.2", name), read(t, out, "Lathe-Server-Linux-x64-1.4.2-container", name)} {
				if offered != content {
					t.Errorf("%s of %s for %s is another one at the server", name, build.Base, build.Target)
				}
			}
		}
		if client[build.Base+"/"+build.HostName()] == "" {
			t.Errorf("%s for %s has no host", build.Base, build.Target)
		}
	}
	for _, name := range []string{"collet-server", "collet-server.toml", "Containerfile", "systemd/collet-server.service", "ServerResources/Brain.zip"} {
		if server["Lathe-Server/"+name] == "" {
			t.Errorf("the server's package has no %s", name)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "Lathe-Release-1.4.2", "ServerResources")); err == nil {
		t.Error("what only the server has would be published")
	}
}

// TestOnly chooses artefacts.
func TestOnly(t *testing.T) {
	p := kit(t, func(text string) string {
		return strings.Replace(text, `"tar.gz", "tar.zst", "deb", "rpm", "appdir"`, `"tar.zst", "deb"`, 1)
	})
	for _, c := range []struct {
		only             []string
		clients, servers bool
		want             []string
		fault            string
	}{
		{[]string{"macOS-*"}, true, true, []string{"Lathe-Client-macOS-arm64-1.4.2.app.zip"}, ""},
		{[]string{"Linux-x64/tar.zst"}, true, false, []string{"Lathe-Client-Linux-x64-1.4.2.tar.zst", "Lathe-Client-Linux-x64_Profiling-1.4.2.tar.zst"}, ""},
		{[]string{"Linux-x64/tar.zst"}, false, true, []string{"Lathe-Server-Linux-x64-1.4.2.tar.zst"}, ""},
		{[]string{"release", "macOS-arm64/app-zip"}, true, true, []string{"Lathe-Client-macOS-arm64-1.4.2.app.zip", "Lathe-Release-1.4.2"}, ""},
		{[]string{"Linux-x64/snap"}, true, true, nil, `nothing is called "Linux-x64/snap"; `},
		{[]string{"[x"}, true, true, nil, "syntax error"},
		{nil, false, false, nil, "asks for no package"},
	} {
		out := filepath.Join(t.TempDir(), "out")
		_, err := p.Make(t.Context(), pack.MakeOptions{Out: out, Only: c.only, Clients: c.clients, Servers: c.servers})
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%v: %v, want %s", c.only, err, c.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", c.only, err)
			continue
		}
		if found := names(t, out); !slices.Equal(found, append(c.want, pack.SumsFile)) {
			t.Errorf("%v made %v, want %v", c.only, found, c.want)
		}
	}
}

// TestOutOfPacks refuses to put packages where the next run would pack them.
func TestOutOfPacks(t *testing.T) {
	p := kit(t, nil)
	out := filepath.Join(p.Dir, "core", "packages")
	if _, err := p.Make(t.Context(), everything(out)); err == nil || !strings.Contains(err.Error(), "of which the pack Core is made") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("something was made")
	}
}

// TestInterrupted stops after the first artefact: what is complete stays, nothing else does, and no digests are told.
func TestInterrupted(t *testing.T) {
	out := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	o := everything(out)
	o.Jobs = 1
	o.Report = func(pack.Artefact) { stop() }
	var notes []string
	o.Note = func(text string) { notes = append(notes, text) }
	killed := filepath.Join(out, ".collet-pack-killed")
	if err := os.Mkdir(killed, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, pack.SumsFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := kit(t, nil).Make(ctx, o)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "interrupted") || !strings.Contains(err.Error(), "SHA256SUMS was not written") {
		t.Errorf("%v", err)
	}
	if found := names(t, out); !slices.Equal(found, []string{".collet-pack-killed", "Lathe-Client-Linux-x64-1.4.2.tar.gz"}) {
		t.Errorf("left %v", found)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], killed) {
		t.Errorf("noted %v", notes)
	}
}

// TestSumsGoOn makes packages in two calls: the digests of the first stay, those of what is gone do not.
func TestSumsGoOn(t *testing.T) {
	out, p := t.TempDir(), kit(t, nil)
	make := func(only string) []string {
		t.Helper()
		o := everything(out)
		o.Only = []string{only}
		if _, err := p.Make(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		var files []string
		for line := range strings.Lines(read(t, out, pack.SumsFile)) {
			files = append(files, strings.TrimSpace(line[66:]))
		}
		return files
	}
	signature := filepath.Join(out, "Lathe-Client-macOS-arm64-1.4.2.app.zip.asc")
	if err := os.WriteFile(signature, []byte("of other bytes"), 0o644); err != nil {
		t.Fatal(err)
	}
	mac, release := "Lathe-Client-macOS-arm64-1.4.2.app.zip", "Lathe-Release-1.4.2/Resources/Core.zip"
	if files := make("macOS-*"); !slices.Equal(files, []string{mac}) {
		t.Errorf("first %v", files)
	}
	if _, err := os.Lstat(signature); err == nil {
		t.Error("the signature of an older package is left beside the newer one")
	}
	if files := make("release"); !slices.Contains(files, mac) || !slices.Contains(files, release) {
		t.Errorf("then %v", files)
	}
	if err := os.Remove(filepath.Join(out, mac)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, "Lathe-Release-1.4.2", "Resources", "Old.zip"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if files := make("release"); slices.Contains(files, mac) || slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, "Old.zip") }) {
		t.Errorf("at last %v", files)
	}
	if bytes.Contains([]byte(strings.Join(names(t, filepath.Join(out, "Lathe-Release-1.4.2", "Resources")), " ")), []byte("Old")) {
		t.Error("an old pack would be published")
	}
}

// TestMissingTools are told of all together, before anything is made.
func TestMissingTools(t *testing.T) {
	format := regexp.MustCompile(`(\[windows\]\nformats = )\[.*\]`)
	p := windowsKit(t, func(text string) string { return format.ReplaceAllString(text, `$1["zip", "nsis", "msi"]`) })
	t.Setenv("PATH", t.TempDir())
	out := filepath.Join(t.TempDir(), "out")
	_, err := p.Make(t.Context(), everything(out))
	for _, want := range []string{"Windows-win64/nsis needs makensis", "apt-get install nsis", "Windows-win64/msi needs wixl", "apt-get install msitools"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("something was made")
	}
}

// TestDifferenceHasItsPlace changes one letter of a resource and one of a module, and finds them in every format.
func TestDifferenceHasItsPlace(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	o := everything(first)
	p := kit(t, nil)
	o.Only = withZip(p, "*/deb", "*/rpm", "Linux-x64/tar.zst", "*/app-zip", "*/container")
	if _, err := p.Make(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.Out = second
	if _, err := kit(t, nil, file{"core/game.txt", "a gane\n"}).Make(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	const inPack = "Core.zip: game.txt: byte 4 (0x4): 0x6d and 0x6e"
	for name, want := range map[string]string{
		"lathe_1.4.2_amd64.deb":                            "data.tar.gz: (unpacked): ./usr/lib/games/lathe/Resources/" + inPack,
		"lathe-1.4.2-1.x86_64.rpm":                         "payload: (unpacked): /usr/lib/games/lathe/Resources/" + inPack,
		"Lathe-Client-Linux-x64-1.4.2.tar.zst":             "(unpacked): Lathe/Resources/" + inPack,
		"Lathe-Client-macOS-arm64-1.4.2.app.zip":           "The Lathe.app/Contents/Resources/" + inPack,
		"Lathe-Server-Linux-x64-1.4.2-container/Resources": inPack,
	} {
		d, err := verify.Compare(t.Context(), filepath.Join(first, name), filepath.Join(second, name))
		if err != nil || d == nil || !strings.Contains(d.String(), want) {
			t.Errorf("%s: %v, %v, want %s", name, d, err, want)
			continue
		}
		t.Log(d)
	}
}
