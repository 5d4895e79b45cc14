package wine_test

import (
	"path/filepath"
	"strings"
	"testing"

	"collet/build/lab/wine"
)

// TestTokenModule: the PKCS#11 interface has another layout on Windows, where structures have no gaps and CK_ULONG has four bytes. The tests of the
// package run there with a module that a C compiler for Windows made.
func TestTokenModule(t *testing.T) {
	folder := filepath.Join("..", "..", "publish", "pkcs11")
	dir := t.TempDir()
	module, exe := filepath.Join(dir, "token.dll"), filepath.Join(dir, "suite.exe")
	p := wine.For(t, wine.Options{Env: []string{"COLLET_TEST_MODULE=Z:" + module}})
	must(t, "x86_64-w64-mingw32-gcc", "-shared", "-O1", "-o", module, filepath.Join(folder, "testdata", "module.c"))
	if err := wine.Build(t.Context(), ".", "collet/build/publish/pkcs11", exe, "test", "-c"); err != nil {
		t.Fatal(err)
	}
	said, err := p.RunIn(t.Context(), folder, exe, "-test.v", "-test.run=^(TestModule|TestParseURI|TestParsePoint|TestLastTry)$")
	if err != nil || strings.Count(said, "--- PASS") != 4 {
		t.Errorf("%v\n%s", err, failures(said))
	}
}
