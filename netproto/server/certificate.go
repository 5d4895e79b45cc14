package server

import (
	"collet/platform"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

const (
	// certificateCheck is the least time between two checks of a certificate's files. A check costs two stat(2) calls in a
	// handshake, and a renewed certificate is in use within seconds.
	certificateCheck = 2 * time.Second
	// maxCertificateFile is the largest certificate or key file in bytes. A long chain has 20 KB; the cap bounds the read of a wrong path.
	maxCertificateFile = 1 << 20
)

// CertificateError says why a certificate and its key can't be used. The operator can fix it.
type CertificateError struct {
	Certificate, Key string // file names
	Err              error
}

func (e *CertificateError) Error() string {
	return fmt.Sprintf("certificate %q with key %q: %v", e.Certificate, e.Key, e.Err)
}

// Unwrap gives the underlying error.
func (e *CertificateError) Unwrap() error { return e.Err }

// certificate is a listener's TLS certificate: a pair of PEM files, read again when they change. An invalid new pair is refused
// with a warning, and the old one stays. Its methods are safe for concurrent use.
type certificate struct {
	certFile, keyFile string
	log               zerolog.Logger
	now               func() time.Time

	mu      sync.Mutex
	pair    *tls.Certificate
	seen    [2]os.FileInfo // the files at the last read; nil: missing
	checked time.Time
}

// openCertificate reads the pair for the first time. An expired one is accepted with a warning: it may be renewed while the
// server runs, and clients without TLS are served. The error is a *CertificateError.
func openCertificate(certFile, keyFile string, log zerolog.Logger, now func() time.Time) (*certificate, error) {
	c := &certificate{
		certFile: certFile, keyFile: keyFile, now: now, checked: now(),
		log: log.With().Str("certificate", certFile).Logger(),
	}
	c.seen = c.look()
	pair, err := c.read()
	if err != nil {
		return nil, err
	}
	c.pair = pair
	if err := c.expired(pair); err != nil {
		c.log.Warn().Err(err).Msg("Clients will refuse the certificate")
	}
	return c, nil
}

// config is the TLS configuration of a listener with this certificate.
func (c *certificate) config(protocols ...string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get, NextProtos: protocols}
}

// get implements tls.Config.GetCertificate.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.checked) >= certificateCheck {
		c.checked = now
		c.refresh()
	}
	return c.pair, nil
}

// reload checks the files now.
func (c *certificate) reload() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh()
}

// refresh loads a changed pair if it is valid. A refused pair is tried again after its next change: the key often follows its
// certificate a moment later.
func (c *certificate) refresh() {
	seen := c.look()
	if untouched(seen[0], c.seen[0]) && untouched(seen[1], c.seen[1]) {
		return
	}
	c.seen = seen
	pair, err := c.read()
	if err == nil {
		err = c.expired(pair)
	}
	if err != nil {
		c.log.Warn().Err(err).Msg("Refused a new certificate; the one before stays in use")
		return
	}
	c.pair = pair
	c.log.Info().Time("until", pair.Leaf.NotAfter).Msg("Took a new certificate")
}

// look returns the state of the files. It follows symbolic links: renewal often replaces one.
func (c *certificate) look() (found [2]os.FileInfo) {
	for i, name := range []string{c.certFile, c.keyFile} {
		if info, err := os.Stat(name); err == nil {
			found[i] = info
		}
	}
	return found
}

// untouched reports whether a file is unchanged: the same inode, modification time and size.
func untouched(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// read loads the pair and checks that certificate and key match.
func (c *certificate) read() (*tls.Certificate, error) {
	cert, err := readSmall(c.certFile)
	if err != nil {
		return nil, &CertificateError{c.certFile, c.keyFile, err}
	}
	key, err := readSmall(c.keyFile)
	if err != nil {
		return nil, &CertificateError{c.certFile, c.keyFile, err}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, &CertificateError{c.certFile, c.keyFile, err}
	}
	return &pair, nil
}

var errNotSmall = errors.New("is longer than a certificate or a key can be")

func readSmall(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, platform.Reason(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCertificateFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q: %w", name, platform.Reason(err))
	case len(data) > maxCertificateFile:
		return nil, fmt.Errorf("%q: %w", name, errNotSmall)
	}
	return data, nil
}

// expired says why clients would reject the pair today.
func (c *certificate) expired(pair *tls.Certificate) error {
	now, leaf := c.now(), pair.Leaf
	switch {
	case now.After(leaf.NotAfter):
		return &CertificateError{c.certFile, c.keyFile, fmt.Errorf("expired on %s", leaf.NotAfter.Format(time.DateTime))}
	case now.Before(leaf.NotBefore):
		return &CertificateError{c.certFile, c.keyFile, fmt.Errorf("is valid from %s on", leaf.NotBefore.Format(time.DateTime))}
	default:
		return nil
	}
}
