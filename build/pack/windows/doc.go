// Package windows makes installers for Windows from a bundle: a setup program by NSIS, and a Windows Installer package by wixl.
//
// Both put the bundle's files and a file INSTALLED into a folder, make a shortcut in the Start menu and, if asked for, on the
// desktop, register the game's URI scheme, and appear among the installed programs. The client finds INSTALLED and writes into
// the player's own data folder, so that a folder that only administrators may change is no obstacle to updates.
//
//	scope     NSIS folder                            MSI folder                          registry
//	user      %LOCALAPPDATA%\Programs\<Base>         the same                            HKCU
//	machine   %ProgramFiles%\<Base>                  the same                            HKLM
//	ask       a page of the setup asks, or           machine: who rolls out packages
//	          /CurrentUser and /AllUsers do          does it for everyone
//
// A setup asks for an administrator only when it installs for everyone. It takes /S (no questions), /D=FOLDER (last, without
// quotes), /AllUsers, /CurrentUser, /Desktop, /NoDesktop and /AllowDowngrade. Exit codes beside 0 are those that Windows has for
// the same: 1 cancelled, 2 ended by a fault, 32 the game runs, 740 an administrator is needed, 1603 the installed version can't
// be removed, 1638 a newer version is installed. A setup over an older version, or the same one, lets that remove itself first.
//
// Removing takes what was installed, and what an updater may have made in the folder; anything else there stays, and so does the
// player's data folder. A scheme that another program has taken over meanwhile stays that program's.
//
// Versions of a game know each other by the upgrade code. A variant of a game (bundle.Base is not the product's name) is a game of
// its own: it may be installed beside the plain one, and does not replace it.
//
// Output depends on the bundle alone. Tools run in a folder of their own, over files with the product's time and names that are
// counted, in the C locale and UTC. makensis is then deterministic by itself. wixl is not: it draws a package code and writes the
// clock into the summary information, so both are written anew; and it can write neither texts outside of Windows-1252 nor some
// tables, so texts are put in afterwards, by msibuild.
package windows
