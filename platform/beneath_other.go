//go:build !linux && !windows

package platform

import "os"

// openRootNames is the fastest lookup that the system has.
func openRootNames(root *os.Root) names { return root }
