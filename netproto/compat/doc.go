// Package compat judges whether a client may play here, and if not, what would help; and it holds what the judgement is about:
// version ranges, builds, and the manifests of components.
//
//	Evaluate(snapshot, hello) → judgement
//
// It is pure: the connection loop, the command line's dry run, the dashboard's simulator and the tests call the same function
// with the same values and get the same answer. The rules R1 to R11 are those of the merged design of the verdict (compat
// reference, section 3.4); the first one that applies decides, and its number travels with the verdict so that a log line can
// be explained.
//
// Three things say how two builds stand to each other: a whole number, the logic version, gives the direction; a hash over
// all components that both ends share detects what nobody declared; the age of the builds hints at who has to act. The
// compatibility version is made of the first two, unless a game has its own.
//
// What a server judges by is put together from two sides, without any file, clock or socket:
//
//	Declared   what a build brings: supported range, own build, baselines, modules on offer
//	Settings   what an operator decides while it runs: active range, patch rules, redirect, maintenance, ...
//
//	Boot(stored, declared)       start-up rules B1 to B7: which settings hold, what was changed, or why not to start
//	settings.Check(declared)     every mistake by the name of its field; Hints is what is right but does nothing
//	declared.Snapshot(settings)  what Evaluate takes; one value for all handshakes until the next change
//
// Settings are numbered by their revision. What was changed, when and by whom is an Audit record; the records are lines in a
// chain of hashes, which VerifyChain walks.
//
// A server that was never told a logic version has no ranges: Snapshot.Versioned is false there, and only R1, R3, R8, R10 and
// R11 apply.
package compat
