// Package release defines the documents of a release: how each is written, read and checked.
//
// A path is slash-separated, relative, and means the same file on every operating system that Collet serves. CheckPath
// is the border: no path that comes from a peer reaches a disk without it. It refuses rather than repairs, so that the
// name on the disk is the name in the list. CheckSet looks at a whole list and refuses two paths that would be one file
// on a system that folds case, and a path that needs a folder where another one is a file.
//
// A digest is either SHA-256 (our own generation) or FNV-1a-64 (engine generations: integrity only, no authenticity).
// Both are values of one comparable type, so that nothing above this package asks which one it holds.
//
// A release is a Head, small and signed for, that names a Listing, which is what the set is, and Sources, which say where
// its contents come from. All three are canonical JSON: each has one form only, anything else is refused, and the digest of
// a listing is the identity of its set. An Entry is the line of a release in the signed list, and Choose picks one of them.
// Package trust says which list counts. docs/RELEASE-FORMAT.md has the layouts.
package release
