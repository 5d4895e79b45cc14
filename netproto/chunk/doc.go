// Package chunk makes what travels when no patch fits: content-defined chunks, and whole files.
//
// Contents are cut where their bytes say (Cut), so that an edit changes the chunks around it and no others. The publisher's
// Packer writes chunks that no earlier pack has into packs, few large objects in the order of the files, and an Index for each
// file that says which chunk lies where. A client's Plan takes the indexes of the files it wants and whatever lies on its disk,
// says which ranges of which packs are Missing, and Assemble builds the files from both as the ranges arrive.
//
// A whole object (PackObject, UnpackObject) is one file by itself, in whichever encoding is smallest; a client that has nothing
// fetches that. An Unpacker unpacks many of them with the same decoders.
//
// Nothing here is trusted: an object from elsewhere is read within named caps, and a wrong one gives a typed error.
// The layouts stand in docs/RELEASE-FORMAT.md.
package chunk
