// Package product names the files in which a game is delivered.
//
//	Windows-win64                          a Target: operating system and processor
//	Lathe_Headless_Profiling_OpenGL_Steam  the base name of a Variant: the game, then the variant's words
//	Lathe_OpenGL.dll · .exe · .pdb         its module, host and symbols: one base name, extensions of the target
//
// The packer writes these names, the server groups the files of a folder by them, and the client selects its own files by them.
// All of them call this package, so that each name has one spelling. Installed clients rely on it: a name that changes ends
// their updates.
//
// Every function is pure and total. Names from a peer or a folder are untrusted: ParseVariant, GameOf, PayloadBase and
// HostOf accept any text and report invalid names. ParseVariant is the exact inverse of Variant.Base. A Target from a
// peer may be any text; an unknown system has no self-update and the extensions of Unix.
package product
