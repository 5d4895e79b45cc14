package main

import (
	"os"
	"syscall"
	"time"
)

// ownTime is the processor time that this process has used. Where others use the machine too, it says what one core takes.
func ownTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic("bench: internal error: the system does not tell what this process used: " + err.Error())
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// peakOf is the largest memory that a process that has ended had, in MB of 2^20 bytes.
func peakOf(p *os.ProcessState) float64 {
	if usage, is := p.SysUsage().(*syscall.Rusage); is {
		return float64(usage.Maxrss) / 1024
	}
	return 0
}
