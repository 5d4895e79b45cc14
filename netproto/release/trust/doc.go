// Package trust decides which list of releases counts. It is TUF 1.0 with consistent snapshots and Ed25519 keys, by go-tuf.
//
//	embedded root → N.root.json … → timestamp.json → N.snapshot.json → N.targets.json → release.Entry → release.Head
//
// Repo writes these documents: it creates and rotates roots, and signs lists with the keys of each role. Client follows
// them from the root that is built into a program. It accepts a document only if enough keys of the trusted root signed
// it and it is not older than what the Store holds. It saves what it verified before it uses it. A rejected document is
// an *Error, and the last verified list stays in force. Expiry makes an answer stale, never wrong.
//
// Unverified bytes have the type Unverified and can't be read. On disk their names end in release.UnverifiedSuffix.
// docs/SECURITY.md says what each key can do, and which attacks remain possible.
package trust
