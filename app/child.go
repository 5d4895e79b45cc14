package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"collet/app/host"
	"collet/app/supervise"
	"collet/platform"
	"collet/runtime/embedded"
	loader "collet/runtime/host"
)

// runChild runs this program in a child's role: it loads one module, runs it on the main thread and serves the control pipe.
func runChild(ctx context.Context, f flags, stderr io.Writer) int {
	in, out, err := platform.OpenControl(f.Control)
	if err != nil {
		fmt.Fprintf(stderr, "collet-client: %v\n", err)
		return supervise.ExitNoControl
	}
	if f.Role == "probe" {
		return host.Probe(f.Trial, out)
	}
	return supervise.Serve(ctx, in, out, func() (supervise.Module, error) { return load(f) }, f.StopWithin, platform.Halt)
}

// load maps the module of the role.
func load(f flags) (supervise.Module, error) {
	if f.Role == "embedded" {
		return embedded.Open()
	}
	module, err := loader.Load(f.ClientLibPath)
	var refused *loader.LoadError
	if errors.As(err, &refused) {
		return nil, &supervise.LoadError{Stage: string(refused.Stage), Text: err.Error()}
	}
	if err != nil {
		return nil, err
	}
	return module, nil
}
