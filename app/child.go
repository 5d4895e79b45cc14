package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"collet/app/host"
	"collet/app/supervise"
	"collet/platform"
	"collet/runtime/embedded"
	loader "collet/runtime/host"
	"collet/runtime/program"
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
	var running atomic.Pointer[program.Module]
	terminate := func(code int) {
		if m := running.Load(); m != nil {
			m.Kill()
		}
		platform.Halt(code)
	}
	return supervise.Serve(ctx, in, out, func() (supervise.Module, error) {
		module, err := load(f)
		if m, is := module.(*program.Module); is {
			running.Store(m)
		}
		return module, err
	}, f.StopWithin, terminate)
}

// load maps the module of the role, or reads the description of a program in its place.
func load(f flags) (supervise.Module, error) {
	if f.Role == "embedded" {
		return embedded.Open()
	}
	if f.Resources != "" {
		return loadProgram(f)
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

// loadProgram reads the description of a game that is a program.
func loadProgram(f flags) (supervise.Module, error) {
	module, err := program.Load(program.Options{Description: f.ClientLibPath, Resources: f.Resources, Kept: f.Kept, StopWithin: f.StopWithin})
	var refused *program.LoadError
	if errors.As(err, &refused) {
		return nil, &supervise.LoadError{Stage: refused.Stage, Text: err.Error()}
	}
	if err != nil {
		return nil, err
	}
	return module, nil
}
