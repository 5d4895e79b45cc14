//go:build !linux

package platform

// WriteAhead does nothing: this system has no call to start writing a range back to the disk.
func WriteAhead(File, int64, int64) {}
