package installers

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"collet/build/lab/wine"
	"collet/build/pack/sign"
	"collet/build/pack/windows"
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

// TestSignedUninstaller: what removes the game is signed as the game is, and removes it; the setup of equal files stays the same.
func TestSignedUninstaller(t *testing.T) {
	wine.Need(t)
	need(t, "makensis")
	i := windows.Installer{Sign: signer(t)}
	b := lathe(t, playerProgram(t))
	var setups [2]string
	for n := range setups {
		setups[n] = filepath.Join(t.TempDir(), "setup.exe")
		if err := i.NSIS(t.Context(), b, setups[n]); err != nil {
			t.Fatal(err)
		}
	}
	if err := i.Sign(t.Context(), setups[1]); err != nil {
		t.Fatal(err)
	}
	c := &computer{t: t, kind: "nsis", scope: windows.User, Prefix: wine.For(t, wine.Options{})}
	for n, setup := range setups {
		if code := c.install(setup); code != 0 {
			t.Fatalf("setup %d: code %d", n, code)
		}
		if is, err := sign.IsSigned(filepath.Join(c.folder(), uninstaller)); !is || err != nil {
			t.Errorf("the uninstaller of setup %d is signed: %v, %v", n, is, err)
		}
	}
	c.remove()
	c.wantGone(c.folder())
}
