//go:build !windows

package platform

func knownFolders() []string { return nil }
