package pkcs11

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"collet/platform/testlevel"
)

// moduleVariable has the path of testdata/module.c's module where another program compiled it, as for Windows.
const moduleVariable = "COLLET_TEST_MODULE"

// testModule compiles testdata/module.c.
func testModule(t *testing.T) string {
	t.Helper()
	if path := os.Getenv(moduleVariable); path != "" {
		return path
	}
	if runtime.GOOS == "windows" {
		t.Skip("the module for Windows is compiled by build/lab/wine")
	}
	testlevel.Slow(t)
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("a C compiler is not installed")
	}
	path := filepath.Join(t.TempDir(), "module.so")
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-O1", "-o", path, "testdata/module.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// TestModule: what SoftHSM can't show. A key that wants its PIN for each signature, tokens with one try or none, with a pad, without a PIN,
// for short messages only, and without a public half.
func TestModule(t *testing.T) {
	path := testModule(t)
	uri := func(token string) URI { return URI{Token: token, Object: "release", Module: path} }
	message := []byte("what is signed here is longer than sixty-four bytes, as lists of releases are")
	want := make([]byte, 64)
	for i := range want {
		want[i] = message[i*len(message)/64] ^ byte(i)
	}
	asked := map[string]bool{}
	refusal := errors.New("nobody is there")
	tokens := NewTokens(func(token string, last bool) ([]byte, error) {
		if asked[token] = true; last {
			return nil, refusal
		}
		return []byte("1234"), nil
	})
	for _, name := range []string{"always", "pad", "open", "short", "silent"} {
		key, err := tokens.Open(uri(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if is := append([]byte{1, 2, 3}, make([]byte, 29)...); name != "silent" && !bytes.Equal(key.Public, is) || name == "silent" && key.Public != nil {
			t.Errorf("%s tells %X", name, key.Public)
		}
		for range 2 {
			if made, err := key.Sign(message); err != nil || !bytes.Equal(made, want) {
				t.Errorf("%s: %X, %v", name, made, err)
			}
		}
		if _, err := key.Sign(make([]byte, 1025)); (err != nil) != (name == "short") || err != nil && !strings.Contains(err.Error(), "sign 1025 bytes: it signs shorter messages only") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := tokens.Open(uri("final")); !errors.Is(err, refusal) {
		t.Errorf("the last try: %v", err)
	}
	if _, err := tokens.Open(uri("locked")); err == nil || !strings.Contains(err.Error(), "its PIN is locked") || asked["locked"] {
		t.Errorf("locked: %v", err)
	}
	if asked["pad"] || asked["open"] || !asked["always"] {
		t.Errorf("asked for the PIN of %v", asked)
	}
}
