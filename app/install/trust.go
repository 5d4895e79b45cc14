package install

import (
	"collet/netproto/release"
)

// Trust says which digests suffice for native code: modules, companions and the program itself. Packs are accepted by any
// digest, except those of a game that is a program: each of its files can be code.
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
