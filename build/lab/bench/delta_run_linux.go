package main

import (
	"os"
	"runtime/debug"
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

// forgetPeak makes the largest memory that this process had what it has now, and reports whether that worked. Linux counts
// for a program also what the process had that it replaced; for a new child that is the peak of its parent. So a child's
// peak is never below what this process has when it starts one.
func forgetPeak() bool {
	debug.FreeOSMemory()
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil // 5 resets VmHWM, see proc(5)
}

// peakOf is the largest memory that a process that has ended had, in MB of 2^20 bytes. It was started behind a forgetPeak.
func peakOf(p *os.ProcessState) float64 {
	if usage, is := p.SysUsage().(*syscall.Rusage); is {
		return float64(usage.Maxrss) / 1024
	}
	return 0
}
