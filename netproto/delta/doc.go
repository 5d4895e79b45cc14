// Package delta makes and applies patches between known contents.
//
// A patch (MakePatch, ApplyPatch) turns several old contents into several new ones. It is made once, by the publisher,
// with all the memory and time it wants; it is applied by every client as a stream, in less than 64 MB of memory, with
// positioned reads of the old contents. Matches are found by a suffix array and charged what they cost; references
// between addresses in native modules are predicted, so that code which only moved costs next to nothing.
//
// Nothing here is trusted: a patch from elsewhere is read within named caps, and a wrong one is a *PatchError.
// The layout stands in docs/RELEASE-FORMAT.md.
package delta
