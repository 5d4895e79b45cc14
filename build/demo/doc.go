// Package demo plays one whole update through on one machine, with real parts, and checks what became of it.
//
// It lays out a folder:
//
//	client/   an install of release 1: the host (a copy of collet-client under the game's name), the module, the packs
//	          Core.zip and Art.zip, and the settings file that points to the link
//	guest/    release 1 once more, for a player who does not update
//	server/   a package of release 2: Resources/ with Core.zip, Art.zip and the large Levels.zip,
//	          PlatformBinaries/<target>/ with the module, and server.toml
//
// and then starts the real update server, a link of a limited rate in front of it (so that a person can watch the splash)
// and the real client, which does the rest: synchronise, be told that its binaries are outdated, fetch the module, swap
// it in, start it, all under one host process. Without a display the client gets a virtual one, where screenshots are
// taken and the game is ended by pressing Escape; on a real display the game is left to the person who sees it.
//
// Beside them is a game server (package protocol of the sample game). It does each step of the game, too, and the game compares its
// world with it by a checksum over what their logic version has: release 2 plays by version 2, and then release 1, which is
// still installed elsewhere, by version 1, on the same server.
//
// Promises. The packs are the same bytes each time they are made. What the demo claims on its last line was checked: by process
// ids that the system gives, by comparing files byte for byte, by the client's own log, and by looking at the screen.
// Nothing that was started outlives Run, however it ends, and the folder is removed unless it is to be kept.
package demo
