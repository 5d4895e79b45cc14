//go:build !linux

package platform

import "syscall"

// memberAttributes has none: the group or the job of this process ends the member.
func memberAttributes() *syscall.SysProcAttr { return nil }
