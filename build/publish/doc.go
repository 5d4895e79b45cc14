// Package publish makes releases: it is the library behind `collet release` and `collet keys`.
//
// A Folder is a release folder that somebody works on. It holds what the world reads and, apart from that, what only the
// publisher needs:
//
//	release.toml          settings: product, channel, how many patches                     not for readers
//	.collet/              lock, hash cache, ledger of objects, unfinished files            not for readers
//	metadata/             signed lists; timestamp.json names all others
//	releases/             heads, named by their digest
//	objects/              whole files, patches, chunk packs, indexes, listings, notes; named by their digest
//	plain/                the newest set of the usual channel as plain files, for engine generations; changes as a whole
//
// # What a publication promises
//
// Readers see the release before or the new one, whatever happens: every object and head is written under another name,
// synced and renamed, their folders are synced, and only then the signed lists change, timestamp.json last. A stop at any
// moment, a full disk or Ctrl-C leaves files that nothing refers to; the next run uses those that are complete, because
// names are digests and the ledger remembers which content became which object. Collect removes the rest.
//
// What is unchanged costs a stat: path, size, both times and inode stand for the digest that was computed once. Objects of
// contents that an earlier release has are taken over. Hashing and packing use all cores.
//
// A second place, an Output, is brought up to date in the same order: objects, heads, signed lists, timestamp.json. So a
// bucket is as atomic as the folder.
//
// All methods of a Folder are for one goroutine; one process at a time works on a folder.
package publish
