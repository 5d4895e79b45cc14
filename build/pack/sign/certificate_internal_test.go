package sign

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"strings"
	"testing"
	"time"
)

// signature builds PKCS #7 signed data with certificates and one signer, of no content.
func signature(t testing.TB, change func(d *signedData), certificates ...*x509.Certificate) []byte {
	t.Helper()
	var all []byte
	for _, c := range certificates {
		all = append(all, c.Raw...)
	}
	d := signedData{
		Version: 1, Digests: asn1.RawValue{Tag: asn1.TagSet, IsCompound: true}, Content: asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true},
		Certificates: asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: all}, Signers: make([]signerInfo, 1),
	}
	d.Signers[0].Version = 1
	d.Signers[0].Signer.Issuer, d.Signers[0].Signer.Serial = asn1.RawValue{FullBytes: certificates[0].RawIssuer}, certificates[0].SerialNumber
	if change != nil {
		change(&d)
	}
	inner, err := asn1.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	der, err := asn1.Marshal(struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue
	}{signedDataID, asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: inner}})
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// certificate is one that signed itself; serial tells it from others.
func certificate(t testing.TB, serial int64, bits int) *x509.Certificate {
	t.Helper()
	t.Setenv("GODEBUG", "rsa1024min=0")
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "Somebody"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err == nil {
		c, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSignerOf(t *testing.T) {
	one, two := certificate(t, 1, 2048), certificate(t, 2, 1024)
	if got, err := signerOf(signature(t, nil, two, one)); err != nil || !got.Equal(two) {
		t.Error(got, err)
	}
	if got, err := signerOf(append(signature(t, nil, one), 0, 0, 0)); err != nil || !got.Equal(one) {
		t.Errorf("with zeros behind it: %v, %v", got, err)
	}
	for name, c := range map[string]struct {
		change func(d *signedData)
		want   string
	}{
		"no signer":       {func(d *signedData) { d.Signers = nil }, "0 signers"},
		"two people":      {func(d *signedData) { d.Signers = append(d.Signers, d.Signers[0]) }, "2 signers"},
		"no certificates": {func(d *signedData) { d.Certificates.Bytes = nil }, "is not in the signature"},
		"other signer":    {func(d *signedData) { d.Signers[0].Signer.Serial = big.NewInt(3) }, "number 3, is not in the signature"},
		"another issuer":  {func(d *signedData) { d.Signers[0].Signer.Issuer.FullBytes = []byte{0x30, 0} }, "is not in the signature"},
		"text":            {func(d *signedData) { d.Certificates.Bytes = []byte("text") }, "the certificates in the signature"},
		"far too many":    {func(d *signedData) { d.Certificates.Bytes = []byte(strings.Repeat(string(one.Raw), maxCertificates+1)) }, "the limit is"},
	} {
		if got, err := signerOf(signature(t, c.change, one)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, der := range []string{"", "text", "\x30\x00", "\x30\x80", "\x30\x0b\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01"} {
		if got, err := signerOf([]byte(der)); err == nil {
			t.Errorf("%q: %v", der, got)
		}
	}
	if reasons := strings.Join(testReasons(two, time.Now()), ", "); !strings.Contains(reasons, "its key has 1024 bits") {
		t.Error(reasons)
	}
}

func FuzzSignerOf(f *testing.F) {
	f.Add(signature(f, nil, certificate(f, 1, 2048)))
	f.Fuzz(func(t *testing.T, der []byte) {
		if c, err := signerOf(der); (c == nil) == (err == nil) {
			t.Fatal(c, err)
		}
	})
}
