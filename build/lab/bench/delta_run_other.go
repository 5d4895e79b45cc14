//go:build !linux

package main

import (
	"os"
	"time"
)

// ownTime is the time of the clock: the processor's is known on Linux only.
func ownTime() time.Duration { return time.Duration(time.Now().UnixNano()) }

// forgetPeak is of Linux only.
func forgetPeak() bool { return false }

// peakOf is known on Linux only.
func peakOf(*os.ProcessState) float64 { return 0 }
