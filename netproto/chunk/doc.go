// Package chunk makes what travels small: patches between known contents, and content-defined chunks for everyone else.
//
// A patch (MakePatch, ApplyPatch) turns several old contents into several new ones. It is made once, by the publisher,
// with all the memory and time it wants; it is applied by every client as a stream, in less than 64 MB of memory, with
// positioned reads of the old contents. Matches are found by a suffix array and charged what they cost; references
// between addresses in native modules are predicted, so that code which only moved costs next to nothing.
//
// Chunks are the second way, for clients whose old contents no patch fits: contents are cut where their bytes say (Cut),
// so that an edit changes the chunks around it and no others. The publisher's Packer writes chunks that no earlier pack
// has into packs, few large objects in the order of the files, and an Index for each file that says which chunk lies
// where. A client's Plan takes the indexes of the files it wants and whatever lies on its disk, says which ranges of which
// packs are Missing, and Assemble builds the files from both as the ranges arrive.
//
// A whole object (PackObject, UnpackObject) is one file by itself, in whichever encoding is smallest; who has nothing
// fetches that. An Unpacker unpacks many of them with the same decoders.
//
// Nothing here is trusted: an object from elsewhere is read within named caps, and a wrong one gives a typed error.
// The layouts stand in docs/RELEASE-FORMAT.md.
package chunk
