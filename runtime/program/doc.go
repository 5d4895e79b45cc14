// Package program runs an executable of a game in place of a native module.
//
// A set of kind program has a description as its runtime, a file <Base>.program in the place of the module. It names an
// executable among the set's resources, how to start it, when it counts as started, and what its exit codes mean:
//
//	{"args":[],"build":"0f3c…","compatibility":"","env":{},"exit":{"clean":[0],"reload":[]},"folder":"","format":1,
//	 "keep":[],"name":"Lathe","program":"bin/lathe","ready":{"seconds":10,"window":true},"wrapper":[]}
//
// The document is canonical JSON: sorted keys, no spaces, whole numbers, every field present, and in texts only the quote and
// the backslash escaped. So a description has exactly one form. Parse accepts no other; Encode writes it. A description comes
// from a release that the publisher signed, but is still untrusted input: every field has a cap, and every path stays below
// the folder of resources (release.CheckPath).
//
// Files that players edit are shipped below KeepFolder and named in Keep. The set never contains the file that the player
// edits, so an update, a verification and a repair don't touch it.
package program
