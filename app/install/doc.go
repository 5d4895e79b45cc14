// Package install is the folder on disk: what is live, what is on its way there, and how a stop at any moment is survived.
//
// For an install folder D with the runtime name Lathe, on Linux:
//
//	Lathe.so            the live module                     Resources/Core.zip   a live pack
//	Lathe.so-staging    a complete module, not yet live     Resources/~Core.zip  a part: bytes on their way
//	Lathe.so.bak        the last module that has proven itself, while a newer one has not
//	Lathe.so.pdb …      companions: swapped after the module, best effort
//	.collet/journal.0, .collet/journal.1   the journal      .collet/lock         one instance at a time
//	Cache/hashes        which file had which digest, so that an up-to-date start hashes nothing
//
// A transaction goes through states that the journal records; each arrow is written and synced before the next disk
// operation relies on it:
//
//	NONE → STAGING → PREPARED → SWAPPED → CONFIRMED
//	           │          └────────┴→ ROLLED-BACK
//	           └→ STAGING (another transaction, which may begin in every state but PREPARED)
//
// STAGING lists what every part is meant to become, which is what binds a part to its digest. PREPARED says that all
// bytes are complete, verified and synced; from here a set goes forward, unless its bytes vanish or a module that is not
// yet live is taken back for another offer (ROLLED-BACK). SWAPPED says that every live name has its new content. A
// swapped module is pending until it is CONFIRMED, and its predecessor stays in .bak until then. When the live name is
// missing, .bak takes its place (ROLLED-BACK). docs/ON-DISK.md tells all this for people who look at a folder.
//
// Next(journal, seen, goal) is the pure heart: given the journal and what is on disk it says which steps lead on. The
// normal way and the recovery at the next start run the same steps, so that recovery is not a second program.
//
// Several hosts may share a folder, each with a module of its own name (seed 000, "Host CLI surface"). They share packs,
// journal and lock, and each confirms only its own module.
//
// Every name that comes from a server passes release.CheckSet first, and the disk is reached only through platform.FS,
// which nothing escapes from.
package install
