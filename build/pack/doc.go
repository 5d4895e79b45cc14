// Package pack makes what players and server operators download, from one description of the game: collet.toml.
//
// # The description
//
// collet.toml lies at the top of the project's folder, and every path in it is relative to that folder, with slashes, and
// stays inside of it. It is TOML; Description has one type for each of its tables, and the comment of each field is what the
// reference in docs/PACKAGING.md says. Nothing secret stands in it: keys and passwords are named by the environment
// variables that hold them, and whatever looks like a secret is refused.
//
// Load reads and checks everything that can be known without building anything, and gives a Project: the same with all
// defaults filled in and all paths resolved. It reports all mistakes at once, each with file, line, key, what is wrong and
// what would be right (Mistakes). A Project is immutable and safe for concurrent use.
//
// # What comes out of it
//
// A build is one variant of the game for one target: host, module, symbols and companions, with the base name that
// product.Variant.Base gives and with the settings that the client finds in its program. Project.Builds lists them; a
// package for players is made of one build and the packs for clients, the one for servers of all builds and all packs.
//
// Times in packages are Game.Time, or SOURCE_DATE_EPOCH where the description has none; the clock is never read.
package pack
