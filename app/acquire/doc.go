// Package acquire selects the release for an install and fetches its missing contents, with package download.
//
// A Source implements update.Source. It works in three steps:
//
//	connect   refresh the signed metadata, select the release, fetch its head and listing: a connected   connect*.go, connected.go, trust.go
//	plan      Choose makes a Plan of a Situation: a strategy for each missing content; pure              plan.go, estimate.go
//	execute   carry out one strategy of the plan, then plan again with what was learned                  execute*.go, delivery.go
//
// The calls of a Source share its resources: the mirrors with their Fetcher (mirrors.go), the received documents and objects (objects.go,
// sequel.go), the delta index, the remembered sets (installed.go) and the progress. Fetch opens what its workers need before it starts them.
//
// The rules:
//
//   - Only files that the game's keys signed are accepted, and never an older version of a document than before. Expired metadata, or
//     a wrong clock, keep the installed set and report that it may not be current.
//   - The sequel to the installed release is requested together with the timestamp, from the first mirror: lists, head and a small
//     patch in one answer, which leaves out what is in the kept list and head. Its parts are verified like the files that they copy. A
//     wrong part is requested by its own name.
//   - A content that another file of the install has is copied. A content that the set patch makes from intact old files is patched, or
//     the expanded set patch makes it (execute_expanded.go), whichever takes less time. For the rest, missing chunks or whole objects
//     are fetched, whichever takes less time.
//   - Where much of a release is missing, groups of its solid form are fetched in place of many whole objects. Its parts are kept in the
//     spool and decoded while the next ones are fetched. Deflated packs are in it inflated, and are compressed again.
//   - A strategy that failed twice for a content is replaced by the next one. Received bytes stay.
//   - A want gets its last byte only after its content was verified.
//   - The release of a set is remembered under the install's own identity of the set, so a set that was rolled back to is recognized.
package acquire
