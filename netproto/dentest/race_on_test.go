//go:build race

package dentest_test

// raceEnabled says that the race detector multiplies what laps of all numbers take.
const raceEnabled = true
