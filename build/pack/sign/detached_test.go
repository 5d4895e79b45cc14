package sign_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"collet/build/pack/sign"
	"collet/platform/testlevel"
)

const password = "correct horse"

// openPGP writes a key for signing, and its public half. change makes it another one.
func openPGP(t *testing.T, name string, change func(e *openpgp.Entity, c *packet.Config)) (private, public string) {
	t.Helper()
	config := &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return time.Now().Add(-time.Hour) }}
	if change != nil {
		change(nil, config)
	}
	e, err := openpgp.NewEntity(name, "", "games@example.org", config)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(e, config)
	}
	private, public = filepath.Join(t.TempDir(), "private.asc"), filepath.Join(t.TempDir(), "public.asc")
	armored(t, private, openpgp.PrivateKeyType, func(b *bytes.Buffer) error { return e.SerializePrivateWithoutSigning(b, config) })
	armored(t, public, openpgp.PublicKeyType, func(b *bytes.Buffer) error { return e.Serialize(b) })
	return private, public
}

func armored(t *testing.T, file, kind string, write func(b *bytes.Buffer) error) {
	t.Helper()
	var content, b bytes.Buffer
	if err := write(&content); err != nil {
		t.Fatal(err)
	}
	w, err := armor.Encode(&b, kind, nil)
	if err == nil {
		_, err = w.Write(content.Bytes())
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = os.WriteFile(file, b.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func packageFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lathe_1.4.2_amd64.deb")
	if err := os.WriteFile(file, []byte("!<arch>\n and what else is in a package"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// gpg runs GnuPG with a folder of its own, whose agent ends with the test.
func gpg(t *testing.T) func(args ...string) (string, error) {
	t.Helper()
	tools(t, "gpg", "gpgconf")
	home, err := os.MkdirTemp("", "g") // sockets want short paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run() // there may be none
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	return func(args ...string) (string, error) {
		out, err := exec.Command("gpg", append([]string{"--homedir", home, "--batch", "--no-tty"}, args...)...).CombinedOutput()
		return string(out), err
	}
}

// What we sign GnuPG verifies, with a key of GnuPG's own and with a password, and not when the package was changed.
func TestDetachedWithKeyOfGnuPG(t *testing.T) {
	run := gpg(t)
	if said, err := run("--pinentry-mode", "loopback", "--passphrase", password, "--quick-generate-key", "Example Games <games@example.org>", "rsa2048", "sign", "1d"); err != nil {
		t.Fatal(said)
	}
	key := filepath.Join(t.TempDir(), "key.asc")
	if said, err := run("--pinentry-mode", "loopback", "--passphrase", password, "--armor", "--output", key, "--export-secret-keys"); err != nil {
		t.Fatal(said)
	}
	env := environment{"KEY": key, "PASSWORD": password}
	d, err := sign.NewDetached(sign.DetachedSpec{KeyEnv: "KEY", PasswordEnv: "PASSWORD"}, sign.Options{Look: env.look})
	if err != nil {
		t.Fatal(err)
	}
	file := packageFile(t)
	before, _ := os.ReadFile(file)
	signature, signed, err := d.Sign(t.Context(), file)
	if err != nil || signature != file+".asc" || signed.Test() || signed.Signer != "Example Games <games@example.org>" || signed.Unsigned != sha256.Sum256(before) {
		t.Fatalf("%s, %+v, %v", signature, signed, err)
	}
	if after, _ := os.ReadFile(file); !bytes.Equal(before, after) {
		t.Error("the package has changed")
	}
	if said, err := run("--verify", signature, file); err != nil {
		t.Error(said)
	}
	if err := os.WriteFile(file, append(before, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := run("--verify", signature, file); err == nil {
		t.Errorf("the package was changed, and gpg says %s", said)
	}
	env["PASSWORD"] = "another one"
	if _, err := sign.NewDetached(sign.DetachedSpec{KeyEnv: "KEY", PasswordEnv: "PASSWORD"}, sign.Options{Look: env.look}); err == nil || !strings.Contains(err.Error(), "the password is wrong") || strings.Contains(err.Error(), "another one") {
		t.Error(err)
	}
	if _, err := sign.NewDetached(sign.DetachedSpec{KeyEnv: "KEY"}, sign.Options{Look: env.look}); err == nil || !strings.Contains(err.Error(), "it has a password") {
		t.Error(err)
	}
}

func TestDetachedTwice(t *testing.T) {
	run := gpg(t)
	private, public := openPGP(t, "Example Games", nil)
	if said, err := run("--import", public); err != nil {
		t.Fatal(said)
	}
	d, err := sign.NewDetached(sign.DetachedSpec{KeyEnv: "KEY"}, sign.Options{Look: environment{"KEY": private}.look})
	if err != nil {
		t.Fatal(err)
	}
	file := packageFile(t)
	for range 2 { // the second takes the place of the first
		if _, _, err := d.Sign(t.Context(), file); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := run("--verify", file+".asc", file); err != nil {
		t.Error(said)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := d.Sign(ctx, file); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := os.Stat(file + ".asc"); err == nil {
		t.Error("an unverified signature is left")
	}
	if got := d.Plan("a.deb"); got != "OpenPGP: Example Games <games@example.org> signs a.deb into a.deb.asc" {
		t.Error(got)
	}
	if signed, err := d.Check(t.Context()); err != nil || signed.Signer == "" || signed.Test() {
		t.Errorf("%+v, %v", signed, err)
	}
}

// Equal files get equal signatures, of the time that is asked for where the key was there already; GnuPG agrees.
func TestSameDetached(t *testing.T) {
	run := gpg(t)
	private, public := openPGP(t, "Example Games", nil)
	if said, err := run("--import", public); err != nil {
		t.Fatal(said)
	}
	hour := time.Now().Truncate(time.Second).Add(-time.Hour) // that of the key
	for name, c := range map[string]struct {
		asked      time.Time
		same       bool
		from, till time.Time
	}{
		"later than the key":   {hour.Add(30 * time.Minute), true, hour.Add(30 * time.Minute), hour.Add(30 * time.Minute)},
		"earlier than the key": {hour.AddDate(-1, 0, 0), true, hour.Add(-2 * time.Minute), hour.Add(time.Minute)},
		"in the future":        {hour.AddDate(1, 0, 0), false, hour.Add(59 * time.Minute), hour.Add(70 * time.Minute)},
	} {
		clock := time.Now().Add(-time.Minute)
		o := sign.Options{Look: environment{"KEY": private}.look, Time: c.asked, Now: func() time.Time { clock = clock.Add(2 * time.Second); return clock }}
		d, err := sign.NewDetached(sign.DetachedSpec{KeyEnv: "KEY"}, o)
		if err != nil {
			t.Fatal(err)
		}
		var texts [2]string
		for i := range texts {
			file := packageFile(t)
			signature, _, err := d.Sign(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			if said, err := run("--verify", signature, file); err != nil {
				t.Error(said)
			}
			data, _ := os.ReadFile(signature)
			texts[i] = string(data)
			if at := madeAt(t, data); at.Before(c.from) || at.After(c.till) {
				t.Errorf("%s: it says %v, want %v to %v", name, at, c.from, c.till)
			}
		}
		if (texts[0] == texts[1]) != c.same {
			t.Errorf("%s: the same: %v, want %v", name, texts[0] == texts[1], c.same)
		}
	}
}

// madeAt is the time that a signature states.
func madeAt(t *testing.T, signature []byte) time.Time {
	t.Helper()
	block, err := armor.Decode(bytes.NewReader(signature))
	if err != nil {
		t.Fatal(err)
	}
	p, err := packet.Read(block.Body)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*packet.Signature).CreationTime
}

func TestDetachedForTests(t *testing.T) {
	private, _ := openPGP(t, "Example Games Test", nil)
	o := sign.Options{Look: environment{"KEY": private}.look}
	var refused *sign.TestKeyError
	if d, err := sign.NewDetached(sign.DetachedSpec{KeyEnv: "KEY"}, o); d != nil || !errors.As(err, &refused) || !strings.Contains(err.Error(), "for tests") {
		t.Errorf("%v", err)
	}
	o.Test = true
	d, err := sign.NewDetached(sign.DetachedSpec{KeyEnv: "KEY"}, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, signed, err := d.Sign(t.Context(), packageFile(t)); !signed.Test() || err != nil {
		t.Errorf("%+v, %v", signed, err)
	}
}

// An expired key signs nothing, not even for tests: every verifier rejects it.
func TestDetachedWithKeyThatIsOver(t *testing.T) {
	for name, change := range map[string]func(e *openpgp.Entity, c *packet.Config){
		"expired": func(_ *openpgp.Entity, c *packet.Config) { c.KeyLifetimeSecs = 60 },
		"not valid yet": func(_ *openpgp.Entity, c *packet.Config) {
			c.Time = func() time.Time { return time.Now().Add(time.Hour) }
		},
		"revoked": func(e *openpgp.Entity, c *packet.Config) {
			if e == nil {
				return
			}
			if err := e.RevokeKey(packet.KeyCompromised, "", c); err != nil {
				t.Fatal(err)
			}
		},
	} {
		private, _ := openPGP(t, "Example Games", change)
		_, err := sign.NewDetached(sign.DetachedSpec{KeyEnv: "KEY"}, sign.Options{Look: environment{"KEY": private}.look, Test: true})
		if err == nil || !strings.Contains(err.Error(), "may not sign today") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDetachedWithoutKey(t *testing.T) {
	_, public := openPGP(t, "Example Games", nil)
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		"":          "the variable KEY is not set",
		public:      "only the public half",
		text:        "no armored data",
		text + "..": "no such file",
	} {
		_, err := sign.NewDetached(sign.DetachedSpec{KeyEnv: "KEY"}, sign.Options{Look: environment{"KEY": value}.look})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", value, err)
		}
	}
	if d, err := sign.NewDetached(sign.DetachedSpec{}, sign.Options{}); d != nil || err != nil {
		t.Error(d, err)
	}
}

// byCommand signs with a shell script.
func byCommand(t *testing.T, script string, env environment) *sign.Detached {
	t.Helper()
	testlevel.Slow(t)
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: hooks of these tests are shell scripts")
	}
	spec := sign.DetachedSpec{Command: []string{"sh", "-c", script, "{file}", "{signature}"}}
	for name := range env {
		spec.Env = append(spec.Env, name)
	}
	d, err := sign.NewDetached(spec, sign.Options{Look: env.look})
	if err != nil {
		t.Fatal(err)
	}
	if signed, err := d.Check(t.Context()); err != nil || signed.Test() {
		t.Errorf("%+v, %v", signed, err)
	}
	return d
}

// The tools of OpenSSH and minisign serve as commands.
func TestDetachedByCommand(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	t.Run("ssh-keygen", func(t *testing.T) {
		tools(t, "ssh-keygen")
		must(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
		d := byCommand(t, `ssh-keygen -Y sign -f "$KEY" -n file <"$0" >"$1"`, environment{"KEY": key})
		file := packageFile(t)
		signature, _, err := d.Sign(t.Context(), file)
		if err != nil || signature != file+".sig" {
			t.Fatal(signature, err)
		}
		must(t, "sh", "-c", `ssh-keygen -Y check-novalidate -n file -s "$1" <"$0"`, file, signature)
	})
	t.Run("minisign", func(t *testing.T) {
		tools(t, "minisign")
		must(t, "minisign", "-G", "-W", "-p", key+".public", "-s", key+".secret")
		d := byCommand(t, `minisign -S -s "$KEY" -m "$0" -x "$1"`, environment{"KEY": key + ".secret"})
		file := packageFile(t)
		signature, _, err := d.Sign(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		must(t, "minisign", "-V", "-p", key+".public", "-m", file, "-x", signature)
	})
}

func TestDetachedByCommandGoneWrong(t *testing.T) {
	for script, want := range map[string]string{
		`echo "no $TOKEN"; exit 3`:        "no [secret]",
		`true`:                            "no signature",
		`: >"$1"`:                         "of 0 bytes",
		`mkdir "$1"`:                      "no signature but",
		`ln -s "$0" "$1"`:                 "no signature but",
		`head -c 2000000 /dev/zero >"$1"`: "of 2000000 bytes",
		`echo more >>"$0"; echo a signature >"$1"`: "has changed the package",
		`rm "$0"; echo a signature >"$1"`:          "no such file",
	} {
		file := packageFile(t)
		_, _, err := byCommand(t, script, environment{"TOKEN": "very secret"}).Sign(t.Context(), file)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
		if _, err := os.Lstat(file + ".sig"); err == nil {
			t.Errorf("%s: there is a signature", script)
		}
	}
	d := byCommand(t, `: "$TOKEN"`, environment{"TOKEN": "very secret"})
	if got := d.Plan("a b.deb"); got != `sh -c ': "$TOKEN"' 'a b.deb' 'a b.deb.sig'` {
		t.Error(got)
	}
}
