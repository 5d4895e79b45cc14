// Package sign signs the files of a release, and rejects test keys.
//
// Three systems want three things:
//
//	Windows   Authenticode inside each program, library and installer: by osslsigncode with a certificate and its key or a
//	          PKCS #12 file, or by a command of one's own (a signing service, a hardware token). Sign replaces the file.
//	Linux     an OpenPGP signature in a file of its own beside a package, <package>.asc, or what a command writes to
//	          <package>.sig. The package itself keeps every byte.
//	macOS     a signature within the bundle, and Apple's word on its archive: by commands. Apple's own (codesign, notarytool,
//	          stapler) exist on a Mac only; Plan shows what would be run.
//
// A file is signed once: after everything else that changes it, before anything is packed that holds it. It is signed beside
// itself, looked at, and only then takes its own name, so that a file with a fault keeps what it had. Looked at means: nothing
// changed but what signing changes (package pe), the signature names a certificate that players can be shown, and, where an
// authority is given, osslsigncode verifies all of it.
//
// Refused, unless test signatures are asked for by name (Options.Test), is a certificate that
//
//   - is signed by itself, or is that of an authority,
//   - says in its common name or unit, or in those of its authority, that it is for tests: one of the words test, tests,
//     testing, development, dummy, snakeoil, untrusted,
//   - has expired or is not valid yet,
//   - is not for signing code (extended key usage), or has an RSA key of less than 2048 bits.
//
// An OpenPGP key is refused for these words in its user's name; one that has expired or is revoked signs nothing at all. With
// test signatures, Signed says why they are no others, and packagers add TestMark to the names of what they make.
//
// Secrets come from the environment only: a description names variables. A command sees the usual variables and those that are
// named for it, and no others; passwords are handed to osslsigncode in a file that only this user can read, never in arguments,
// which every user can list. Whatever a tool prints is shown without secrets, in the usual encodings too (Secrets). Tools have no
// terminal to ask at, and end with the context, together with what they have started.
//
// With an RSA key and without a timestamp server, equal files get equal signatures: Options.Time is the time that is signed,
// where osslsigncode can be told one. The same goes for OpenPGP with RSA and Ed25519. ECDSA keys and timestamps make each
// signature another.
package sign

import (
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"
)

// TestMark is added to the names of files with test signatures.
const TestMark = "TEST-SIGNED"

// Options are common to all signers. The zero value uses the environment and the clock of this process.
type Options struct {
	Look func(variable string) (value string, there bool) // the environment; nil: that of this process
	Now  func() time.Time                                 // nil: the system clock
	Test bool                                             // accept test certificates and keys
	Name string                                           // what is signed, as Windows shows it in questions: the game's nice name
	URL  string                                           // its web address; may be empty
	Time time.Time                                        // signing time that signatures state; zero: the clock
	Temp string                                           // folder for temporary files; empty: the system's
	Log  zerolog.Logger                                   // every tool, with its arguments and what it prints; the zero value discards
}

func (o Options) lookupVariable(variable string) (string, bool) {
	if o.Look == nil {
		return os.LookupEnv(variable)
	}
	return o.Look(variable)
}

func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

// Signed describes a signed file and its signer.
type Signed struct {
	File      string
	Unsigned  [32]byte // SHA-256 of the unsigned file
	Signer    string   // subject of the certificate, or the key's user
	Reasons   []string // why this is a test signature; empty for a proper one
	Unchecked string   // why the signature was not checked; empty if it was
}

// Test reports whether the signature is a test signature.
func (s Signed) Test() bool { return len(s.Reasons) > 0 }

// TestKeyError says why a certificate or key is not accepted for a release.
type TestKeyError struct {
	Signer  string
	Reasons []string
}

func (e *TestKeyError) Error() string {
	text := fmt.Sprintf("%q is not fit to sign a release", e.Signer)
	for i, reason := range e.Reasons {
		text += map[bool]string{true: ": ", false: ", "}[i == 0] + reason
	}
	return text + "; to try packages out with it, ask for test signatures (--test-signing)"
}

// admit rejects test certificates and keys, unless Options.Test is set.
func (o Options) admit(signer string, reasons []string) error {
	if len(reasons) == 0 || o.Test {
		return nil
	}
	return &TestKeyError{Signer: signer, Reasons: reasons}
}
