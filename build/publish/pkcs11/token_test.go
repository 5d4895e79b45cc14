package pkcs11

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"collet/platform/testlevel"
)

// softHSM is the module of SoftHSM, a token in files, or empty.
func softHSM() string {
	for _, path := range []string{"/usr/lib/softhsm/libsofthsm2.so", "/usr/lib64/softhsm/libsofthsm.so", "/usr/local/lib/softhsm/libsofthsm2.so", "/opt/homebrew/lib/softhsm/libsofthsm2.so"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// insideVariable is set in the process that TestTokens starts: SoftHSM reads its settings from the environment that the process began with.
const insideVariable = "COLLET_TEST_TOKENS"

// TestTokens: keys in SoftHSM's tokens are found by their URI, sign lists of 200 kB, and each mistake has its own message.
func TestTokens(t *testing.T) {
	if os.Getenv(insideVariable) != "" {
		inside(t)
		return
	}
	t.Parallel()
	testlevel.Slow(t)
	util, err := exec.LookPath("softhsm2-util")
	if err != nil || softHSM() == "" {
		t.Skip("SoftHSM is not installed; on Debian: softhsm2")
	}
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "tokens"), 0o700))
	settings := filepath.Join(dir, "softhsm2.conf")
	must(t, os.WriteFile(settings, []byte("directories.tokendir = "+filepath.Join(dir, "tokens")+"\nlog.level = ERROR\n"), 0o600))
	env := append(os.Environ(), "SOFTHSM2_CONF="+settings, insideVariable+"="+dir)
	run := func(name string, args ...string) {
		t.Helper()
		c := exec.Command(name, args...)
		c.Env = env
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	for _, label := range []string{"lathe", "twin", "twin", "empty"} {
		run(util, "--init-token", "--free", "--label", label, "--pin", "1234", "--so-pin", "5678")
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	for name, private := range map[string]crypto.PrivateKey{"release": key, "curve": other} {
		der, err := x509.MarshalPKCS8PrivateKey(private)
		must(t, err)
		file := filepath.Join(dir, name+".pem")
		must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
		for id, label := range map[string]string{"01": name, "02": "pair", "03": "pair"} {
			if name == "curve" {
				id = "1" + id[1:]
			}
			run(util, "--import", file, "--token", "lathe", "--label", label, "--id", id, "--pin", "1234")
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "public"), key.Public().(ed25519.PublicKey), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "pin"), []byte("1234\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "no-pin"), nil, 0o600))
	run(os.Args[0], "-test.run=^TestTokens$", "-test.count=1")
}

// inside is the test in the process that has SoftHSM's settings.
func inside(t *testing.T) {
	dir := os.Getenv(insideVariable)
	public, err := os.ReadFile(filepath.Join(dir, "public"))
	must(t, err)
	asked := 0
	tokens := NewTokens(func(string, bool) ([]byte, error) {
		asked++
		return []byte("1234"), nil
	})
	uri := func(text string) URI {
		t.Helper()
		u, err := ParseURI("pkcs11:" + text)
		must(t, err)
		return u
	}
	module := "?module-path=" + softHSM()
	key, err := tokens.Open(uri("token=lathe;object=release" + module))
	must(t, err)
	if !bytes.Equal(key.Public, public) {
		t.Errorf("the token tells %X, want %X", key.Public, public)
	}
	var done sync.WaitGroup
	for _, size := range []int{1, 200_000} { // a list of a thousand releases
		done.Go(func() {
			message := bytes.Repeat([]byte{'c'}, size)
			if made, err := key.Sign(message); err != nil || !ed25519.Verify(public, message, made) {
				t.Errorf("%d bytes: %X, %v", size, made, err)
			}
		})
	}
	done.Wait()
	for _, text := range []string{"token=lathe;id=%01", "token=lathe;object=pair;id=%02", "token=lathe;id=%03;manufacturer=SoftHSM%20project;type=private"} {
		if k, err := tokens.Open(uri(text + module)); err != nil || !bytes.Equal(k.Public, public) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked for the PIN %d times", asked)
	}
	if _, err := NewTokens(nil).Open(uri("token=lathe;object=release" + module + "&pin-source=file:" + filepath.Join(dir, "pin"))); err != nil {
		t.Errorf("pin-source: %v", err)
	}
	says := func(pin string, err error) func(string, bool) ([]byte, error) {
		return func(string, bool) ([]byte, error) { return []byte(pin), err }
	}
	refusal := errors.New("nobody is there")
	for _, test := range []struct {
		uri  string
		ask  func(string, bool) ([]byte, error)
		want string
	}{
		{"token=lathe;object=release?module-path=" + filepath.Join(dir, "nothing.so"), says("1234", nil), "load PKCS#11 module"},
		{"token=lathe;object=release?module-path=" + filepath.Join(dir, "public"), says("1234", nil), "load PKCS#11 module"},
		{"token=mill;object=release" + module, says("1234", nil), `has no such token; it has "`},
		{"token=twin;object=release" + module, says("1234", nil), "2 tokens are meant"},
		{"token=lathe;object=release" + module, says("4321", nil), "the PIN is wrong (CKR 0xa0); the token reports: a wrong PIN was entered"},
		{"token=lathe;object=release" + module, says("", nil), "no PIN was given"},
		{"token=lathe;object=release" + module, says("", refusal), "nobody is there"},
		{"token=lathe;object=release" + module + "&pin-source=" + filepath.Join(dir, "no-pin"), nil, "is empty"},
		{"token=lathe;object=release" + module + "&pin-source=" + filepath.Join(dir, "nothing"), nil, "pin-source: open"},
		{"token=empty;object=release" + module, says("1234", nil), "it has no private key"},
		{"token=lathe;object=mill" + module, says("1234", nil), `it has no such key; it has "`},
		{"token=lathe;object=curve" + module, says("1234", nil), `key "curve" (id 11) is not Ed25519`},
		{"token=lathe;manufacturer=other;object=release" + module, says("1234", nil), "has no such token"},
		{"token=lathe;object=pair" + module, says("1234", nil), `2 keys are meant: "pair" (id 0`},
		{"token=lathe;slot-id=1;object=release" + module, says("1234", nil), "has no such token"},
	} {
		if _, err := NewTokens(test.ask).Open(uri(test.uri)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.uri, err, test.want)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
