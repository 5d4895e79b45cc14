package wine_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/lab/wine"
	"collet/build/pack/pe"
	"collet/build/pack/sign"
)

const library = `__declspec(dllexport) int answer(void) { return 42; }
`

const loader = `#include <stdio.h>
#include <windows.h>

int main(int count, char **names) {
	for (int i = 1; i < count; i++) {
		HMODULE module = LoadLibraryA(names[i]);
		FARPROC answer = module ? GetProcAddress(module, "answer") : 0;
		if (!answer) {
			printf("%s: error %lu\n", names[i], GetLastError());
			return 1;
		}
		printf("%d ", (int)answer());
	}
	return 0;
}
`

// A library for Windows is linked, tied to its symbols, signed and verified; it loads after each step, and its symbols are still
// found by what reads programs.
func TestLibraryIsPatchedSignedAndLoaded(t *testing.T) {
	for _, tool := range []string{"clang", "lld-link", "llvm-readobj", "osslsigncode", "openssl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: %s is missing (on Debian: apt-get install clang lld llvm osslsigncode openssl)", tool)
		}
	}
	p := wine.For(t, wine.Options{})
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"library.c": library, "loader.c": loader} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := wine.Compile(t.Context(), at("loader.exe"), at("loader.c")); err != nil {
		t.Fatal(err)
	}
	must(t, "clang", "--target=x86_64-pc-windows-msvc", "-g", "-gcodeview", "-O1", "-c", at("library.c"), "-o", at("library.o"))
	must(t, "lld-link", "/dll", "/noentry", "/nodefaultlib", "/debug", "/Brepro", "/pdb:"+at("library.pdb"), "/out:"+at("built.dll"), at("library.o"))

	image, err := os.ReadFile(at("built.dll"))
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := os.ReadFile(at("library.pdb"))
	if err == nil {
		err = pe.CheckPair(image, bytes.NewReader(symbols), int64(len(symbols)))
	}
	if err == nil {
		err = pe.PatchPDB(image, "Lathe.dll.pdb")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"patched.dll", "signed.dll"} {
		if err := os.WriteFile(at(name), image, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	must(t, "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", at("key"), "-out", at("certificate"), "-subj", "/CN=Test",
		"-addext", "extendedKeyUsage=codeSigning")
	signer, err := sign.NewAuthenticode(sign.AuthenticodeSpec{CertificateEnv: "CERTIFICATE", KeyEnv: "KEY", Authority: at("certificate")}, sign.Options{
		Test: true, Look: func(name string) (string, bool) {
			if path, ours := map[string]string{"CERTIFICATE": at("certificate"), "KEY": at("key")}[name]; ours {
				return path, true
			}
			return os.LookupEnv(name)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signer.Sign(t.Context(), at("signed.dll")); err != nil {
		t.Fatal(err)
	}
	if said := must(t, "llvm-readobj", "--coff-debug-directory", at("signed.dll")); !strings.Contains(said, "PDBFileName: Lathe.dll.pdb\n") {
		t.Error(said)
	}
	said, err := p.Run(t.Context(), at("loader.exe"), wine.Windows(at("built.dll")), wine.Windows(at("patched.dll")), wine.Windows(at("signed.dll")))
	if err != nil || strings.TrimSpace(said) != "42 42 42" {
		t.Errorf("%s, %v", said, err)
	}
}

// must runs a tool of this machine and gives what it said.
func must(t *testing.T, name string, args ...string) string {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, said)
	}
	return string(said)
}
