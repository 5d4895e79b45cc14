//go:build unix

package pack_test

import (
	"archive/zip"
	"bytes"
	stdpe "debug/pe"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/build/pack"
	codeview "collet/build/pack/pe"
	"collet/build/pack/sign"
	"collet/build/pack/verify"
	"collet/platform/testlevel"
)

// windowsKit is a project with programs for Windows alone; it skips where they can't be made.
func windowsKit(t *testing.T, change func(string) string) *pack.Project {
	t.Helper()
	testlevel.Slow(t)
	programs, err := built()
	if err != nil {
		t.Fatal(err)
	}
	if programs["windows/client.exe"] == "" {
		t.Skip("NOT TESTED: programs for Windows, which need clang, lld and mingw-w64; make setup installs them")
	}
	return kit(t, change)
}

// TestFilled looks into what players get: the areas, the names of symbols, what Windows shows.
func TestFilled(t *testing.T) {
	out := t.TempDir()
	p := windowsKit(t, nil)
	o := pack.MakeOptions{Out: out, Clients: true, Only: []string{"*/zip", "*/tar.zst", "*/app-zip"}, Jobs: 2}
	if _, err := p.Make(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	opengl := members(t, filepath.Join(out, "Lathe-Client-Windows-win64_OpenGL-1.4.2.zip"))
	for _, name := range []string{"Lathe_OpenGL.exe", "Lathe_OpenGL.dll"} {
		program := opengl["Lathe_OpenGL/"+name]
		for _, text := range []string{"ServerHost = 'update.example.org'", "ForceOpenGL = 1\n", "Lathe_OpenGL\x00"} {
			if !strings.Contains(program, text) {
				t.Errorf("%s does not say %q", name, text)
			}
		}
		want := map[string]string{"Lathe_OpenGL.exe": "Lathe_OpenGL.pdb", "Lathe_OpenGL.dll": "Lathe_OpenGL.dll.pdb"}[name]
		if symbols, err := codeview.ReadSymbols([]byte(program)); err != nil || symbols.Path != want {
			t.Errorf("%s says that its symbols are %q, %v", name, symbols.Path, err)
		}
		if opengl["Lathe_OpenGL/"+want] == "" {
			t.Errorf("%s is not there", want)
		}
	}
	host, err := stdpe.NewFile(strings.NewReader(opengl["Lathe_OpenGL/Lathe_OpenGL.exe"]))
	if err != nil || host.Section(".rsrc") == nil || !strings.Contains(opengl["Lathe_OpenGL/Lathe_OpenGL.exe"], utf16("The Lathe")) {
		t.Errorf("Windows has nothing to show of the host: %v", err)
	}
	if opengl["Lathe_OpenGL/extra.dll"] == "" {
		t.Error("the companion is missing")
	}
	profiling := members(t, filepath.Join(out, "Lathe-Client-Linux-x64_Profiling-1.4.2.tar.zst"))
	if module := profiling["Lathe_Profiling/Lathe_Profiling.so"]; strings.Contains(module, "ForceOpenGL") || !strings.Contains(module, "Lathe_Profiling\x00") {
		t.Error("the module for profiling is another one's")
	}
	mac := members(t, filepath.Join(out, "Lathe-Client-macOS-arm64-1.4.2.app.zip"))
	if module := mac["The Lathe.app/Contents/Lathe.dylib"]; !strings.Contains(module, "ServerHost") {
		t.Error("the module for macOS says nothing")
	}
	picturesIn(t, opengl["Lathe_OpenGL/Lathe_OpenGL.dll"])
}

// utf16 is a text of ASCII as Windows' resources have it.
func utf16(text string) string {
	var b strings.Builder
	for _, r := range text {
		b.WriteString(string(r) + "\x00")
	}
	return b.String()
}

// picturesIn finds the zip of the embedded resources in a program.
func picturesIn(t *testing.T, program string) {
	t.Helper()
	at := strings.Index(program, "PK\x03\x04")
	end := strings.Index(program[max(at, 0):], "PK\x05\x06")
	if at < 0 || end < 0 {
		t.Fatal("no zip in the program")
	}
	data := program[at : at+end+22]
	r, err := zip.NewReader(strings.NewReader(data), int64(len(data)))
	if err != nil || len(r.File) != 2 || r.File[0].Name != "icon.png" || r.File[1].Name != "splash.png" {
		t.Errorf("the zip in the program: %v, %v", r, err)
	}
}

// TestStops gives what can't be packed. Nothing is left then.
func TestStops(t *testing.T) {
	replace := func(old, new string) func(string) string {
		return func(text string) string { return strings.Replace(text, old, new, 1) }
	}
	for _, c := range []struct {
		name   string
		change func(string) string
		spoil  func(dir string) error
		want   string
	}{
		{"packed before", nil, func(dir string) error { return spoil(dir, "linux/game.so", "NotPackaged", "AlreadyDone") }, "packaged name"},
		{"no areas", nil, func(dir string) error { return spoil(dir, "mac/game.dylib", "InternalConfigEnd", "InternalConfigEnb") }, "internal config"},
		{"settings too long", replace(`Update.Trust = "sha256"`, `Update.Trust = "sha256"`+"\nMotto = \""+strings.Repeat("long ", 3000)+`"`), nil, "has room for"},
		{"foreign symbols", replace("game-with-room-for-names.pdb", "client-with-room-for-names.pdb"), nil, "symbols are those of another build"},
		{"symbols cut off", nil, func(dir string) error {
			return os.Truncate(filepath.Join(dir, "windows/game-with-room-for-names.pdb"), 20)
		}, "symbols"},
		{"symbols missing", nil, func(dir string) error { return os.Remove(filepath.Join(dir, "windows/game-with-room-for-names.pdb")) }, "no such file"},
		{"pack with a link", nil, func(dir string) error { return os.Symlink("game.txt", filepath.Join(dir, "core", "link")) }, "symbolic link"},
		{"no compatibility", replace(`compatibility = "lathe-2"`, ``), nil, "server.compatibility"},
	} {
		t.Run(c.name, func(t *testing.T) {
			windowsKit(t, nil)
			file := kitFile(t, c.change)
			out := filepath.Join(t.TempDir(), "out")
			p, err := pack.Load(file, nil)
			if err == nil {
				if c.spoil != nil {
					if err := c.spoil(filepath.Dir(file)); err != nil {
						t.Fatal(err)
					}
				}
				o := everything(out)
				o.Only = []string{"*/zip", "*/tar.zst", "release"}
				_, err = p.Make(t.Context(), o)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			t.Log(err)
			if _, err := os.Stat(filepath.Join(out, pack.SumsFile)); err == nil {
				t.Error("there are digests of what is not complete")
			}
			if found, _ := filepath.Glob(filepath.Join(out, ".collet-pack-*")); len(found) > 0 {
				t.Errorf("left %v", found)
			}
		})
	}
}

// spoil changes a text in a file to another one of its length.
func spoil(dir, name, old, new string) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, bytes.ReplaceAll(data, []byte(old), []byte(new)), 0o644)
}

