//go:build !linux

package demo

import "errors"

// hasDisplay is true: these systems always have one.
func hasDisplay() bool { return true }

// parentOf has no simple answer here: errors.ErrUnsupported. The check by the client's log remains.
func parentOf(int) (parent int, err error) { return 0, errors.ErrUnsupported }
