//go:build !windows

package fstest

func underWine() bool { return false }
