//go:build race

package install

// Stride is how many steps of the long enumerations one stands for: the race detector makes each take six times as long. make
// test takes all of them without it, too.
const Stride = 5
