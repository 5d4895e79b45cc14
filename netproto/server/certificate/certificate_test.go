package certificate

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

// fixture is a certificate with its files, a log, and a clock that a test moves.
type fixture struct {
	t         *testing.T
	dir       string
	authority *transporttest.Authority
	now       time.Time
	log       bytes.Buffer
	changes   int
	*Pair
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{t: t, dir: t.TempDir(), now: time.Now()}
	var err error
	if f.authority, err = transporttest.NewAuthority("test authority"); err != nil {
		t.Fatal(err)
	}
	f.issue(transporttest.Spec{})
	f.Pair, err = Open(f.path("cert.pem"), f.path("key.pem"), zerolog.New(&f.log), func() time.Time { return f.now })
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) path(name string) string { return filepath.Join(f.dir, name) }

func (f *fixture) issue(spec transporttest.Spec) {
	f.t.Helper()
	cert, key, err := f.authority.Issue(spec)
	if err != nil {
		f.t.Fatal(err)
	}
	f.write("cert.pem", cert)
	f.write("key.pem", key)
}

// write puts a file in place with a time of its own, as a file system with coarse times would not.
func (f *fixture) write(name string, data []byte) {
	f.t.Helper()
	f.changes++
	when := time.Unix(1_700_000_000+int64(f.changes), 0)
	if err := errors.Join(os.WriteFile(f.path(name), data, 0o600), os.Chtimes(f.path(name), when, when)); err != nil {
		f.t.Fatal(err)
	}
}

// shown is the serial number of what a client would see after d.
func (f *fixture) shown(d time.Duration) string {
	f.t.Helper()
	f.now = f.now.Add(d)
	pair, err := f.getCertificate(nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return pair.Leaf.SerialNumber.String()
}

func (f *fixture) logged(text string) int { return strings.Count(f.log.String(), text) }

const (
	refused = "Refused a new certificate"
	took    = "Took a new certificate"
)

func TestCertificateIsRenewed(t *testing.T) {
	f := newFixture(t)
	first := f.shown(0)
	f.issue(transporttest.Spec{})
	if f.shown(checkInterval-time.Nanosecond) != first {
		t.Error("looked at the files too early")
	}
	second := f.shown(time.Nanosecond)
	if second == first || f.logged(took) != 1 {
		t.Errorf("not renewed:\n%s", &f.log)
	}
	f.issue(transporttest.Spec{})
	if f.shown(0) != second {
		t.Error("looked at the files twice in a row")
	}
	f.Reload()
	if f.shown(0) == second {
		t.Error("reload did not look")
	}
	before := f.log.Len()
	f.Reload()
	if f.log.Len() != before {
		t.Errorf("took the same again:\n%s", &f.log)
	}
}

// TestBadPairIsRefused tries everything that may stand in the place of a pair. The old one stays, with one warning, and a
// good pair is taken afterwards.
func TestBadPairIsRefused(t *testing.T) {
	tests := []struct {
		name string
		harm func(f *fixture)
		says string
	}{
		{"garbage", func(f *fixture) { f.write("cert.pem", []byte("garbage")) }, "PEM"},
		{"empty key", func(f *fixture) { f.write("key.pem", nil) }, "PEM"},
		{"gone", func(f *fixture) { os.Remove(f.path("key.pem")) }, "no such file"},
		{"too long", func(f *fixture) { f.write("cert.pem", make([]byte, maxFileSize+1)) }, "longer"},
		{"a folder", func(f *fixture) { os.Remove(f.path("key.pem")); os.Mkdir(f.path("key.pem"), 0o755) }, "is a directory"},
		{"expired", func(f *fixture) { f.issue(transporttest.Spec{NotAfter: f.now.Add(-time.Second)}) }, "expired on"},
		{"of the future", func(f *fixture) { f.issue(transporttest.Spec{NotBefore: f.now.Add(time.Hour)}) }, "is valid from"},
		{"half of a pair", func(f *fixture) {
			cert, _, _ := f.authority.Issue(transporttest.Spec{})
			f.write("cert.pem", cert)
		}, "does not match"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			first := f.shown(0)
			test.harm(f)
			for range 2 {
				if f.shown(checkInterval) != first {
					t.Error("a bad pair is shown")
				}
			}
			if f.logged(refused) != 1 || !strings.Contains(f.log.String(), test.says) {
				t.Errorf("want one warning with %q:\n%s", test.says, &f.log)
			}
			os.Remove(f.path("key.pem"))
			f.issue(transporttest.Spec{})
			if f.shown(checkInterval) == first || f.logged(took) != 1 {
				t.Errorf("a good pair is not taken:\n%s", &f.log)
			}
		})
	}
}

// TestKeyFollowsItsCertificate is how most renewals write: one file, then the other.
func TestKeyFollowsItsCertificate(t *testing.T) {
	f := newFixture(t)
	first := f.shown(0)
	cert, key, err := f.authority.Issue(transporttest.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	f.write("cert.pem", cert)
	if f.shown(checkInterval) != first {
		t.Error("half a pair is shown")
	}
	f.write("key.pem", key)
	if f.shown(checkInterval) == first {
		t.Error("the whole pair is not shown")
	}
}

// TestLinkIsFollowed renews as programs do that keep every certificate and move a symbolic link.
func TestLinkIsFollowed(t *testing.T) {
	f := newFixture(t)
	for i := range 2 {
		folder := f.path(fmt.Sprint(i))
		if err := errors.Join(os.Mkdir(folder, 0o755), f.authority.Files(folder, transporttest.Spec{})); err != nil {
			t.Fatal(err)
		}
	}
	link := f.path("live")
	if err := os.Symlink("0", link); err != nil {
		t.Skip(err)
	}
	c, err := Open(filepath.Join(link, "cert.pem"), filepath.Join(link, "key.pem"), zerolog.Nop(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	before := c.current.Leaf.SerialNumber
	if err := errors.Join(os.Symlink("1", link+"-new"), os.Rename(link+"-new", link)); err != nil {
		t.Fatal(err)
	}
	c.Reload()
	if after, _ := c.getCertificate(&tls.ClientHelloInfo{}); after.Leaf.SerialNumber.Cmp(before) == 0 {
		t.Error("the link was not followed")
	}
}
