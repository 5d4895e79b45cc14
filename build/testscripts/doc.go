// Package testscripts has commands for scripts of package testscript that use the real programs: installs of the sample game,
// servers, broken links, web servers, desks of remote launchers. The tests of app and of build/lab/compatible share them. Only tests import
// this package.
//
// A script starts the programs that the variables COLLET, COLLET_CLIENT and COLLET_SERVER name; the commands do the same.
// Lathe is the sample game, with two releases: release 1 is old, release 2 is new.
//
//	install DIR NAME [module|new-module] [packs]   make an install of release 1
//	package DIR old|new [nomodule] [portion=BYTES] [fault=NAME]
//	                         make a server's package folder; a fault is a module of runtime/sample with one defect
//	serve DIR                start the server for a package folder and set SERVER to its address; serve off stops it
//	link [cut=BYTES] [rate=BYTES]
//	                         put a proxy before the server and set LINK to its address. It cuts the first connection after so many
//	                         bytes to the client; the rate is bytes a second
//	wire down|up MOST        check the bytes that crossed the link, over all connections; wire connections N
//	web DIR                  serve a folder by HTTP and set WEB to its address; web off stops it
//	origin DIR               give the server of a folder an HTTP port, and set ORIGIN to its address
//	feed DIR RELEASE         make the settings of a server that offers a release folder
//	waitfor FILE REGEXP      wait until a file has a line that matches
//	waitsize FILE BYTES      wait until a file has so many bytes
//	[!] same A B             compare two files byte for byte
//	before NAME              unpack testdata/before/NAME.tar.gz, which programs of an earlier commit wrote, into a folder NAME
//	damage FILE OFFSET       change one byte of a file, and keep its size and time
//	games DIR                copy both releases as collet modules --packs makes them, in release-1 and release-2
//	desk                     set DESK to a free address of this machine, and make collet remote use it and a state folder of its own
//	waitdesk                 wait until collet remote serve answers
//	[!] sametree A B         compare all files of two folders, without the device's own folder
package testscripts
