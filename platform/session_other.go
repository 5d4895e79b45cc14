//go:build !windows

package platform

// OnSessionEnd does nothing: here the end of a session arrives as a signal (EndSignals).
func OnSessionEnd(func()) (release func()) { return func() {} }
