// Package delta leads from what a client has to a newer release: patches, and what changed in the lists.
//
// A patch (MakePatch, ApplyPatch) turns several old contents into several new ones. It is made once, by the publisher,
// with all the memory and time it wants; it is applied by every client as a stream, in less than 64 MB of memory, with
// positioned reads of the old contents. Matches are found by a suffix array and charged what they cost; references
// between addresses in native modules are predicted, so that code which only moved costs next to nothing.
//
// A set patch (MakeSetPatch, OpenSetPatch) turns one listing into another and its files into those of the other: the files that
// are new or changed, in groups, each with a patch or with whole objects where no patch pays. Changes (EncodeChanges,
// ReadChangesTable) bring a client with any older listing to the new listing and its sources, without contents.
//
// Nothing here is trusted: what comes from elsewhere is read within named caps, and a wrong one is a *PatchError, a
// *ContentError or a *release.FormatError. The layouts stand in docs/RELEASE-FORMAT.md.
package delta
