// Package transporttest is what tests of ways to connect need and no program has: an authority that issues certificates
// of any kind, bad ones too, and a proxy on loopback that speaks CONNECT and SOCKS5 on one port.
package transporttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority signs certificates. Only programs with its PEM trust it.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes an authority of this name with a new key.
func NewAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &Authority{cert, key}, err
}

// PEM is the authority's own certificate, for clients that trust it.
func (a *Authority) PEM() []byte { return block("CERTIFICATE", a.cert.Raw) }

// Spec says what a certificate is for. The zero value is for 127.0.0.1, ::1 and localhost, for a day around now.
type Spec struct {
	Hosts     []string // names and addresses
	NotBefore time.Time
	NotAfter  time.Time
}

// Issue makes a certificate with a new key, both as PEM.
func (a *Authority) Issue(spec Spec) (cert, key []byte, err error) {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, spec.template(), a.cert, own.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		return nil, nil, err
	}
	return block("CERTIFICATE", der), block("PRIVATE KEY", secret), nil
}

// template is the certificate before it is signed. Its serial number is a random one.
func (s Spec) template() *x509.Certificate {
	t := &x509.Certificate{
		SerialNumber: serial(), NotBefore: s.NotBefore, NotAfter: s.NotAfter,
		Subject: pkix.Name{CommonName: "server"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if t.NotBefore.IsZero() {
		t.NotBefore = time.Now().Add(-12 * time.Hour)
	}
	if t.NotAfter.IsZero() {
		t.NotAfter = time.Now().Add(12 * time.Hour)
	}
	hosts := s.Hosts
	if hosts == nil {
		hosts = []string{"127.0.0.1", "::1", "localhost"}
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, host)
		}
	}
	return t
}

func serial() *big.Int {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return new(big.Int).SetBytes(b[:])
}

// Files issues a certificate into cert.pem and key.pem of a folder and puts the authority into ca.pem.
func (a *Authority) Files(dir string, spec Spec) error {
	cert, key, err := a.Issue(spec)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"cert.pem": cert, "key.pem": key, "ca.pem": a.PEM()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
