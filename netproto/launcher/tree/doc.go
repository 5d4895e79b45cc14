// Package tree knows what lies in a folder: it scans it, hashes files and their blocks, and keeps the hashes for the next time. Both sides
// of the remote launcher use it; ignore files say what is left out.
//
// Tree scans a folder, hashes what its cache does not know and returns a Layout: files sorted by path with size and
// SHA-256. A cached hash counts as long as size, time of modification, time of change and inode are those of the moment
// when it was made. StateFolder below the root of a device holds the cache and files under way; it belongs to no layout.
package tree
