package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"collet/build/demo"
	"collet/build/qa/process"
	"collet/build/qa/proxy"
	"collet/build/qa/screen"
)

// install makes a client and a server in a folder of their own, with the demo's small packs. The client has the module
// that the server offers, so that all there is to do is to compare and fetch packs.
func (b *bench) install(ctx context.Context, name string) (*demo.Layout, error) {
	root := filepath.Join(b.dir, name)
	if err := os.Mkdir(root, 0o755); err != nil {
		return nil, err
	}
	l, err := demo.Prepare(ctx, root, b.Bin, 0)
	if err != nil {
		return nil, err
	}
	module, err := os.ReadFile(l.New.Module)
	if err != nil {
		return nil, err
	}
	return l, os.WriteFile(l.LiveModule(), module, 0o755)
}

// splashingClient is a client whose server is reached and never answers, so that its splash stays. stop ends the link.
func (b *bench) splashingClient(ctx context.Context, display *screen.Screen) (process.Options, func(), error) {
	l, err := b.install(ctx, "frame")
	if err != nil {
		return process.Options{}, nil, err
	}
	link, err := proxy.Start(proxy.Options{Target: "127.0.0.1:1", Link: proxy.Link{Stalled: true}})
	if err != nil {
		return process.Options{}, nil, err
	}
	stop := func() { link.Close() }
	return process.Options{Path: l.Host(), Dir: l.Client(), Env: display.Environ()}, stop, l.Point(link.Port(), "en")
}

// headless is the client of a layout without a window, against a server.
func headless(l *demo.Layout, server string, output io.Writer) process.Options {
	return process.Options{
		Path: l.Host(), Dir: l.Client(), Output: output, Args: []string{"--headless", "--trust", "sha256", "--server", server},
	}
}

// finish runs a program to its end and wants exit code 0.
func finish(ctx context.Context, o process.Options) error {
	var printed bytes.Buffer
	o.Output = &printed
	p, err := process.Start(o)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Stop(stopGrace)
		return ctx.Err()
	}
	if err := p.Wait(); err != nil {
		return fmt.Errorf("%w; it printed:\n%s", err, &printed)
	}
	return nil
}

// memoryOf reads one value of /proc/<pid>/status in MB of 2^20 bytes: VmRSS is what is used now, VmHWM the peak.
func memoryOf(pid int, key string) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for text := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(text, ":")
		if name != key {
			continue
		}
		kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		return kilobytes / 1024, err
	}
	return 0, fmt.Errorf("process %d has no %s", pid, key)
}
