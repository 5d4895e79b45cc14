package assets

import _ "embed"

// trustedRoot is what trust/root.json holds.
//
//go:embed trust/root.json
var trustedRoot []byte

// TrustedRoot is the root of trust that this program was built with: a TUF root.json, to which everything that it installs
// leads back. Empty means that there is none, and that nothing signed is asked for. Callers must not write to it.
func TrustedRoot() []byte { return trustedRoot }
