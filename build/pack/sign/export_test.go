package sign

// Probe is the program that Check signs.
var Probe = probe
