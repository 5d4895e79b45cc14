package server

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/transporttest"
)

// vault is a certificate with its files, a log, and a clock that a test moves.
type vault struct {
	t         *testing.T
	dir       string
	authority *transporttest.Authority
	now       time.Time
	log       bytes.Buffer
	changes   int
	*certificate
}

func newVault(t *testing.T) *vault {
	v := &vault{t: t, dir: t.TempDir(), now: time.Now()}
	var err error
	if v.authority, err = transporttest.NewAuthority("test authority"); err != nil {
		t.Fatal(err)
	}
	v.issue(transporttest.Spec{})
	v.certificate, err = openCertificate(v.path("cert.pem"), v.path("key.pem"), zerolog.New(&v.log), func() time.Time { return v.now })
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *vault) path(name string) string { return filepath.Join(v.dir, name) }

func (v *vault) issue(spec transporttest.Spec) {
	v.t.Helper()
	cert, key, err := v.authority.Issue(spec)
	if err != nil {
		v.t.Fatal(err)
	}
	v.write("cert.pem", cert)
	v.write("key.pem", key)
}

// write puts a file in place with a time of its own, as a file system with coarse times would not.
func (v *vault) write(name string, data []byte) {
	v.t.Helper()
	v.changes++
	when := time.Unix(1_700_000_000+int64(v.changes), 0)
	if err := errors.Join(os.WriteFile(v.path(name), data, 0o600), os.Chtimes(v.path(name), when, when)); err != nil {
		v.t.Fatal(err)
	}
}

// shown is the serial number of what a client would see after d.
func (v *vault) shown(d time.Duration) string {
	v.t.Helper()
	v.now = v.now.Add(d)
	pair, err := v.get(nil)
	if err != nil {
		v.t.Fatal(err)
	}
	return pair.Leaf.SerialNumber.String()
}

func (v *vault) logged(text string) int { return strings.Count(v.log.String(), text) }

const (
	refused = "Refused a new certificate"
	took    = "Took a new certificate"
)

func TestCertificateIsRenewed(t *testing.T) {
	v := newVault(t)
	first := v.shown(0)
	v.issue(transporttest.Spec{})
	if v.shown(certificateCheck-time.Nanosecond) != first {
		t.Error("looked at the files too early")
	}
	second := v.shown(time.Nanosecond)
	if second == first || v.logged(took) != 1 {
		t.Errorf("not renewed:\n%s", &v.log)
	}
	v.issue(transporttest.Spec{})
	if v.shown(0) != second {
		t.Error("looked at the files twice in a row")
	}
	v.reload()
	if v.shown(0) == second {
		t.Error("reload did not look")
	}
	before := v.log.Len()
	v.reload()
	if v.log.Len() != before {
		t.Errorf("took the same again:\n%s", &v.log)
	}
}

// TestBadPairIsRefused tries everything that may stand in the place of a pair. The old one stays, with one warning, and a
// good pair is taken afterwards.
func TestBadPairIsRefused(t *testing.T) {
	tests := []struct {
		name string
		harm func(v *vault)
		says string
	}{
		{"garbage", func(v *vault) { v.write("cert.pem", []byte("garbage")) }, "PEM"},
		{"empty key", func(v *vault) { v.write("key.pem", nil) }, "PEM"},
		{"gone", func(v *vault) { os.Remove(v.path("key.pem")) }, "no such file"},
		{"too long", func(v *vault) { v.write("cert.pem", make([]byte, maxCertificateFile+1)) }, "longer"},
		{"a folder", func(v *vault) { os.Remove(v.path("key.pem")); os.Mkdir(v.path("key.pem"), 0o755) }, "is a directory"},
		{"expired", func(v *vault) { v.issue(transporttest.Spec{NotAfter: v.now.Add(-time.Second)}) }, "expired on"},
		{"of the future", func(v *vault) { v.issue(transporttest.Spec{NotBefore: v.now.Add(time.Hour)}) }, "is valid from"},
		{"half of a pair", func(v *vault) {
			cert, _, _ := v.authority.Issue(transporttest.Spec{})
			v.write("cert.pem", cert)
		}, "does not match"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := newVault(t)
			first := v.shown(0)
			test.harm(v)
			for range 2 {
				if v.shown(certificateCheck) != first {
					t.Error("a bad pair is shown")
				}
			}
			if v.logged(refused) != 1 || !strings.Contains(v.log.String(), test.says) {
				t.Errorf("want one warning with %q:\n%s", test.says, &v.log)
			}
			os.Remove(v.path("key.pem"))
			v.issue(transporttest.Spec{})
			if v.shown(certificateCheck) == first || v.logged(took) != 1 {
				t.Errorf("a good pair is not taken:\n%s", &v.log)
			}
		})
	}
}

// TestKeyFollowsItsCertificate is how most renewals write: one file, then the other.
func TestKeyFollowsItsCertificate(t *testing.T) {
	v := newVault(t)
	first := v.shown(0)
	cert, key, err := v.authority.Issue(transporttest.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	v.write("cert.pem", cert)
	if v.shown(certificateCheck) != first {
		t.Error("half a pair is shown")
	}
	v.write("key.pem", key)
	if v.shown(certificateCheck) == first {
		t.Error("the whole pair is not shown")
	}
}

// TestLinkIsFollowed renews as programs do that keep every certificate and move a symbolic link.
func TestLinkIsFollowed(t *testing.T) {
	v := newVault(t)
	for i := range 2 {
		folder := v.path(fmt.Sprint(i))
		if err := errors.Join(os.Mkdir(folder, 0o755), v.authority.Files(folder, transporttest.Spec{})); err != nil {
			t.Fatal(err)
		}
	}
	link := v.path("live")
	if err := os.Symlink("0", link); err != nil {
		t.Skip(err)
	}
	c, err := openCertificate(filepath.Join(link, "cert.pem"), filepath.Join(link, "key.pem"), zerolog.Nop(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	before := c.pair.Leaf.SerialNumber
	if err := errors.Join(os.Symlink("1", link+"-new"), os.Rename(link+"-new", link)); err != nil {
		t.Fatal(err)
	}
	c.reload()
	if after, _ := c.get(&tls.ClientHelloInfo{}); after.Leaf.SerialNumber.Cmp(before) == 0 {
		t.Error("the link was not followed")
	}
}
