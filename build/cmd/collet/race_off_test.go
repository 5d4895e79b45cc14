//go:build !race

package main

// raceEnabled says that this test's own collet is ten times as slow.
const raceEnabled = false
