package install

import (
	"errors"

	"collet/app/update"
	"collet/netproto/release"
)

// Trust says which digests of an offer are enough to take native code by: modules, companions and the program itself. Packs are
// taken by any digest.
type Trust string

const (
	// TrustNothing takes no native code at all.
	TrustNothing Trust = ""
	// TrustSHA256 takes what a SHA-256 digest names.
	TrustSHA256 Trust = "sha256"
	// TrustFNV also takes what only an FNV-1a checksum names, except the program itself. Such a checksum is easily forged.
	TrustFNV Trust = "fnv"
)

var (
	errOnlyChecksum = errors.New("the server's list names this native code by a checksum only, and checksums are easily forged; start with --trust fnv to take it all the same")
	errNoTrust      = errors.New("native code is not taken here")
)

// fault says why native code with a digest of this kind is not taken; nil where it is.
func (t Trust) fault(a release.Algorithm) error {
	switch {
	case t != TrustSHA256 && t != TrustFNV:
		return errNoTrust
	case a != release.SHA256 && t != TrustFNV:
		return errOnlyChecksum
	}
	return nil
}

// checkNative refuses a plan that would bring native code which the install has no reason to trust. It is the one place where that
// is decided, so that neither the verdict nor the reason for the plan matters: an update, a verification, a repair, the start
// after an unclean end.
func (p *planning) checkNative() error {
	trust := p.dir.cfg.Trust
	if trust == TrustFNV && p.dir.cfg.Names.Program {
		trust = TrustSHA256 // the program decides about everything else
	}
	for _, c := range p.work.items {
		if c.entry.Kind == pack {
			continue
		}
		if err := trust.fault(c.entry.Digest.Algorithm); err != nil {
			return &update.Fault{Cause: update.Untrusted, Subject: c.file.Path, Err: err}
		}
	}
	return nil
}
