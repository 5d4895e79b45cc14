// Package tree scans folders, hashes files and their blocks, and caches the hashes. Both sides of the remote launcher
// use it. Ignore files name what is left out.
//
// A scan hashes the files that the cache does not know and returns a layout: files sorted by path, with size and
// SHA-256. A cached hash is valid while the file has the same size, modification time, change time and inode.
// wire.StateFolder below the root of a device holds its cache and its scratch files; no layout contains it.
package tree
