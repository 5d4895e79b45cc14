// Package acquire finds out which release is for an install and gets what the install lacks of it, over package download.
//
// A Source is update.Source. Its work has three steps:
//
//	connect   what is signed, which release is for the install, its head and listing   trust.go, source_connect.go, source_listing.go
//	plan      Choose: by which strategy each missing content comes; pure               plan.go, estimate.go
//	execute   one strategy at a time, and then plan again                              source_fetch.go, source_patch.go, source_objects.go
//
// The rules:
//
//   - What the game's keys did not sign is never taken, and nothing older than what was seen. What has expired, or a clock
//     that is wrong, keeps the installed set and says that it may not be current.
//   - The sequel to the installed release is asked for together with the timestamp, from the first mirror: lists, head and a small
//     patch in one answer. Its parts are believed like the files that they are copies of, and asked for by name if not.
//   - A content that is somewhere in the install is copied. What the set patch makes from old contents that are as they should
//     be is patched. Of the rest chunks are fetched that are not in any local file, or whole objects, whatever takes less time.
//   - A means that failed twice for a content is left for the next one. What has come stays.
//   - A want gets its last byte only after its content has proven right.
//   - Which release a set was is remembered by the install's own name for it, so a set that went back is known for what it is.
package acquire
