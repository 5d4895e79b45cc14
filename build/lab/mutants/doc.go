// Package mutants asks whether the tests of the core packages would notice a plausible mistake. It has tests only.
//
// A mutant is one change of one file, such as a comparison turned round, a bound off by one, a missing sync, a digest that is not
// compared, an error that is dropped, or a cap that is raised. The table in table_test.go lists them: about seven each for app/update,
// app/install, netproto, netproto/release/trust, netproto/chunk and netproto/compat, and a few for netproto/release and netproto/delta,
// with the reason why the changed code matters.
//
// TestTable holds the table to the tree: the old text of a mutant stands exactly once in its file, and the changed file is Go.
//
// TestMutants runs the tests of the package with each mutant compiled in: first those of make check, and, if they stay green, those of
// make test (without the race detector, which could only catch more), then those of the further packages that the mutant names. The
// tree is never changed: the Go tool takes the changed file in place of the real one (go build -overlay). The programs that tests build
// get it, too. The whole tests of a package run, up to the first failure.
//
//	caught by check   the tests of make check fail, or don't end within the limit
//	caught by test    only those of make test do
//	survived          an error: a test is missing
//
// Errors, too: a mutant that does not compile, and a package whose tests fail without any mutant. At most two mutants are tried at a
// time. Each is a subtest named after it, so that -run tries one. The end of the verbose output tells how many were caught by what.
package mutants
