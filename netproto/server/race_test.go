//go:build race

package server_test

// underRace shortens what takes minutes with the race detector.
const underRace = true
