// Package release says what a release is made of: files with a path, a size, a digest and a role.
//
// A path is slash-separated, relative, and means the same file on every operating system that Collet serves. CheckPath
// is the border: no path that comes from a peer reaches a disk without it. It refuses rather than repairs, so that the
// name on the disk is the name in the list. CheckSet looks at a whole list and refuses two paths that would be one file
// on a system that folds case, and a path that needs a folder where another one is a file.
//
// A digest is either SHA-256 (our own generation) or FNV-1a-64 (engine generations, design 3, section 2: integrity
// only, no authenticity). Both are values of one comparable type, so that nothing above this package asks which one it
// holds.
package release
