package install

import "collet/platform/testlevel"

// Stride is how many steps of the long enumerations one stands for.
func Stride() int { return testlevel.Stride(5, 29) }
