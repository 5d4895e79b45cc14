package settings

import (
	"errors"
	"fmt"
)

// What native code is taken by, as --trust and Update.Trust say it.
const (
	TrustAuto    = "auto"    // TrustRelease with a trusted root, else TrustSHA256 if TLS authenticated the server, else nothing
	TrustRelease = "release" // what the game's keys signed
	TrustSHA256  = "sha256"  // SHA-256 digests in the list of the server, whichever that is
	TrustFNV     = "fnv"     // the same, and FNV-1a checksums, which are easily forged
)

// TrustFault checks a word; the empty one leaves it to another place to say.
func TrustFault(word string) error {
	switch word {
	case "", TrustAuto, TrustRelease, TrustSHA256, TrustFNV:
		return nil
	}
	return fmt.Errorf("%q is unknown; want auto, release, sha256 or fnv", word)
}

// NativeBy is what native code is taken by: TrustSHA256, TrustFNV, or empty if none is taken. signed says that a trusted root vouches
// for what is listed, secure that TLS authenticated the server that lists it.
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

// trustFault says why a client with these settings would take no native code, or what they say that excludes each other.
func (s Settings) trustFault() error {
	word, signed := s.Update.Trust, s.Release.Root != "" || s.Release.TrustedRoot != ""
	if word == TrustSHA256 || word == TrustFNV {
		if len(s.Release.Urls) > 0 {
			return fmt.Errorf("%q and Release.Urls exclude each other: signed releases are the only thing that a web server gives", word)
		}
		signed = false
	}
	_, secure, _, err := ParseServer(s.Server())
	if err == nil && word != TrustRelease && NativeBy(word, signed, secure || s.ClientNetwork.Tls) == "" {
		return errUnproven
	}
	return nil
}
