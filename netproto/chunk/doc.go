// Package chunk transfers files without a patch: as content-defined chunks, or as whole objects.
//
// Chunk boundaries depend on the content (Cut), so an edit changes only the chunks around it. The publisher's Packer
// writes new chunks into packs, which are few large objects in the order of the files, and an Index for each file with
// the place of each chunk. A client's Plan takes the indexes of the new files and local sources. Missing returns the
// pack ranges to fetch, and Assemble builds the files from both while the ranges arrive.
//
// A whole object (PackObject, UnpackObject) is one file in its smallest encoding, for a client without local sources. An
// Unpacker unpacks many of them with the same decoders.
//
// All input is untrusted: objects are read within named caps, and a malformed one gives a typed error.
// docs/RELEASE-FORMAT.md has the layouts.
package chunk
