package pe_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"collet/build/pack/pe"
	"collet/platform/testlevel"
)

// tool runs a program that a machine may lack, and gives what it said.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIPPED: %s is missing (on Debian: apt-get install clang lld llvm osslsigncode gcc-mingw-w64-x86-64)", name)
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

const source = `__declspec(dllexport) int add(int a, int b) { int c = a + b; return c; }
int _start(void) { return add(40, 2); }
`

// linked makes a library or program with its PDB the way of lld-link, without a C library.
func linked(t *testing.T, processor string, options ...string) (image, symbols string) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.c"), []byte(source))
	object := filepath.Join(dir, "a.o")
	tool(t, "clang", "--target="+processor+"-pc-windows-msvc", "-g", "-gcodeview", "-O1", "-c", filepath.Join(dir, "a.c"), "-o", object)
	image, symbols = filepath.Join(dir, "a.out"), filepath.Join(dir, "a.pdb")
	args := []string{"/nodefaultlib", "/debug", "/pdb:" + symbols, `/pdbaltpath:C:\agent\build\7\runtime-of-everybody.pdb`, "/out:" + image}
	tool(t, "lld-link", append(append(args, options...), object)...)
	return image, symbols
}

var (
	codeViewLine = regexp.MustCompile(`PDBFileName: (.*)`)
	pdbGUID      = regexp.MustCompile(`GUID: \{([0-9A-F-]+)\}`)
)

// Programs for both widths, with one entry in the debug directory and with two, as libraries and as programs: what other
// people's tools read in them afterwards is the new name and nothing else that is new.
func TestRealPairs(t *testing.T) {
	testlevel.Lab(t)
	for _, c := range []struct{ name, processor, options string }{
		{"PE32+ library", "x86_64", "/dll /noentry"},
		{"PE32+ library, reproducible", "x86_64", "/dll /noentry /Brepro"},
		{"PE32 library", "i686", "/dll /noentry"},
		{"PE32 library, reproducible", "i686", "/dll /noentry /Brepro"},
		{"PE32+ program", "x86_64", "/entry:_start /subsystem:console"},
	} {
		t.Run(c.name, func(t *testing.T) {
			image, symbols := linked(t, c.processor, strings.Fields(c.options)...)
			patched(t, image, symbols)
		})
	}
}

// The drivers of MinGW, clang's and GNU's, link with a C library; GNU's linker sets a checksum.
func TestRealPairsOfMinGW(t *testing.T) {
	testlevel.Lab(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.c"), []byte(strings.Split(source, "\n")[0]))
	gcc := strings.TrimSpace(tool(t, "x86_64-w64-mingw32-gcc", "-print-libgcc-file-name"))
	drivers := map[string][]string{
		"clang":                  {"--target=x86_64-w64-mingw32", "-gcodeview", "-fuse-ld=lld", "-static-libgcc", "-L" + filepath.Dir(gcc)},
		"x86_64-w64-mingw32-gcc": {},
	}
	for driver, options := range drivers {
		t.Run(driver, func(t *testing.T) {
			image, symbols := filepath.Join(dir, driver+".dll"), filepath.Join(dir, driver+"-with-room-for-names.pdb")
			args := append(options, "-g", "-O1", "-shared", "-Wl,--pdb="+symbols, "-o", image, filepath.Join(dir, "a.c"))
			tool(t, driver, args...)
			linkers := load(t, image)
			data := bytes.Clone(linkers)
			if err := pe.FixChecksum(data); err != nil || !bytes.Equal(data, linkers) {
				t.Errorf("the linker has another checksum; %v", err)
			}
			write(t, image, append(data, make([]byte, len(data)%2)...)) // osslsigncode takes odd lengths for one less
			patched(t, image, symbols)
		})
	}
}

// patched patches a program in place and has everything read back by LLVM's tools.
func patched(t *testing.T, image, symbols string) {
	t.Helper()
	before, data := tool(t, "llvm-readobj", "--coff-debug-directory", image), load(t, image)
	size := len(data)
	file := load(t, symbols)
	if err := pe.CheckPair(data, bytes.NewReader(file), int64(len(file))); err != nil {
		t.Fatal(err)
	}
	if err := pe.PatchPDB(data, "Lathe.dll.pdb"); err != nil {
		t.Fatal(err)
	}
	write(t, image, data)
	after := tool(t, "llvm-readobj", "--coff-debug-directory", image)
	if want := codeViewLine.ReplaceAllString(before, "PDBFileName: Lathe.dll.pdb"); after != want || before == after {
		t.Errorf("llvm-readobj reads\n%s, want\n%s", after, want)
	}
	if err := pe.CheckPair(data, bytes.NewReader(file), int64(len(file))); err != nil || len(data) != size {
		t.Error(err)
	}
	s, err := pe.ReadSymbols(data)
	if err != nil {
		t.Fatal(err)
	}
	summary := tool(t, "llvm-pdbutil", "dump", "--summary", symbols)
	found := pdbGUID.FindStringSubmatch(summary)
	if found == nil || s.String() != strings.ReplaceAll(found[1], "-", "")+"1" || !strings.Contains(summary, "Age: 1\n") {
		t.Errorf("llvm-pdbutil says %s, we say %s", summary, s)
	}
	checksums(t, image)
}

// checksums has osslsigncode compute the checksum: it is right or not set.
func checksums(t *testing.T, image string) {
	t.Helper()
	path, err := exec.LookPath("osslsigncode")
	if err != nil {
		t.Skip("SKIPPED: osslsigncode is missing, no other tool computes a checksum")
	}
	out, _ := exec.Command(path, "verify", "-in", image).CombinedOutput() // there is no signature, which it calls a failure
	found := checksumLine.FindAllSubmatch(out, -1)                        // one line where all is well, or always what is written and what should be
	if len(found) == 0 {
		t.Fatalf("osslsigncode says %s", out)
	}
	if written, right := string(found[0][1]), string(found[len(found)-1][1]); written != "00000000" && written != right {
		t.Errorf("osslsigncode says %s", out)
	}
}

var checksumLine = regexp.MustCompile(`PE checksum *: ([0-9A-F]+)`)

// Two links of the same sources with different options are two builds.
func TestRealForeignPair(t *testing.T) {
	testlevel.Lab(t)
	image, _ := linked(t, "x86_64", "/dll", "/noentry", "/Brepro")
	_, symbols := linked(t, "x86_64", "/dll", "/noentry", "/Brepro", "/base:0x190000000")
	file := load(t, symbols)
	if err := pe.CheckPair(load(t, image), bytes.NewReader(file), int64(len(file))); !errors.Is(err, pe.Foreign) {
		t.Error(err)
	}
}

// Programs of Go have no such record: symbols of a host are optional as long as no setting names them.
func TestRealGoProgram(t *testing.T) {
	testlevel.Lab(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"))
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "a.exe"), filepath.Join(dir, "main.go"))
	cmd.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0", "GO111MODULE=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := pe.ReadSymbols(load(t, filepath.Join(dir, "a.exe"))); !errors.Is(err, pe.NoDebug) {
		t.Error(err)
	}
}
