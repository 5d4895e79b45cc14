// Package delta makes and applies binary patches between releases, and delta indexes of their lists.
//
// A patch (MakePatch, ApplyPatch) turns several old contents into several new ones. The publisher makes it once, with
// ample memory and time. Every client applies it as a stream, in less than 64 MB of memory, with positioned reads of the
// old contents. As in bsdiff, a suffix array finds approximate matches, and the patch stores the differences inside them
// and the extra bytes between them. The encoder minimises the estimated coding cost. References between addresses in
// native modules are predicted, so that code which only moved costs next to nothing.
//
// A set patch (MakeSetPatch, OpenSetPatch) turns one listing into another and its files into those of the other. It has
// the new and changed files in groups, each as a patch, or as whole objects where a patch does not pay. Changes
// (EncodeChanges, ReadChangesTable) update any older listing to the new listing and its sources, without contents.
//
// All input is untrusted: it is read within named caps, and a malformed one is a *PatchError, a *ContentError or a
// *release.FormatError. docs/RELEASE-FORMAT.md has the layouts.
package delta
