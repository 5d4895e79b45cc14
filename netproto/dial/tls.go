package dial

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"collet/platform/text"
)

// maxAuthorityFile is the size of the largest CA file in bytes. All authorities of a system are about 250 KB.
const maxAuthorityFile = 4 << 20

// ClientTLS returns a client's TLS configuration: version 1.2 or newer, with a verified server certificate. caFile names
// a PEM file of CAs that replace the system's; empty: the system's. name is the name that the certificate must have;
// empty: the dialled host.
func ClientTLS(caFile, name string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: name}
	if caFile == "" {
		return config, nil
	}
	f, err := os.Open(caFile)
	if err != nil {
		return nil, fmt.Errorf("authorities of TLS: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxAuthorityFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("authorities of TLS: %w", err)
	case len(data) > maxAuthorityFile:
		return nil, fmt.Errorf("authorities of TLS: %q is longer than %d bytes", caFile, maxAuthorityFile)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("authorities of TLS: %q holds no certificate in PEM", caFile)
	}
	return config, nil
}

// CertificateFault is why a server's certificate was rejected.
type CertificateFault uint8

const (
	// CertificateOther is any other fault.
	CertificateOther CertificateFault = 1
	// CertificateDates means that the certificate is expired or not valid yet, or that this computer's clock is wrong.
	CertificateDates CertificateFault = 2
	// CertificateHost means that the certificate is for other names.
	CertificateHost CertificateFault = 3
	// CertificateAuthority means that no trusted CA signed the certificate.
	CertificateAuthority CertificateFault = 4
)

// TLSError is a failed TLS handshake, with advice for the user.
type TLSError struct {
	Name  string           // of the server
	Fault CertificateFault // 0: the handshake failed before the certificate was verified
	Text  string
	Err   error
}

// Untrusted reports whether the server's certificate was rejected.
func (e *TLSError) Untrusted() bool { return e.Fault != 0 }

func (e *TLSError) Error() string { return fmt.Sprintf("TLS with %s: %s", e.Name, e.Text) }

// Unwrap gives the underlying error.
func (e *TLSError) Unwrap() error { return e.Err }

// secure performs the handshake. On failure conn is closed or unusable.
func secure(ctx context.Context, conn net.Conn, config *tls.Config, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if config = config.Clone(); config.ServerName == "" {
		config.ServerName = host
	}
	over := tls.Client(conn, config)
	if err := over.HandshakeContext(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, explainTLS(config, err)
	}
	return over, nil
}

// explainTLS converts a failed handshake to a TLSError.
func explainTLS(config *tls.Config, err error) *TLSError {
	e := &TLSError{Name: config.ServerName, Fault: CertificateOther, Err: err}
	var invalid x509.CertificateInvalidError
	var wrongHost x509.HostnameError
	var unknown x509.UnknownAuthorityError
	var noRoots x509.SystemRootsError
	var verification *tls.CertificateVerificationError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		e.Fault = CertificateDates
		e.Text = datesText(invalid.Cert, time.Now())
	case errors.As(err, &wrongHost):
		e.Fault = CertificateHost
		e.Text = fmt.Sprintf("its certificate is for %s; check the server's address, or name one of these with --tls-name if you know that it is the right server", namesOf(wrongHost.Certificate))
	case errors.As(err, &unknown):
		e.Fault = CertificateAuthority
		e.Text = unknownText(config.RootCAs != nil, unknown.Cert)
	case errors.As(err, &noRoots):
		e.Text = "this system has no list of authorities that it trusts; install its package of CA certificates, or give a file with --tls-ca"
	case errors.As(err, &verification):
		e.Text = fmt.Sprintf("its certificate can't be trusted: %v; tell the people who run the server", verification.Err)
	default:
		e.Fault, e.Text = 0, talkText(err)
	}
	return e
}

// datesText is the text for an expired certificate, or one not valid yet.
func datesText(cert *x509.Certificate, now time.Time) string {
	today := now.UTC().Format(time.DateOnly) // UTC, like the certificate's dates
	if now.Before(cert.NotBefore) {
		return fmt.Sprintf("its certificate is valid from %s on, and this computer's clock says %s; check the clock", cert.NotBefore.Format(time.DateOnly), today)
	}
	return fmt.Sprintf("its certificate expired on %s, and this computer's clock says %s; check the clock, and if it is right tell the people who run the server", cert.NotAfter.Format(time.DateOnly), today)
}

// unknownText is the text for a certificate of an unknown CA.
func unknownText(own bool, cert *x509.Certificate) string {
	if own {
		return "its certificate is not from an authority in the file of --tls-ca or ClientNetwork.TlsCa; check that the file is the server's"
	}
	issuer := ""
	if cert != nil {
		issuer = fmt.Sprintf(" (%s)", clipped(cert.Issuer.String()))
	}
	return "its certificate is from an authority that this system doesn't know" + issuer +
		"; if the server has an authority of its own, give its file with --tls-ca; if a proxy or a virus scanner opens connections here, its authority must be trusted by the system"
}

// talkText is the text for a handshake that failed before the certificate was verified.
func talkText(err error) string {
	var record tls.RecordHeaderError
	var said *net.OpError
	switch {
	case errors.As(err, &record):
		return "the server doesn't speak TLS on this port; check the port, or leave TLS off"
	case errors.As(err, &said) && said.Op == "remote error": // crypto/tls's mark of an alert from the peer
		return fmt.Sprintf("the server refused: %v", said.Err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "the server closed the connection during the handshake; perhaps it doesn't speak TLS on this port"
	default:
		return err.Error()
	}
}

// namesOf lists the names in a certificate.
func namesOf(cert *x509.Certificate) string {
	names := append([]string(nil), cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no host at all"
	}
	return clipped(strings.Join(names, ", "))
}

// clipped shortens a peer's text for display. The names in a certificate are printable, or quoted.
func clipped(s string) string {
	return text.Clip(text.Line(s), maxClipped)
}

// maxClipped is how many bytes of a peer's text an error repeats.
const maxClipped = 200
