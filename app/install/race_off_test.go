//go:build !race

package install

// Stride is how many steps of the long enumerations one stands for: here each is taken.
const Stride = 1