// TestSignedOnce has everything for Windows signed with a self-made certificate: every program once, before it is packed.
func TestSignedOnce(t *testing.T) {
	testlevel.Slow(t)
	for _, tool := range []string{"osslsigncode", "openssl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("NOT TESTED: signatures, for want of %s; make setup installs it", tool)
		}
	}
	keys, out := t.TempDir(), t.TempDir()
	key, certificate := filepath.Join(keys, "key.pem"), filepath.Join(keys, "certificate.pem")
	said, err := exec.CommandContext(t.Context(), "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Example Games",
		"-addext", "extendedKeyUsage=codeSigning", "-keyout", key, "-out", certificate, "-days", "30").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	t.Setenv("LATHE_CERTIFICATE", certificate)
	t.Setenv("LATHE_KEY", key)
	signing := "\n[signing.windows]\ncertificate-env = \"LATHE_CERTIFICATE\"\nkey-env = \"LATHE_KEY\"\n"
	p := windowsKit(t, func(text string) string { return text + signing })
	o := everything(out)
	o.Only = []string{"Windows-*", "release"}
	if _, err := p.Make(t.Context(), o); err == nil || !strings.Contains(err.Error(), "signed by itself") {
		t.Errorf("a release is signed with a certificate for tests: %v", err)
	}
	var notes []string
	o.TestSigning, o.Note = true, func(text string) { notes = append(notes, text) }
	made, err := p.Make(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range made {
		if strings.HasPrefix(a.Name, "Lathe-Release") {
			continue
		}
		if !strings.Contains(a.Name, sign.TestMark) {
			t.Errorf("%s could be taken for a release", a.Name)
		}
		if ext := filepath.Ext(a.Name); ext == ".exe" || ext == ".msi" {
			verified(t, filepath.Join(out, a.Name))
		}
	}
	if said := strings.Join(notes, "\n"); !strings.Contains(said, "FOR TESTS ONLY") || !strings.Contains(said, "signed by itself") {
		t.Errorf("what is told is %q", said)
	}
	inZip := members(t, filepath.Join(out, "Lathe-Client-Windows-win64_OpenGL-"+sign.TestMark+"-1.4.2.zip"))
	plain := members(t, filepath.Join(out, "Lathe-Client-Windows-win64-"+sign.TestMark+"-1.4.2.zip"))
	for _, name := range []string{"Lathe_OpenGL.exe", "Lathe_OpenGL.dll", "extra.dll"} {
		write(t, keys, map[string]string{name: inZip["Lathe_OpenGL/"+name]})
		verified(t, filepath.Join(keys, name))
	}
	if plain["Lathe/extra.dll"] != inZip["Lathe_OpenGL/extra.dll"] {
		t.Error("a companion was signed twice")
	}
	if read(t, out, "Lathe-Release-1.4.2", "PlatformBinaries", "Windows-win64", "Lathe_OpenGL.dll") != inZip["Lathe_OpenGL/Lathe_OpenGL.dll"] {
		t.Error("the published module is another one")
	}
	o.Out = t.TempDir()
	if _, err := p.Make(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if d, err := verify.Compare(t.Context(), out, o.Out); d != nil || err != nil {
		t.Errorf("signed again by the same key, without timestamps: %v, %v", d, err)
	}
}

// verified has osslsigncode compare the digest in a signature with the file; it does not know the signer.
func verified(t *testing.T, file string) {
	t.Helper()
	said, _ := exec.CommandContext(t.Context(), "osslsigncode", "verify", "-in", file).CombinedOutput()
	lines := strings.Split(string(said), "\n")
	digests := slices.DeleteFunc(lines, func(line string) bool {
		return !strings.Contains(line, "digest:") && !strings.Contains(line, "essageDigest") && !strings.Contains(line, "DigitalSignature")
	})
	if strings.Contains(string(said), "MISMATCH") || len(digests) == 0 {
		t.Errorf("%s: %s", file, said)
	}
}

// TestHostIsOffered where clients are told to update it, and nowhere else.
func TestHostIsOffered(t *testing.T) {
	for _, update := range []bool{false, true} {
		out := t.TempDir()
		p := kit(t, func(text string) string {
			if !update {
				return text
			}
			return strings.Replace(text, "[[resources.pack]]", "Update.Host = true\n[[resources.pack]]", 1)
		})
		o := everything(out)
		o.Only = []string{"release", "Linux-x64/tar.zst"}
		if _, err := p.Make(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		host := filepath.Join(out, "Lathe-Release-1.4.2", "PlatformBinaries", "Linux-x64", "Lathe")
		if _, err := os.Stat(host); (err == nil) != update {
			t.Errorf("updated %v: %v", update, err)
		}
		if client := members(t, filepath.Join(out, "Lathe-Client-Linux-x64-1.4.2.tar.zst")); update && read(t, host) != client["Lathe/Lathe"] {
			t.Error("the offered host is another one")
		}
	}
}
