package windows

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"collet/build/pack/sign"
	"collet/platform/testlevel"
)

// signer signs programs with an untrusted certificate, always at the same time.
func signer(t *testing.T) func(context.Context, string) error {
	t.Helper()
	need(t, "osslsigncode", "openssl")
	key, certificate := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "certificate")
	out, err := exec.Command("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-subj", "/CN=Test").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("COLLET_CERTIFICATE", certificate)
	t.Setenv("COLLET_KEY", key)
	a, err := sign.NewAuthenticode(sign.AuthenticodeSpec{CertificateEnv: "COLLET_CERTIFICATE", KeyEnv: "COLLET_KEY"},
		sign.Options{Test: true, Time: time.Unix(1700000000, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, program string) error {
		_, err := a.Sign(ctx, program)
		return err
	}
}

// TestSignedSetupIsTheSame: equal files make an equal setup, also with a signature in it, and what refuses to sign is heard.
func TestSignedSetupIsTheSame(t *testing.T) {
	testlevel.Lab(t)
	need(t, "makensis")
	i := Installer{Sign: signer(t)}
	var setups [2][]byte
	for n := range setups {
		out := filepath.Join(t.TempDir(), "setup.exe")
		if err := i.NSIS(t.Context(), lathe(t, []byte("host")), out); err != nil {
			t.Fatal(err)
		}
		setups[n], _ = os.ReadFile(out)
	}
	if len(setups[0]) == 0 || string(setups[0]) != string(setups[1]) {
		t.Error("they differ")
	}
	refusal := errors.New("no key")
	i.Sign = func(context.Context, string) error { return refusal }
	if err := i.NSIS(t.Context(), lathe(t, []byte("host")), filepath.Join(t.TempDir(), "setup.exe")); !errors.Is(err, refusal) {
		t.Error(err)
	}
}
