// Package games plays games of other people through the whole life of a package: games of Debian as they come, and a program for Windows
// under Wine. It has tests only.
//
// For each game a folder is made of the files of its packages. Then, without an edit of what any step writes:
//
//	wrap, release publish, pack client                  the developer, once; keys init makes the keys of all games
//	install, play                                       the game's window is seen, and a picture of it kept
//	publish, update, kill in the middle, update, play   the second version differs in files of the game
//	publish, play twice, play                           a release that crashes goes back to the last good one
//	damage, verify                                      repaired
//
// The player's computer has the libraries of the system and not the game: where the system lets this user do so, the folders of games are
// empty for the host and all that it starts. So what is seen on the screen comes from the install.
//
// Each run prints a table. The pictures and the table are kept in bin/games of the repository.
package games
