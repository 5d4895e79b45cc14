package install

import "collet/platform/testlevel"

// Stride is the sampling step of the long enumerations.
func Stride() int { return testlevel.Stride(5, 29) }
