// Package publish makes releases: it is the library behind `collet release` and `collet keys`.
//
// A Folder is an open release folder. It holds the published files and the publisher's private ones:
//
//	release.toml          settings: product, channel, how many patches                     not for readers
//	.collet/              lock, hash cache, ledger of objects, former rules, unfinished files  not for readers
//	metadata/             signed lists; timestamp.json names all others
//	releases/             heads, named by their digest
//	objects/              whole files, patches, chunk packs, indexes, listings, notes; named by their digest
//	plain/                the newest set of the usual channel as plain files, for engine generations; changes as a whole
//
// # What a publication promises
//
// Readers see the previous release or the new one. Every object and head is written under a temporary name, synced and renamed; then their
// folders are synced. Only then the signed lists change, timestamp.json last. After a crash, a full disk or Ctrl-C unreferenced files
// remain. The next run reuses the complete ones, because names are digests and the ledger maps each blob to its object, each pair of sets to
// its patch, and each cut to its indexes. Collect (collet release gc) removes the rest.
//
// An unchanged file costs one stat: path, size, both times and inode stand for the digest that was computed once. Objects of blobs that an
// earlier release has are reused. Hashing and packing use all cores.
//
// A place, such as a bucket, is updated in the same order: objects, heads, signed lists, timestamp.json. It is as atomic as the folder.
//
// # Parts
//
// Package game reads the folder of the game. A Folder has a part for each subject, with its own state. For reading: releases (the signed list, heads, lists; only reads), unpacker
// (blobs of earlier releases). For writing, in the order of a publication: digester (digests and their cache), objectStore (files that never
// change; the only writer of objects and heads), packer, chunker, patchMaker, solidMaker and headWriter, which make these files, trust.Repo (the signed
// lists), then sequelFiles and plainFiles, which follow from the lists. The ledger is written when a packer's or patchMaker's object has its
// name. Each UpdatePlaces has a state of its own.
//
// A Folder is not safe for concurrent use. One process at a time works on a folder.
package publish
