package sign_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/build/pack/pe"
	"collet/build/pack/sign"
	"collet/platform/testlevel"
)

// tools skips a test loudly where a program is missing.
func tools(t *testing.T, names ...string) {
	t.Helper()
	testlevel.Slow(t)
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: %s is missing (on Debian: apt-get install osslsigncode openssl wixl gnupg minisign openssh-client)", name)
		}
	}
}

// must runs a tool and gives what it said.
func must(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// programFile is a file that can be signed, alone in a folder.
func programFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "Lathe.exe")
	if err := os.WriteFile(file, sign.Probe(), 0o751); err != nil {
		t.Fatal(err)
	}
	return file
}

// alone wants nothing but the file to be left in its folder, and no temporary file.
func alone(t *testing.T, file, temp string) {
	t.Helper()
	for dir, want := range map[string]int{filepath.Dir(file): 1, temp: 0} {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != want {
			t.Errorf("%s holds %v, %v", dir, entries, err)
		}
	}
}

func TestSignWithKey(t *testing.T) {
	tools(t, "osslsigncode")
	ca := newAuthority(t, "Root of Everybody")
	certificate, key := ca.leaf(t, nil)
	spec := byKey
	spec.Authority = ca.root
	temp := t.TempDir()
	o := sign.Options{
		Look: environment{"CERTIFICATE": certificate, "KEY": key}.look, Temp: temp,
		Name: "The Lathe", URL: "https://lathe.example.org", Time: time.Unix(1700000000, 0),
	}
	a := signer(t, spec, o)
	if signed, err := a.Check(t.Context()); err != nil || signed.Signer != "CN=Example Games,O=Example Games" || signed.Test() {
		t.Fatalf("%+v, %v", signed, err)
	}
	file := programFile(t)
	before, _ := os.ReadFile(file)
	signed, err := a.Sign(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if signed.Unsigned != sha256.Sum256(before) || signed.File != file || signed.Test() || signed.Unchecked != "" {
		t.Errorf("%+v", signed)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o751 {
		t.Error(info.Mode(), err)
	}
	alone(t, file, temp)
	said := must(t, "osslsigncode", "verify", "-CAfile", ca.root, "-in", file)
	for _, part := range []string{"The Lathe", "https://lathe.example.org", "SHA256"} {
		if !strings.Contains(said, part) {
			t.Errorf("there is no %q in %s", part, said)
		}
	}
	if err := a.Verify(t.Context(), file); err != nil {
		t.Error(err)
	}
	if _, err := a.Sign(t.Context(), file); !errors.Is(err, pe.Signed) {
		t.Errorf("signed twice: %v", err)
	}
}

// The same file signed twice is the same file, where the tool can be told the time.
func TestSameSignature(t *testing.T) {
	tools(t, "osslsigncode")
	if said, _ := exec.Command("osslsigncode", "sign", "--help").CombinedOutput(); !bytes.Contains(said, []byte("[ -time ")) {
		t.Skip("SKIPPED: this osslsigncode signs the time of the clock")
	}
	certificate, key := newAuthority(t, "Root of Everybody").leaf(t, nil)
	a := signer(t, byKey, sign.Options{Look: environment{"CERTIFICATE": certificate, "KEY": key}.look, Time: time.Unix(1700000000, 0)})
	var files [2][]byte
	for i := range files {
		if i > 0 {
			<-time.After(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) // the clock's next second
		}
		file := programFile(t)
		if _, err := a.Sign(t.Context(), file); err != nil {
			t.Fatal(err)
		}
		files[i], _ = os.ReadFile(file)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the files differ")
	}
}

func TestSignWithPKCS12(t *testing.T) {
	tools(t, "osslsigncode", "openssl")
	certificate, key := newAuthority(t, "Root of Everybody").leaf(t, nil)
	store := filepath.Join(t.TempDir(), "store.p12")
	const password = "pass word'$\"ä"
	must(t, "openssl", "pkcs12", "-export", "-in", certificate, "-inkey", key, "-out", store, "-passout", "pass:"+password)
	spec := sign.AuthenticodeSpec{PKCS12Env: "STORE", PasswordEnv: "PASSWORD"}
	env := environment{"STORE": store, "PASSWORD": password}
	file, temp := programFile(t), t.TempDir()
	if _, err := signer(t, spec, sign.Options{Look: env.look, Temp: temp}).Sign(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	alone(t, file, temp)

	env["PASSWORD"], file = "another password", programFile(t)
	before, _ := os.ReadFile(file)
	a := signer(t, spec, sign.Options{Look: env.look, Temp: temp})
	for name, try := range map[string]func() error{
		"sign":  func() error { _, err := a.Sign(t.Context(), file); return err },
		"check": func() error { _, err := a.Check(t.Context()); return err },
	} {
		err := try()
		if err == nil || strings.Contains(err.Error(), "another password") || !strings.Contains(err.Error(), "assword") {
			t.Errorf("%s with a wrong password: %v", name, err)
		}
	}
	if after, _ := os.ReadFile(file); !bytes.Equal(before, after) {
		t.Error("the file has changed")
	}
	alone(t, file, temp)
}

// What is for tests is refused, and taken when asked for by name; the summary then says why.
func TestTestCertificates(t *testing.T) {
	tools(t, "osslsigncode")
	ca, testing := newAuthority(t, "Root of Everybody"), newAuthority(t, "Testing Authority")
	for _, c := range []struct {
		name   string
		from   *authority
		change func(c *x509.Certificate)
		reason string
	}{
		{"a word in the name", ca, func(c *x509.Certificate) { c.Subject.CommonName = "Example Games (TEST)" }, "for tests"},
		{"a word in the unit", ca, func(c *x509.Certificate) { c.Subject.OrganizationalUnit = []string{"Development"} }, "for tests"},
		{"a word in the authority's name", testing, nil, "its authority says"},
		{"expired", ca, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, "expired on"},
		{"not valid yet", ca, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }, "not valid before"},
		{"for servers", ca, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }, "not for signing code"},
		{"for nothing", ca, func(c *x509.Certificate) { c.ExtKeyUsage = nil }, "not for signing code"},
		{"an authority", ca, func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = true, true }, "an authority"},
		{"signed by itself", ca, func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: "Root of Everybody"} }, "signed by itself"},
	} {
		t.Run(c.name, func(t *test) {
			certificate, key := c.from.leaf(t, c.change)
			o := sign.Options{Look: environment{"CERTIFICATE": certificate, "KEY": key}.look}
			file := programFile(t)
			before, _ := os.ReadFile(file)
			var refused *sign.TestKeyError
			if _, err := signer(t, byKey, o).Sign(t.Context(), file); !errors.As(err, &refused) || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("%v", err)
			}
			if after, _ := os.ReadFile(file); !bytes.Equal(before, after) {
				t.Error("a file was signed although that was refused")
			}
			o.Test = true
			signed, err := signer(t, byKey, o).Sign(t.Context(), file)
			if err != nil || !signed.Test() || !strings.Contains(strings.Join(signed.Reasons, ", "), c.reason) {
				t.Errorf("%+v, %v", signed, err)
			}
		})
	}
}

