package sign

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"time"
)

const (
	maxCertificates = 32   // in one signature; a chain has three or four, a timestamp's as many
	minRSA          = 2048 // bits of a key that signs code
)

// testWords mark what is for tests, as words of their own: Contest Games may sign.
var testWords = regexp.MustCompile(`(?i)(^|[^\pL\pN])(tests?|testing|development|dummy|snakeoil|untrusted)([^\pL\pN]|$)`)

// signedData is a PKCS #7 signature (RFC 2315, sections 7 and 9), as far as it says who has signed.
type signedData struct {
	Version      int
	Digests      asn1.RawValue
	Content      asn1.RawValue
	Certificates asn1.RawValue `asn1:"optional,tag:0"`
	Revoked      asn1.RawValue `asn1:"optional,tag:1"`
	Signers      []signerInfo  `asn1:"set"`
}

type signerInfo struct {
	Version int
	Signer  struct {
		Issuer asn1.RawValue
		Serial *big.Int
	}
}

var signedDataID = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}

// signerOf gives the certificate with which a PKCS #7 signature was made. Nothing is verified.
func signerOf(der []byte) (*x509.Certificate, error) {
	var outer struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue `asn1:"explicit,tag:0"`
	}
	if _, err := asn1.Unmarshal(der, &outer); err != nil {
		return nil, fmt.Errorf("the signature is no PKCS #7: %w", err)
	}
	if !outer.Type.Equal(signedDataID) {
		return nil, fmt.Errorf("the signature is PKCS #7 of another kind, %v", outer.Type)
	}
	var data signedData
	if _, err := asn1.Unmarshal(outer.Content.Bytes, &data); err != nil {
		return nil, fmt.Errorf("the signature is no PKCS #7 signed data: %w", err)
	}
	if len(data.Signers) != 1 {
		return nil, fmt.Errorf("the signature has %d signers, not one", len(data.Signers))
	}
	list, err := x509.ParseCertificates(data.Certificates.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the certificates in the signature: %w", err)
	}
	if len(list) > maxCertificates {
		return nil, fmt.Errorf("the signature has %d certificates, the limit is %d", len(list), maxCertificates)
	}
	signer := data.Signers[0].Signer
	for _, c := range list {
		if c.SerialNumber.Cmp(signer.Serial) == 0 && bytes.Equal(c.RawIssuer, signer.Issuer.FullBytes) {
			return c, nil
		}
	}
	return nil, fmt.Errorf("the certificate that signed, number %d, is not in the signature", signer.Serial)
}

// testReasons says why a certificate is not one for releases.
func testReasons(c *x509.Certificate, now time.Time) (reasons []string) {
	add := func(is bool, text string, args ...any) {
		if is {
			reasons = append(reasons, fmt.Sprintf(text, args...))
		}
	}
	add(bytes.Equal(c.RawSubject, c.RawIssuer), "it is signed by itself")
	add(c.IsCA, "it is the certificate of an authority")
	add(testName(c.Subject) != "", "it says that it is for tests, %q", testName(c.Subject))
	add(testName(c.Issuer) != "" && testName(c.Subject) != testName(c.Issuer), "its authority says that it is for tests, %q", testName(c.Issuer))
	add(now.After(c.NotAfter), "it expired on %s", day(c.NotAfter))
	add(now.Before(c.NotBefore), "it is not valid before %s", day(c.NotBefore))
	add(!slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageCodeSigning), "it is not for signing code")
	if key, is := c.PublicKey.(*rsa.PublicKey); is {
		add(key.N.BitLen() < minRSA, "its key has %d bits, and %d are the least", key.N.BitLen(), minRSA)
	}
	return reasons
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// testName is the common name or unit that has one of the words for tests.
func testName(n pkix.Name) string {
	for _, text := range append([]string{n.CommonName}, n.OrganizationalUnit...) {
		if testWords.MatchString(text) {
			return text
		}
	}
	return ""
}
