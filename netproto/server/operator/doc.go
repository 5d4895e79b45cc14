// Package operator has the compatibility settings that are decided while a server runs: which logic versions may connect, what a
// difference leads to, maintenance, redirects. It judges by package compat, and keeps everything in a store.
//
//	store ─ settings, revisions, audit ──┐
//	compat.Declared ─ what a build has ──┼→ snapshot (one atomic pointer) → handshake, dry run, dashboard, metrics
//	operator ─ Change, Rollback ─────────┘
//
// # Changes
//
// A change is checked against what the build declares, written to the store with its audit record in one transaction, and then is what
// the next handshake sees; sessions stay, unless the change asks to end those that would not be accepted again. Open reconciles a store
// with a build by the boot rules of package compat, and refuses to start where it must. Adopt refuses a declaration for which the
// settings in force make no sense.
//
// # Handshakes
//
// A server judges a hello in three steps: Complete adds what the store knows of the account, compat.Evaluate judges by the snapshot of
// SnapshotFor, and Connect counts the result and lists the session. Pin raises the floor of an account that begins to play.
//
// # Store
//
// Store is where settings with every revision, the audit log, players' floors and tokens live. OpenStore is the one in a file
// (bbolt): a commit writes new pages, syncs, and then writes and syncs the page that makes them count, so that a power cut leaves all
// of it or nothing. Every value has its SHA-256 before it. The file is read wholly at each start; a damaged one is never replaced
// by an empty one, and the error names the good copy that lies beside it.
//
// # Tokens
//
// A token is a random secret of 256 bits with a role; the store has only its SHA-256. Authenticate finds the actor of a secret.
package operator
