//go:build !windows

package wire

// portableOnly: a name that only Windows rejects is an ordinary name here.
const portableOnly = false
