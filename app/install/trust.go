package install

import (
	"collet/app/update"
	"collet/netproto/release"
)

// Trust says which digests suffice for native code: modules, companions and the program itself. Packs are accepted by any
// digest.
type Trust string

const (
	// TrustNothing accepts no native code.
	TrustNothing Trust = ""
	// TrustSHA256 accepts native code with a SHA-256 digest.
	TrustSHA256 Trust = "sha256"
	// TrustFNV also accepts native code with only an FNV-1a checksum, except the program itself. Such a checksum is easily
	// forged.
	TrustFNV Trust = "fnv"
)

// UnprovenError reports that native code was rejected because its origin is unproven.
type UnprovenError struct {
	Checksum bool // the server may be trusted, but its list has only a checksum for the code
}

func (e *UnprovenError) Error() string {
	if e.Checksum {
		return `the server's list names this native code by a checksum only, and checksums are easily forged; ` +
			`to take it all the same start with --trust fnv, or set Update.Trust = "fnv"`
	}
	return `nothing proves who sent this native code: no trusted root signed it, and the server is reached without TLS; ` +
		`use tls:// or wss://, give a trusted root (Release.TrustedRoot), or take what this server lists with --trust sha256, or Update.Trust = "sha256"`
}

// fault is the reason to reject native code with this kind of digest; nil if it is accepted.
func (t Trust) fault(a release.Algorithm) error {
	switch {
	case t != TrustSHA256 && t != TrustFNV:
		return &UnprovenError{}
	case a != release.SHA256 && t != TrustFNV:
		return &UnprovenError{Checksum: true}
	}
	return nil
}

// checkNative rejects a plan with native code that the install does not trust. It is the only place of this decision, so it
// applies to every verdict and every reason for a plan: an update, a verification, a repair, the start after an unclean
// end.
func (p *planning) checkNative() error {
	trust := p.trust
	if trust == TrustFNV && p.names.Program {
		trust = TrustSHA256 // the program makes all other trust decisions
	}
	for _, c := range p.work.items {
		if c.entry.Kind == Pack {
			continue
		}
		if err := trust.fault(c.entry.Digest.Algorithm); err != nil {
			return &update.Fault{Cause: update.Untrusted, Subject: c.file.Path, Err: err}
		}
	}
	return nil
}
