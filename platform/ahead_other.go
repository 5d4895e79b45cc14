//go:build !linux

package platform

// WriteAhead has the system begin to bring bytes from..to of an open file to the disk. This one has no call for that.
func WriteAhead(File, int64, int64) {}
