// Package platform wraps the operating system: a confined folder, atomic replacement, syncing, locks, free space, data folders,
// classification of errors, processes that hold a file, and the start of processes. It has no logic of updates.
//
// FS is the interface between the installer and the disk. Names are slash-separated and relative to the folder. The disk
// implementation is based on os.Root, so neither ".." nor a symbolic link leads out of the folder. Package faultfs implements FS with
// injected faults and passes the same test suite, fstest.
//
// A file named *_unix.go, *_linux.go, *_windows.go or *_other.go implements the same few unexported functions for one system, with its
// system calls. Decisions are in the files without a suffix.
package platform
