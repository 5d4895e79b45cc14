package qa

import (
	"context"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"collet/build/qa/report"
)

// tracedCalls are the system calls that fail, by the tracer's names. write fails only for the update's own files, because the client also
// uses it to talk to its child and to the lab.
func tracedCalls() []string {
	return []string{"write", "fsync", "ftruncate", "renameat", "renameat2", "unlinkat", "mkdirat"}
}

// tracedFiles lists the files that an update writes: the journal, and the part of each changed file. See docs/ON-DISK.md.
func (d *diskLab) tracedFiles(dir string) []string {
	names := []string{".collet/journal.0", ".collet/journal.1"}
	for name, content := range d.promise.New {
		if d.promise.Old[name] != content {
			names = append(names, path.Join(path.Dir(name), "~"+path.Base(name)))
		}
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = filepath.Join(d.client.root(dir), filepath.FromSlash(strings.TrimPrefix(name, d.client.own.Writable+"/")))
	}
	return names
}

// tracedErrors are the injected errors, with the exit code that each must cause unless the client succeeded without the call.
var tracedErrors = map[string]int{"EIO": exitDiskFault, "ENOSPC": exitDiskFull}

// tracedFaults plans single failing calls: the n-th of its kind in a thread, by strace.
func (d *diskLab) tracedFaults(ctx context.Context) []try {
	if d.options.Faults <= 0 {
		return nil
	}
	refused := tracerRefused(ctx)
	var tries []try
	for _, call := range tracedCalls() {
		for _, errno := range []string{"EIO", "ENOSPC"} {
			for n := range d.options.Faults {
				tries = append(tries, try{
					name: call + " fails", params: []report.Param{{Name: "error", Value: errno}, {Name: "when", Value: fmt.Sprint(n + 1)}},
					do: func(ctx context.Context) (report.State, string, error) {
						if refused != nil {
							return "", "", &skipError{"strace is needed: " + refused.Error()}
						}
						return d.traced(ctx, call, errno, n+1)
					},
				})
			}
		}
	}
	return tries
}

// tracerLimit is the time limit of the test whether tracing is allowed.
const tracerLimit = 10 * time.Second

// tracerRefused returns why tracing is impossible; nil if it is possible.
func tracerRefused(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tracerLimit)
	defer cancel()
	path, err := exec.LookPath("strace")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=1", "true")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(said)))
	}
	return nil
}

// traced updates with one failing call in each run.
func (d *diskLab) traced(ctx context.Context, call, errno string, when int) (report.State, string, error) {
	dir, remove, err := d.clone(0)
	if err != nil {
		return "", "", err
	}
	defer remove()
	wrap := []string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call,
		"-e", fmt.Sprintf("inject=%s:error=%s:when=%d", call, errno, when)}
	if call == "write" {
		for _, file := range d.tracedFiles(dir) {
			wrap = append(wrap, "-P", file)
		}
	}
	end, _, err := d.converge(ctx, dir, clientRun{wrap: wrap})
	if err != nil {
		return "", "", err
	}
	allowed := []int{exitReady, tracedErrors[errno]}
	var problem string
	if !slices.Contains(allowed, end.code) {
		problem = fmt.Sprintf("the client ends with %v, want one of the exit codes %v; it printed:\n%s", end, allowed, end.tail())
	}
	later, err := d.checkInstall(ctx, dir, nil)
	return verdict(joinLines(problem, later), fmt.Sprintf("the update: %v", end), err)
}
