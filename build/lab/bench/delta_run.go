package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// ran is what one run of a program took.
type ran struct {
	wall time.Duration
	cpu  time.Duration // of all its processes that have ended
	peak float64       // MB of 2^20 bytes; 0 where the system does not tell
	out  []byte
}

// runProgram runs a program to its end and wants exit code 0.
func runProgram(ctx context.Context, name string, args ...string) (ran, error) {
	return runCommand(exec.CommandContext(ctx, name, args...))
}

func runCommand(cmd *exec.Cmd) (ran, error) {
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	known := forgetPeak()
	began := time.Now()
	err := cmd.Run()
	r := ran{wall: time.Since(began), out: out.Bytes()}
	if err != nil {
		return r, fmt.Errorf("%s: %w; it printed:\n%s%s", cmd.Path, err, lastOf(out.Bytes()), lastOf(complaint.Bytes()))
	}
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if known {
		r.peak = peakOf(cmd.ProcessState)
	}
	return r, nil
}

// lastPrinted is how much of what a program printed stands in an error, in bytes.
const lastPrinted = 2000

func lastOf(text []byte) []byte { return text[max(0, len(text)-lastPrinted):] }

// jsonOf runs a program and reads what it prints.
func jsonOf[T any](ctx context.Context, name string, args ...string) (value T, r ran, err error) {
	r, err = runProgram(ctx, name, args...)
	if err != nil {
		return value, r, err
	}
	if err := json.Unmarshal(r.out, &value); err != nil {
		return value, r, fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return value, r, nil
}

// sizeOf is the size of a file in bytes.
func sizeOf(name string) (int64, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
