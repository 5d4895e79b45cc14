// Package install manages the install folder on disk: the live files, the files in transfer, and recovery after a stop at
// any moment.
//
// The promise: wherever the process or the machine stops, the next start gives exactly the old or exactly the new set,
// every file verified by hash. One more run converges to the new set. No file of the player is lost.
//
// For an install folder D with the runtime name Lathe, on Linux:
//
//	Lathe.so            the live module                     Resources/Core.zip   a live pack
//	Lathe.so-staging    a complete module, not yet live     Resources/~Core.zip  a part: incomplete, or complete and not yet live
//	Lathe.so.bak        the module of the last proven set, while a newer one is pending
//	Lathe.so.pdb …      companions: swapped with the module, best effort
//	.collet/journal.0, .collet/journal.1   the journal      .collet/lists.0, .collet/lists.1   file lists of its transactions
//	.collet/previous/…  packs of the last proven set        .collet/parts/…      parts that can't lie beside their files
//	.collet/lock        one instance at a time              .collet/readers      shared lock of all processes that use the set
//	.collet/open        the install is open, or was when its process stopped
//	Recycler/…          files dropped by a release, and files moved out of the way
//	Cache/hashes        digests of known files, so that an up-to-date start hashes nothing
//	Cache/blocks/…      block checksums of large files, so that only damaged blocks are fetched again
//
// A set is the module of a host, its companions, and all packs of one release. A transaction leads from one set to the
// next. The journal records its state. Each transition is written and synced before the next disk operation relies on it:
//
//	NONE → STAGING → PREPARED → SWAPPED (pending) → CONFIRMED
//	           │          │         └→ ROLLING-BACK → ROLLED-BACK
//	           │          └→ ROLLED-BACK (bytes lost, or withdrawn for another offer; ROLLING-BACK if the swap had begun)
//	           └→ STAGING (another transaction, which may begin in every state but PREPARED and ROLLING-BACK)
//
// STAGING lists the intended content of every part, which binds a part to its digest. PREPARED means that all bytes are
// complete, verified and synced; from here the set goes forward as one. SWAPPED means that every live name has its new
// content. A swapped set is pending until it is CONFIRMED, and the files it replaced are kept until then. A set that fails
// to start is rolled back to the last proven set: ROLLING-BACK is recorded before the first rename.
//
// Next, Withdraw, Undo and Clean are pure functions. From the journal's lists and the state of the disk they compute the
// remaining steps. Normal operation and recovery at the next start run the same steps, so there is no separate recovery
// code. docs/ON-DISK.md describes the folder for users.
//
// Several hosts may share a folder, each with a module of its own name. They share packs, journal and lock, and each
// confirms only its own set.
//
// A Dir consists of parts, each with its own state: see its comment. Package inspect reads installs for the doctor, through
// view.go.
//
// Every name from a server passes release.CheckSet first. All disk access goes through platform.FS, which confines it to
// its root.
package install
