//go:build !crashpoints

package host

import "collet/platform"

// watched returns fsys. In builds with the tag crashpoints it wraps the install's folder.
func watched(fsys platform.FS) platform.FS { return fsys }
