package sign_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/pack/sign"
)

const wxs = `<?xml version="1.0"?><Wix xmlns="http://schemas.microsoft.com/wix/2006/wi">
<Product Id="7F9C0F5E-0A01-4C07-9D0C-0123456789AB" Name="Lathe" Version="1.0.0" Manufacturer="M" Language="1033" UpgradeCode="7F9C0F5E-0A01-4C07-9D0C-0123456789AC">
<Package InstallerVersion="200" Compressed="yes"/><Media Id="1" Cabinet="a.cab" EmbedCab="yes"/>
<Directory Id="TARGETDIR" Name="SourceDir"><Component Id="C" Guid="7F9C0F5E-0A01-4C07-9D0C-0123456789AD"><File Id="F" Name="a.wxs" Source="%s"/></Component></Directory>
<Feature Id="A"><ComponentRef Id="C"/></Feature></Product></Wix>`

// installer makes an MSI file.
func installer(t *testing.T) string {
	t.Helper()
	tools(t, "osslsigncode", "wixl")
	source, file := filepath.Join(t.TempDir(), "a.wxs"), filepath.Join(t.TempDir(), "Lathe.msi")
	if err := os.WriteFile(source, fmt.Appendf(nil, wxs, filepath.Base(source)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("wixl", "-o", file, filepath.Base(source)) // wixl finds sources only from where it is
	cmd.Dir = filepath.Dir(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("wixl: %v\n%s", err, out)
	}
	return file
}

func TestSignMSI(t *testing.T) {
	ca := newAuthority(t, "Root of Everybody")
	certificate, key := ca.leaf(t, nil)
	file, temp := installer(t), t.TempDir()
	spec := byKey
	spec.Authority = ca.root
	a := signer(t, spec, sign.Options{Look: environment{"CERTIFICATE": certificate, "KEY": key}.look, Temp: temp})
	signed, err := a.Sign(t.Context(), file)
	if err != nil || signed.Signer == "" || signed.Test() {
		t.Fatalf("%+v, %v", signed, err)
	}
	alone(t, file, temp)
	if err := a.Verify(t.Context(), file); err != nil {
		t.Error(err)
	}
	data, _ := os.ReadFile(file)
	at := bytes.LastIndex(data, []byte("Lathe"))
	data[at]++
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.Verify(t.Context(), file); err == nil {
		t.Error("changed after it was signed, and verified")
	}
	if _, err := a.Sign(t.Context(), file); err == nil || !strings.Contains(err.Error(), "signed already") {
		t.Errorf("signed twice: %v", err)
	}
}

func TestHookForMSI(t *testing.T) {
	file := installer(t)
	certificate, key := newAuthority(t, "Root of Everybody").leaf(t, nil)
	env := environment{"CERTIFICATE": certificate, "KEY": key}
	for script, want := range map[string]string{
		"true":            "no signature that can be read",
		`echo text >"$1"`: "neither a program nor an MSI file",
		`printf MZ >"$1"`: "no MSI file any more",
		`rm "$1"`:         "no such file",
	} {
		a, _, _ := hook(t, script, env, nil)
		if _, err := a.Sign(t.Context(), file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
	}
	a, _, _ := hook(t, signing, env, nil)
	if signed, err := a.Sign(t.Context(), file); err != nil || signed.Unchecked != "" || signed.Signer == "" {
		t.Errorf("%+v, %v", signed, err)
	}
}

// Where nothing can read an MSI's signature, a command is believed, and the summary says so.
func TestHookForMSIUnchecked(t *testing.T) {
	file := installer(t)
	bin := t.TempDir()
	for _, name := range []string{"sh", "cat"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(bin, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	a, _, _ := hook(t, `echo more >>"$1"`, nil, nil)
	signed, err := a.Sign(t.Context(), file)
	if err != nil || !strings.Contains(signed.Unchecked, "osslsigncode is missing") {
		t.Errorf("%+v, %v", signed, err)
	}
}

const tsaConfig = `[tsa]
default_tsa = t
[t]
serial = %[1]s/serial
signer_cert = %[2]s
certs = %[2]s
signer_key = %[3]s
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
ess_cert_id_alg = sha256
`

// timestamps is a timestamp server of an authority (RFC 3161).
func timestamps(t *testing.T, ca *authority) *httptest.Server {
	t.Helper()
	tools(t, "openssl", "osslsigncode")
	certificate, key := ca.leaf(t, timestamping)
	dir := t.TempDir()
	config := filepath.Join(dir, "config")
	if err := os.WriteFile(config, fmt.Appendf(nil, tsaConfig, dir, certificate, key), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cmd := exec.Command("openssl", "ts", "-reply", "-config", config, "-queryfile", "/dev/stdin")
		cmd.Stdin = r.Body
		answer, err := cmd.Output()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/timestamp-reply")
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestTimestamp(t *testing.T) {
	ca, clocks := newAuthority(t, "Root of Everybody"), newAuthority(t, "Root of Clocks")
	certificate, key := ca.leaf(t, nil)
	spec := byKey
	spec.Authority, spec.TimestampAuthority, spec.TimestampURL = ca.root, clocks.root, timestamps(t, clocks).URL
	o := sign.Options{Look: environment{"CERTIFICATE": certificate, "KEY": key}.look}
	file := programFile(t)
	if _, err := signer(t, spec, o).Sign(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	said := must(t, "osslsigncode", "verify", "-CAfile", ca.root, "-TSA-CAfile", clocks.root, "-in", file)
	if !strings.Contains(said, "Root of Clocks") {
		t.Error(said)
	}

	spec.TimestampAuthority = ca.root
	if _, err := signer(t, spec, o).Sign(t.Context(), programFile(t)); err == nil || !strings.Contains(err.Error(), "timestamp") {
		t.Error("another signature's timestamp was verified")
	}
	spec.TimestampURL = "http://127.0.0.1:1/"
	file = programFile(t)
	if _, err := signer(t, spec, o).Sign(t.Context(), file); err == nil {
		t.Error("there was no timestamp, and no error")
	}
	if is, _ := sign.IsSigned(file); is {
		t.Error("a program was signed without the timestamp that it should have")
	}
}
