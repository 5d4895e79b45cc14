//go:build race

package publish_test

// raceEnabled says that everything takes ten times as long; make test runs the long enumeration without the detector, too.
const raceEnabled = true
