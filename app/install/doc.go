// Package install is the folder on disk: what is live, what is on its way there, and how a stop at any moment is survived.
//
// The promise: wherever the process or the machine stops, the next start gives exactly the old or exactly the new set,
// every file verified by hash, and one more run converges to the new set; no file of the player is lost.
//
// For an install folder D with the runtime name Lathe, on Linux:
//
//	Lathe.so            the live module                     Resources/Core.zip   a live pack
//	Lathe.so-staging    a complete module, not yet live     Resources/~Core.zip  a part: bytes on their way, or complete
//	Lathe.so.bak        the module of the last set that has proven itself, while a newer one has not
//	Lathe.so.pdb …      companions: swapped with the module, best effort
//	.collet/journal.0, .collet/journal.1   the journal      .collet/lists.0, .collet/lists.1   its transactions' files
//	.collet/previous/…  packs of the last proven set        .collet/parts/…      parts that can't lie beside their files
//	.collet/lock        one instance at a time              .collet/readers      shared by whoever uses the set
//	.collet/open        the install is open, or was when its process stopped
//	Recycler/…          what a release dropped, and what stood in its way
//	Cache/hashes        which file had which digest, so that an up-to-date start hashes nothing
//	Cache/blocks/…      the sums of the blocks of large files, so that only what is damaged of them is fetched again
//
// A set is the module of a host, its companions, and all packs of one release. A transaction takes one set to the next; it
// goes through states that the journal records; each arrow is written and synced before the next disk operation relies on
// it:
//
//	NONE → STAGING → PREPARED → SWAPPED (pending) → CONFIRMED
//	           │          │         └→ ROLLING-BACK → ROLLED-BACK
//	           │          └→ ROLLED-BACK (bytes vanished, or taken back for another offer; ROLLING-BACK if the swap had begun)
//	           └→ STAGING (another transaction, which may begin in every state but PREPARED and ROLLING-BACK)
//
// STAGING lists what every part is meant to become, which is what binds a part to its digest. PREPARED says that all bytes
// are complete, verified and synced; from here the set goes forward as one. SWAPPED says that every live name has its new
// content. A swapped set is pending until it is CONFIRMED, and what it replaced is kept until then. A set that fails to
// start goes back to the last one that has proven itself: ROLLING-BACK is recorded before the first name changes.
//
// Next, Withdraw, Undo and Clean are the pure heart: given the lists of the journal and what is on disk they say which
// steps lead on. The normal way and the recovery at the next start run the same steps, so that recovery is not a second
// program. docs/ON-DISK.md tells all this for people who look at a folder.
//
// Several hosts may share a folder, each with a module of its own name (seed 000, "Host CLI surface"). They share packs,
// journal and lock, and each confirms only its own set.
//
// Every name that comes from a server passes release.CheckSet first, and the disk is reached only through platform.FS,
// which nothing escapes from.
package install
