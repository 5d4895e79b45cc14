package settings

import (
	"errors"
	"fmt"
)

// Levels of trust in native code, as in --trust and Update.Trust.
const (
	TrustAuto    = "auto"    // TrustRelease with a trusted root, else TrustSHA256 if TLS authenticated the server, else none
	TrustRelease = "release" // code signed by the game's keys
	TrustSHA256  = "sha256"  // SHA-256 digests in the list of any server
	TrustFNV     = "fnv"     // the same, and FNV-1a checksums, which are easily forged
)

// TrustFault checks a level; the empty one is valid and means unset.
func TrustFault(word string) error {
	switch word {
	case "", TrustAuto, TrustRelease, TrustSHA256, TrustFNV:
		return nil
	}
	return fmt.Errorf("%q is unknown; want auto, release, sha256 or fnv", word)
}

// NativeBy is the kind of digest that suffices for native code: TrustSHA256, TrustFNV, or empty if none does. signed means
// that the list is signed under a trusted root, secure that TLS authenticated the server of the list.
func NativeBy(word string, signed, secure bool) string {
	switch {
	case signed:
		return TrustSHA256
	case word == TrustSHA256 || word == TrustFNV:
		return word
	case secure && word != TrustRelease:
		return TrustSHA256
	}
	return ""
}

var errUnproven = errors.New(`modules would not be taken: nothing is signed, and the server is reached without TLS, so that any server that answers in its place could run code; ` +
	`use tls:// or wss://, give a trusted root, or set Update.Trust = "sha256" if that is meant`)

// trustFault reports that a client with these settings would reject all native code, or that settings exclude each other.
func (s Settings) trustFault() error {
	word, signed := s.Update.Trust, s.Release.Root != "" || s.Release.TrustedRoot != ""
	if word == TrustSHA256 || word == TrustFNV {
		if len(s.Release.Urls) > 0 {
			return fmt.Errorf("%q and Release.Urls exclude each other: a web server has only signed releases", word)
		}
		signed = false
	}
	_, secure, _, err := ParseServer(s.Server())
	if err == nil && word != TrustRelease && NativeBy(word, signed, secure || s.ClientNetwork.Tls) == "" {
		return errUnproven
	}
	return nil
}
