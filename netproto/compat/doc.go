// Package compat holds the one function that judges whether a client may play here, and if not, what would help.
//
//	Evaluate(snapshot, hello) → judgement
//
// It is pure: the connection loop, the command line's dry run and the tests call the same function with the same values
// and get the same answer. The rules are numbered as in the merged design of the compatibility verdict; the first one
// that applies decides, and its number travels with the verdict so that a log line can be explained.
//
// Evaluated here are the rules whose inputs a Snapshot carries: R1 (updater generation), R3 (maintenance), R8
// (compatibility string) and R11 (accept). The rules about version ranges, patches, pins, redirects and component
// hashes have no input in Snapshot, and so no code.
package compat
