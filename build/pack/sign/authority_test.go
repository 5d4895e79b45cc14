package sign_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"collet/build/pack/sign"
)

// authority makes certificates for tests that look as if they were for releases.
type authority struct {
	dir         string
	certificate *x509.Certificate
	key         *rsa.PrivateKey
	root        string // path of its own certificate
	serial      int64
}

// rsaKey is one key for all: making one takes long, and nothing here depends on whose it is.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir(), key: rsaKey(), serial: 1}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.root = a.write(t, "root.pem", &pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

func (a *authority) write(t *testing.T, name string, block *pem.Block) string {
	t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// leaf gives the paths of a certificate for signing code and of its key. change makes it another one.
func (a *authority) leaf(t *testing.T, change func(c *x509.Certificate)) (certificate, key string) {
	t.Helper()
	a.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: pkix.Name{CommonName: "Example Games", Organization: []string{"Example Games"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		t.Fatal(err)
	}
	return a.write(t, "leaf.pem", &pem.Block{Type: "CERTIFICATE", Bytes: der}), a.write(t, "leaf.key", &pem.Block{Type: "PRIVATE KEY", Bytes: private})
}

// environment is what tests put in the place of this process' environment, which tools still need parts of.
type environment map[string]string

func (e environment) look(name string) (string, bool) {
	if value, there := e[name]; there {
		return value, true
	}
	if name == "PATH" || name == "HOME" || name == "TMPDIR" {
		return os.LookupEnv(name)
	}
	return "", false
}

var byKey = sign.AuthenticodeSpec{CertificateEnv: "CERTIFICATE", KeyEnv: "KEY"}

// signer makes an Authenticode that has to be made.
func signer(t *testing.T, s sign.AuthenticodeSpec, o sign.Options) *sign.Authenticode {
	t.Helper()
	a, err := sign.NewAuthenticode(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// timestamping makes a certificate that of a timestamp server: that is all it may be for.
func timestamping(c *x509.Certificate) {
	c.ExtKeyUsage = nil
	value, err := asn1.Marshal([]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 8}})
	if err != nil {
		panic(err)
	}
	c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: true, Value: value}}
}
