package install

import (
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

// UnprovenError says that nothing proves where offered native code comes from, so that it was not taken.
type UnprovenError struct {
	Checksum bool // its server may be trusted, but the list names the code by a checksum only
}

func (e *UnprovenError) Error() string {
	if e.Checksum {
		return `the server's list names this native code by a checksum only, and checksums are easily forged; ` +
			`to take it all the same start with --trust fnv, or set Update.Trust = "fnv"`
	}
	return `nothing proves who sent this native code: no trusted root signed it, and the server is reached without TLS; ` +
		`use tls:// or wss://, give a trusted root (Release.TrustedRoot), or take what this server lists with --trust sha256, or Update.Trust = "sha256"`
}

// fault says why native code with a digest of this kind is not taken; nil where it is.
func (t Trust) fault(a release.Algorithm) error {
	switch {
	case t != TrustSHA256 && t != TrustFNV:
		return &UnprovenError{}
	case a != release.SHA256 && t != TrustFNV:
		return &UnprovenError{Checksum: true}
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
