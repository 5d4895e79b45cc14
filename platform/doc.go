// Package platform is the operating system and nothing else: a folder that nothing escapes from, atomic replacement,
// syncing, locks, free space, data folders, what an error means, who holds a file, and the start of processes. It decides
// nothing about updates.
//
// FS is the seam between the installer and the disk. Names are slash-separated and relative to the folder; the disk
// implementation stands on os.Root, so neither ".." nor a symbolic link leads out of it. Package faultfs passes the same
// suite, fstest, and stands in for it where a disk has to fail.
//
// A file named *_unix.go, *_linux.go, *_windows.go or *_other.go holds verbs: the same few unexported functions for one
// system, with the system calls it uses. What to do with them is decided in files without a suffix.
package platform
