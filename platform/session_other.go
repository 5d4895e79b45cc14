//go:build !windows

package platform

// OnSessionEnd does nothing: signals tell of the end of a session here (EndSignals).
func OnSessionEnd(func()) (release func()) { return func() {} }
