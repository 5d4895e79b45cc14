// Package game reads the folder of a game that is to be published: which files belong to the set of which target, for what they are used,
// and with which permissions players get them. It only reads the folder.
//
//	Resources/**                    for every target
//	PlatformResources/<target>/**   for one target, in the same folder of a player
//	PlatformBinaries/<target>/**    the module, or the description of a program; the host beside it, which has its name; other files
//	notes/<language>.md, .txt       release notes
//
// A folder without PlatformBinaries is that of an install, if the caller names its target: the modules and the files named after them lie
// beside Resources.
//
// # What a folder must be
//
// Read ends with an error that names all files whose names can't be in a release, at most 20 of them, and Set with those that are one file on some
// systems. CheckDescriptions ends with an error if a description names a file that the set lacks. Links, hidden files and what has no place in
// this layout are left out: they are in Ignored. Names that begin with a dot are hidden, but not in PlatformResources and not below the
// shipped forms of files that players keep, where only the files that systems leave behind are.
//
// # Order of calls
//
// Read looks at names, sizes and times, and reads the first bytes of a program's files and the notes. The caller fills in the digests of
// all files (File.Sum), and only then calls Set. Descriptions that are made from a set are added with AddDescription. CheckDescriptions comes
// after that, for each target, because it gives a program the permission to run; Set has it from then on.
//
// A Folder is not safe for concurrent use.
package game
