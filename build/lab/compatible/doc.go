// Package compatible plays programs of an earlier commit against those of the tree, in both directions. It has tests only.
//
// The earlier programs are built from the commit `earlier`, into bin/compatible/ of the repository, and stay there between runs. Where the
// commit is not in the repository, as in a shallow clone, the tests are skipped with the command that fetches it.
//
// TestScripts runs every script of testdata/script twice. The variables say which program is which:
//
//	              CLIENT     SERVER, COLLET   OTHER_CLIENT   OTHER_SERVER, OTHER_COLLET
//	old-client    earlier    today's          today's        earlier
//	new-client    today's    earlier          earlier        today's
//
// CLIENT and SERVER stand for COLLET_CLIENT and COLLET_SERVER. The commands of build/testscripts start these and COLLET. So a client meets
// a server of the other age, and takes over what the client of the other age has left. The scripts compare files and exit codes, not texts.
//
// TestFixtures lets the earlier programs write the archives of app/testdata/before, which scripts of app open with today's programs:
//
//	COLLET_TESTS=all go test -tags gles ./build/lab/compatible -run Fixtures -update
//
// Without -update it writes them to a temporary folder, which shows that they can still be made.
//
// Commands of the scripts beside those of build/testscripts:
//
//	module FILE COMPATIBILITY   compile a small module of this compatibility version: it says ready and ends
//	keep NAME                   write the folder NAME as an archive; in TestFixtures only
//	waitspool DIR BYTES         wait until the spool of an install has recorded so many bytes of an object
//	control                     set CONTROL to a short path for a server's control socket
package compatible
