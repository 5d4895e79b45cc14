// Package compat judges whether a client may play on a server, and otherwise which update or redirect would help. It defines the
// data of that judgement: version ranges, builds, and the manifests of components.
//
//	Evaluate(snapshot, hello) → judgement
//
// It is pure: the connection loop, the command line's dry run, the dashboard's simulator and the tests call the same function
// with the same values and get the same answer. The rules R1 to R11 are those of docs/COMPATIBILITY.md, "The verdict";
// the first one that applies decides, and its number travels with the verdict so that a log line can be explained.
//
// Two builds are compared by three values. The logic version, a whole number, gives the direction. A hash over all shared
// components detects undeclared differences. The age of the builds indicates which end must be updated. The compatibility version
// is derived from the first two, unless a game has its own.
//
// A server's snapshot is built from two inputs, without any file, clock or socket:
//
//	Declared   what a build brings: supported range, own build, baselines, modules on offer
//	Settings   what an operator decides while it runs: active range, patch rules, redirect, maintenance, ...
//
//	Boot(stored, declared)       start-up rules B1 to B7: which settings hold, what was changed, or why not to start
//	settings.Check(declared)     every mistake by the name of its field; Hints is what is right but does nothing
//	declared.Snapshot(settings)  what Evaluate takes; one value for all handshakes until the next change
//
// Settings are numbered by their revision. Every change has an Audit record with time and actor; the records form a hash chain,
// which VerifyChain verifies.
//
// A server without a logic version has no ranges: Snapshot.Versioned is false, and only R1, R3, R8, R10 and R11 apply.
package compat
