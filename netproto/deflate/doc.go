// Package deflate expands deflated archives and rebuilds them bit for bit, so that patches see what is in them.
//
// A small change in a compressed file changes all that follows it, so a patch of two deflated archives has nearly all of the new one. This
// package makes patches of their forms:
//
//	form       of a file: the file with some of its deflate streams inflated                              form.go
//	stream     an entry of a zip archive, or the content of a gzip file; scan finds them by their headers scan.go
//	recipe     which streams a form inflates, and the parameters that compress each again                 recipe.go
//	encoder    compresses exactly as zlib 1.2.11, or as Info-ZIP and gzip do                              encode*.go
//
// Analyze searches the parameters that make each stream again, bit for bit; other streams stay as they are. Expand makes a form, Rebuild
// makes the file again. A form has the directory of its archive, so the recipe needs no places or sizes: an archive of 10,000 entries by one
// program has a recipe of five bytes.
//
// An expanded set patch (MakePatch, OpenPatch) is a set patch between sets with forms in place of files, with the recipes (patch*.go). It
// makes exactly the files of the new set. Streams that did not change stay compressed in these forms, so the work is that of what changed.
//
// All input is untrusted: it is read within named caps, sizes are claims until a stream was inflated, and memory does not depend on them.
// The encoder has no state between streams, so every system and every number of cores gives the same bytes. docs/RELEASE-FORMAT.md has
// the layouts.
//
// The encoder follows the algorithms of zlib, by Jean-loup Gailly and Mark Adler, because their decisions determine the bytes.
package deflate
