// Package pack makes the packages for players and server operators from one description of the game: collet.toml.
//
// # The description
//
// collet.toml lies at the top of the project's folder. Every path in it is relative to that folder, uses slashes, and stays inside. It is
// TOML. Description has one type for each of its tables; the comment of each field is the reference text in docs/PACKAGING.md. It contains
// no secrets: keys and passwords are named by the environment variables that hold them, and values that look like secrets are refused.
//
// Load checks everything that can be checked without a build, and returns a Project with all defaults filled in and all paths resolved. It
// reports all mistakes at once, each with file, line, key, fault and remedy (Mistakes). A Project is immutable and safe for concurrent use.
//
// # Packages
//
// A build is one variant of the game for one target: host, module, symbols and companions. Its base name is product.Variant.Base, and its
// settings are embedded in its program. Project.Builds lists all builds. A player's package contains one build and the client packs; a
// server's package contains all builds and all packs.
//
// Times in packages are Game.Time, or SOURCE_DATE_EPOCH without it; the clock is never read.
package pack
