package compat

import "embed"

// librarySources are the files that LibrarySources has.
//
//go:embed build.go manifest.go manifest_file.go manifest_hash.go registry.go visible.go visible_checksum.go
var librarySources embed.FS

// LibrarySources are those files of this package that a game's own module needs beside a generated table: what registers components,
// makes manifests of them, and hashes values by logic version. They import the standard library only, and nothing of the other files.
// compatgen writes them into that module, which so needs nothing of Collet's.
func LibrarySources() embed.FS { return librarySources }
