// Package release defines the documents of a release: how each is written, read and checked.
//
// A path is slash-separated and relative, and names the same file on every operating system that Collet supports. Every
// path of a peer must pass CheckPath before it reaches a disk. CheckPath rejects and never repairs, so the name on the
// disk is the name in the list. CheckSet checks a whole list. It rejects two paths that are one file on a
// case-insensitive system, and a path that needs a folder where another path is a file.
//
// A digest is either SHA-256 (our own generation) or FNV-1a-64 (engine generations: integrity only, no authenticity).
// Both are values of one comparable type, so callers need not distinguish them.
//
// A release is a Head. It is small, and the signed list has its digest. It names a Listing, which describes the set of
// files, and Sources, which say where to fetch their contents. All three are canonical JSON: each has exactly one valid
// form, and the digest of a listing identifies its set. An Entry is the line of a release in the signed list, and Choose
// selects one of them. Package trust decides which signed list is valid. docs/RELEASE-FORMAT.md has the layouts.
package release
