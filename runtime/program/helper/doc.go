// Package helper has the files with which a game that is a program talks to Collet: one file for each language, without a library.
//
//	collet.h    C and C++                 collet.py    Python and Ren'Py
//	Collet.cs   Unity and any .NET        collet.lua   Lua and LÖVE
//	collet.gd   Godot 3 and 4             collet.js    Electron, NW.js, RPG Maker MV and MZ
//
// All have the same five calls: ready, progress, update_available, restart_to_update and stop_requested. They append lines to the file
// that COLLET_EVENTS names, and read the one of COLLET_STATE (docs/PROGRAMS.md). Without these variables a call does nothing.
package helper
