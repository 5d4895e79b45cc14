// Package wine runs programs for Windows in tests, on machines that are not Windows.
//
// A prefix is what Wine takes for a computer: a folder with a drive C: and a registry. Making one takes fifteen seconds and
// 700 MB, so it is made once, under the user's cache folder, as a template that nothing runs in. Open makes a prefix of its
// own out of it in a fraction of a second: libraries are hard links, everything that programs write to is a copy. So two
// tests never meet, whatever they install, and Close ends every program of its prefix and of no other.
//
//	<cache>/collet/wine/<hash>/template/      drive_c, dosdevices, *.reg; the hash is that of Wine's version and of what is
//	                                          put into the prefix
//	                          /template.lock  held by who makes it
//	                          /run-<n>/       a prefix in use      run-<n>.lock   held as long as it is
//	<cache>/collet/wine/client/               the client, linked once for all tests
//
// A prefix whose process died is removed by the next Open, and so are templates that no test asked for in a month.
//
// The files of the machine are on the drive Z:, so a program under test may lie in any folder of the test; Path tells its
// name. Temporary files of the programs lie on C:, in the prefix.
//
// Versions of Wine without bcryptprimitives.dll can't start a program written in Go. They are given one, which is compiled
// from stub/bcryptprimitives.c; it also makes os.RemoveAll, and thereby t.TempDir, work.
//
// What Wine can't show: a folder that holds an open file can be renamed, access control lists are not enforced and there is
// no elevation, a virus scanner does not hold files, and reserved names such as "con" are ordinary ones.
package wine
