package install

import "collet/platform/testlevel"

// Stride is how many steps of the long enumerations one stands for.
var Stride = testlevel.Stride(5, 29)
