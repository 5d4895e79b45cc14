// Package pkcs11 signs with Ed25519 keys that never leave a hardware token, through the token's PKCS#11 module: a library with a C interface
// (OASIS PKCS#11 3.0; 2.40 with the same names for Edwards curves works, too). No C compiler is needed.
//
// A URI of RFC 7512 names the key: `pkcs11:token=lathe;object=release?module-path=/usr/lib/softhsm/libsofthsm2.so`. It has to select one token
// and one private key. ParseURI lists the attributes that count. The URI has no secret. The PIN comes from the file of its pin-source, or
// from whom the caller asks.
//
// A module is loaded once and stays loaded and initialised until the process ends: others in the process may use it, and some modules do not survive
// being unloaded. Each use opens a session of its own, and closes it; with its last session the token forgets the PIN.
//
// What a module says is foreign: counts and lengths have caps, names are made harmless before they are in an error, and the caller verifies
// signatures. The module itself is code that runs in this process, so its path has to be absolute.
package pkcs11
