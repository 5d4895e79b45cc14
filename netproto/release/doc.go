// Package release says what a release is made of, who vouches for it, and how both are written down.
//
// A path is slash-separated, relative, and means the same file on every operating system that Collet serves. CheckPath
// is the border: no path that comes from a peer reaches a disk without it. It refuses rather than repairs, so that the
// name on the disk is the name in the list. CheckSet looks at a whole list and refuses two paths that would be one file
// on a system that folds case, and a path that needs a folder where another one is a file.
//
// A digest is either SHA-256 (our own generation) or FNV-1a-64 (engine generations, design 3, section 2: integrity
// only, no authenticity). Both are values of one comparable type, so that nothing above this package asks which one it
// holds.
//
// A release is a Head, small and signed for, that names a Listing, which is what the set is, and Sources, which say where
// its contents come from. All three are canonical JSON: each has one form only, anything else is refused, and the digest of
// a listing is the identity of its set. docs/RELEASE-FORMAT.md has the layouts.
//
// Trust is TUF, by go-tuf: Repo is the publisher's side, Trust the client's. Choose picks a release of the signed list.
// Bytes that nobody has vouched for are Unverified and can't be looked at; on disk their names end in UnverifiedSuffix.
// docs/SECURITY.md says what each key can do and what is left open.
package release