// test lets a variable be called testing.
type test = testing.T

func TestNamesThatAreNotForTests(t *testing.T) {
	tools(t, "osslsigncode")
	certificate, key := newAuthority(t, "Root of Everybody").leaf(t, func(c *x509.Certificate) {
		c.Subject = pkix.Name{CommonName: "Contest & Attestation Ltd", Organization: []string{"Test Drive Games"}}
	})
	o := sign.Options{Look: environment{"CERTIFICATE": certificate, "KEY": key}.look, Test: true}
	if signed, err := signer(t, byKey, o).Check(t.Context()); err != nil || signed.Test() {
		t.Errorf("%+v, %v", signed, err)
	}
}

// An expired certificate for tests still has to be one of the authority's.
func TestExpiredIsVerified(t *testing.T) {
	tools(t, "osslsigncode")
	ca := newAuthority(t, "Root of Everybody")
	certificate, key := ca.leaf(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	spec := byKey
	spec.Authority = ca.root
	o := sign.Options{Look: environment{"CERTIFICATE": certificate, "KEY": key}.look, Test: true}
	if _, err := signer(t, spec, o).Sign(t.Context(), programFile(t)); err != nil {
		t.Error(err)
	}
}

func TestVerify(t *testing.T) {
	tools(t, "osslsigncode")
	ca, other := newAuthority(t, "Root of Everybody"), newAuthority(t, "Root of Somebody Else")
	certificate, key := ca.leaf(t, nil)
	o := sign.Options{Look: environment{"CERTIFICATE": certificate, "KEY": key}.look}
	spec := byKey
	spec.Authority = other.root
	file := programFile(t)
	before, _ := os.ReadFile(file)
	if _, err := signer(t, spec, o).Sign(t.Context(), file); err == nil || !strings.Contains(err.Error(), "verify") {
		t.Errorf("another authority: %v", err)
	}
	if after, _ := os.ReadFile(file); !bytes.Equal(before, after) {
		t.Error("a signature that does not verify was kept")
	}
	spec.Authority = ca.root
	a := signer(t, spec, o)
	if _, err := a.Sign(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	patched, _ := os.ReadFile(file)
	patched[0x3f0]++
	if err := os.WriteFile(file, patched, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.Verify(t.Context(), file); err == nil {
		t.Error("patched after it was signed, and verified")
	}
	if err := signer(t, byKey, o).Verify(t.Context(), file); err == nil || !strings.Contains(err.Error(), "no authority") {
		t.Error(err)
	}
}

func TestNotToBeSigned(t *testing.T) {
	certificate, key := newAuthority(t, "Root of Everybody").leaf(t, nil)
	a := signer(t, byKey, sign.Options{Look: environment{"CERTIFICATE": certificate, "KEY": key}.look})
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Sign(t.Context(), text); err == nil || !strings.Contains(err.Error(), "neither a program nor") {
		t.Error(err)
	}
	if _, err := a.Sign(t.Context(), text+"s"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestMissing(t *testing.T) {
	empty := t.TempDir()
	t.Setenv("PATH", empty)
	certificate, key := newAuthority(t, "Root of Everybody").leaf(t, nil)
	a := signer(t, byKey, sign.Options{Look: environment{"CERTIFICATE": certificate, "KEY": key}.look})
	file := programFile(t)
	if _, err := a.Sign(t.Context(), file); err == nil || !strings.Contains(err.Error(), "apt-get install osslsigncode") {
		t.Error(err)
	}
	for spec, part := range map[string]sign.AuthenticodeSpec{
		"the variable KEY is not set":     byKey,
		"the variable STORE is not set":   {PKCS12Env: "STORE"},
		"go together":                     {CertificateEnv: "CERTIFICATE"},
		"the variable SECRET is not set":  {Command: []string{"sh"}, Env: []string{"SECRET"}},
		"the variable PASS is not set":    {PKCS12Env: "CERTIFICATE", PasswordEnv: "PASS"},
		"the password in LINES is no":     {PKCS12Env: "CERTIFICATE", PasswordEnv: "LINES"},
		"the command to sign with is emp": {Command: []string{""}},
	} {
		env := environment{"CERTIFICATE": certificate, "LINES": "a\nb"}
		if _, err := sign.NewAuthenticode(part, sign.Options{Look: env.look}); err == nil || !strings.Contains(err.Error(), spec) {
			t.Errorf("%v, want %q", err, spec)
		}
	}
	if a, err := sign.NewAuthenticode(sign.AuthenticodeSpec{}, sign.Options{}); a != nil || err != nil {
		t.Error(a, err)
	}
}

func TestPlan(t *testing.T) {
	env := environment{"STORE": "/keys/store.p12", "PASSWORD": "hush hush", "TOKEN": "much secret"}
	spec := sign.AuthenticodeSpec{PKCS12Env: "STORE", PasswordEnv: "PASSWORD", TimestampURL: "http://time.example.org"}
	o := sign.Options{Look: env.look, Name: "The Lathe"}
	want := "osslsigncode sign -pkcs12 $STORE -readpass <($PASSWORD) -h sha256 -n 'The Lathe' -ts http://time.example.org -in a.exe -out a.exe"
	if got := signer(t, spec, o).Plan("a.exe"); got != want {
		t.Error(got)
	}
	spec = sign.AuthenticodeSpec{Command: []string{"signer", "--name={file}", "much secret"}, Env: []string{"TOKEN"}}
	if got := signer(t, spec, o).Plan("a b.exe"); got != "signer '--name=a b.exe' '[secret]'" {
		t.Error(got)
	}
}

func TestCancelled(t *testing.T) {
	certificate, key := newAuthority(t, "Root of Everybody").leaf(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := programFile(t)
	temp := t.TempDir()
	a := signer(t, byKey, sign.Options{Look: environment{"CERTIFICATE": certificate, "KEY": key}.look, Temp: temp})
	if _, err := a.Sign(ctx, file); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	alone(t, file, temp)
}

// A password is in a file that only its owner can read, and neither in arguments nor in the environment of the tool.
func TestPasswordIsNotInArguments(t *testing.T) {
	tools(t, "sh", "stat", "cat")
	bin, seen := t.TempDir(), t.TempDir()
	fake := `#!/bin/sh
printf '%s\n' "$@" >"` + seen + `/arguments"
env >"` + seen + `/environment"
while [ "$1" != -readpass ]; do shift; done
stat -c %a "$2" >"` + seen + `/mode"
cat "$2" >"` + seen + `/password"
exit 1
`
	if err := os.WriteFile(filepath.Join(bin, "osslsigncode"), []byte(fake), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("PASSWORD", "hush hush")
	temp := t.TempDir()
	a := signer(t, sign.AuthenticodeSpec{PKCS12Env: "STORE", PasswordEnv: "PASSWORD"}, sign.Options{Temp: temp, Look: func(name string) (string, bool) {
		if name == "STORE" {
			return "store.p12", true
		}
		return os.LookupEnv(name)
	}})
	file := programFile(t)
	if _, err := a.Sign(t.Context(), file); err == nil {
		t.Error("the tool failed, and signing returned no error")
	}
	alone(t, file, temp)
	for name, want := range map[string]string{"mode": "600\n", "password": "hush hush"} {
		if got, _ := os.ReadFile(filepath.Join(seen, name)); string(got) != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, name := range []string{"arguments", "environment"} {
		if got, _ := os.ReadFile(filepath.Join(seen, name)); len(got) == 0 || bytes.Contains(got, []byte("hush")) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
