// Package operator applies the compatibility settings that change while a server runs: the active logic versions, policies for
// differences, maintenance, redirects. It judges by package compat, and keeps settings, audit log, floors and tokens in a store.
//
//	store ─ settings, revisions, audit ──┐
//	compat.Declared ─ the build's data ──┼→ snapshot (one atomic pointer) → handshake, dry run, dashboard, metrics
//	operator ─ Change, Rollback ─────────┘
//
// # Changes
//
// A change is checked against the build's declaration, written to the store with its audit record in one transaction, and applies
// from the next handshake on. Sessions continue, unless the change asks to end those that would no longer be accepted. Open
// reconciles a store with a build by the boot rules of package compat, and refuses the start if they require it. Adopt refuses a
// declaration that contradicts the settings in force.
//
// # Handshakes
//
// A server judges a hello in three steps: Complete adds the account's data from the store, compat.Evaluate judges by the snapshot
// of SnapshotFor, and Sessions.Connect counts the result and lists the session. Floors.Pin raises the floor of an account that begins
// to play.
//
// # Store
//
// Store keeps every revision of the settings, the audit log, players' floors and tokens. OpenStore uses a file of bbolt: a commit
// writes new pages, syncs, and then writes and syncs the meta page, so a power cut leaves all of it or nothing. A SHA-256
// precedes every value. The whole file is read at each start. A damaged file is never replaced by an empty one; the error names
// the good copy beside it.
//
// # Parts
//
// An Operator has four parts with a state and a writer of their own: Tokens, Floors, Audit and Sessions. Its own methods are about
// the settings. Changes of settings, tokens and floors hold the lock of Audit, because each appends a record.
//
// # Tokens
//
// A token is a random secret of 256 bits with a role; the store has only its SHA-256. Tokens.Authenticate finds the actor of a secret.
package operator
