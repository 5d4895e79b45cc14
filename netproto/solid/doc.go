// Package solid packs all contents of a release together, for clients that have nothing, or next to nothing, of it.
//
// The solid form of a set is its distinct contents one behind the other (Contents), in groups of at most MaxGroup bytes. Encode packs
// a group as one compressed stream of frames: matches over the whole group, then brotli. A publisher joins frames to parts, which are
// objects of the release. A client fetches the parts of a group independently, and decodes them in order (Decoder).
//
// The index (EncodeIndex, ParseIndex) says which contents each group has and which parts. A later release keeps a group while most of its
// contents are still in the set (Plan), so that a change costs what the changed files cost.
//
// A deflated content may be in its group as its form (package deflate), from which its recipe makes it again. Deflated bytes hide repetitions, so
// packing the form costs about as many bytes as if the archive had stored its files without compression. A program for x86 may be in its group
// with translated calls (EncodeCalls), which takes about 4 percent fewer bytes.
//
// All input is untrusted: every number is capped before memory is allocated, and a malformed part or index is an *Error. A decoder holds the
// last bytes of its group, as many as its caller chooses, and some 20 MB; a scratch file has those before. docs/RELEASE-FORMAT.md has the layouts.
package solid
