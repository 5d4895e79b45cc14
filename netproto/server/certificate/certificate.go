// Package certificate loads TLS certificates for listeners: pairs of PEM files that are read again when they change.
//
// A handshake checks the files at most once every two seconds, and Reload checks them at once. A changed pair replaces the one in
// use if it parses, its key matches and it is valid today. Otherwise one warning is logged, the old pair stays in use, and the
// files are read again after their next change. Only Open accepts an expired pair, with a warning.
package certificate

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"collet/platform"
)

const (
	// checkInterval is the least time between two checks of a certificate's files. A check costs two stat(2) calls in a
	// handshake, and a renewed certificate is in use within seconds.
	checkInterval = 2 * time.Second
	// maxFileSize is the largest certificate or key file in bytes. A long chain has 20 KB; the cap bounds the read of a wrong path.
	maxFileSize = 1 << 20
)

// Error says why a certificate and its key can't be used. The operator can fix it.
type Error struct {
	Certificate, Key string // file names
	Err              error
}

func (e *Error) Error() string {
	return fmt.Sprintf("certificate %q with key %q: %v", e.Certificate, e.Key, e.Err)
}

// Unwrap gives the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// Pair is a listener's TLS certificate: a pair of PEM files, read again when they change. An invalid new pair is refused
// with a warning, and the old one stays. Its methods are safe for concurrent use.
type Pair struct {
	certFile, keyFile string
	log               zerolog.Logger
	now               func() time.Time

	mu      sync.Mutex
	current *tls.Certificate
	seen    [2]os.FileInfo // the files at the last read; nil: missing
	checked time.Time
}

// Open reads the pair for the first time. An expired one is accepted with a warning: it may be renewed while the
// server runs, and clients without TLS are served. The error is a *Error.
func Open(certFile, keyFile string, log zerolog.Logger, now func() time.Time) (*Pair, error) {
	p := &Pair{
		certFile: certFile, keyFile: keyFile, now: now, checked: now(),
		log: log.With().Str("certificate", certFile).Logger(),
	}
	p.seen = p.statFiles()
	pair, err := p.readPair()
	if err != nil {
		return nil, err
	}
	p.current = pair
	if err := p.expired(pair); err != nil {
		p.log.Warn().Err(err).Msg("Clients will refuse the certificate")
	}
	return p, nil
}

// Of reports whether the pair was opened from these files.
func (p *Pair) Of(certFile, keyFile string) bool {
	return p.certFile == certFile && p.keyFile == keyFile
}

// Config is the TLS configuration of a listener with this certificate.
func (p *Pair) Config(protocols ...string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: p.getCertificate, NextProtos: protocols}
}

// getCertificate implements tls.Config.GetCertificate.
func (p *Pair) getCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); now.Sub(p.checked) >= checkInterval {
		p.checked = now
		p.refreshPair()
	}
	return p.current, nil
}

// Reload checks the files now.
func (p *Pair) Reload() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refreshPair()
}

// refreshPair loads a changed pair if it is valid. A refused pair is tried again after its next change: the key often follows its
// certificate a moment later.
func (p *Pair) refreshPair() {
	seen := p.statFiles()
	if unchanged(seen[0], p.seen[0]) && unchanged(seen[1], p.seen[1]) {
		return
	}
	p.seen = seen
	pair, err := p.readPair()
	if err == nil {
		err = p.expired(pair)
	}
	if err != nil {
		p.log.Warn().Err(err).Msg("Refused a new certificate; the one before stays in use")
		return
	}
	p.current = pair
	p.log.Info().Time("until", pair.Leaf.NotAfter).Msg("Took a new certificate")
}

// statFiles returns the state of the files. It follows symbolic links: renewal often replaces one.
func (p *Pair) statFiles() (found [2]os.FileInfo) {
	for i, name := range []string{p.certFile, p.keyFile} {
		if info, err := os.Stat(name); err == nil {
			found[i] = info
		}
	}
	return found
}

// unchanged reports whether a file is unchanged: the same inode, modification time and size.
func unchanged(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// readPair loads the pair and checks that certificate and key match.
func (p *Pair) readPair() (*tls.Certificate, error) {
	cert, err := readSmall(p.certFile)
	if err != nil {
		return nil, &Error{p.certFile, p.keyFile, err}
	}
	key, err := readSmall(p.keyFile)
	if err != nil {
		return nil, &Error{p.certFile, p.keyFile, err}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, &Error{p.certFile, p.keyFile, err}
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
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q: %w", name, platform.Reason(err))
	case len(data) > maxFileSize:
		return nil, fmt.Errorf("%q: %w", name, errNotSmall)
	}
	return data, nil
}

// expired says why clients would reject the pair today.
func (p *Pair) expired(pair *tls.Certificate) error {
	now, leaf := p.now(), pair.Leaf
	switch {
	case now.After(leaf.NotAfter):
		return &Error{p.certFile, p.keyFile, fmt.Errorf("expired on %s", leaf.NotAfter.Format(time.DateTime))}
	case now.Before(leaf.NotBefore):
		return &Error{p.certFile, p.keyFile, fmt.Errorf("is valid from %s on", leaf.NotBefore.Format(time.DateTime))}
	default:
		return nil
	}
}
