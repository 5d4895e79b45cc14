package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"collet/build/demo"
	"collet/build/qa/process"
	"collet/build/qa/proxy"
	"collet/build/qa/screen"
)

const (
	memoryBound = 64 // MB of 2^20 bytes above idle
	// idleAfter is how long a client waits for its stalled server before its idle memory is read: its window is drawn.
	idleAfter = 1500 * time.Millisecond
	// sampleEvery is how often the peak is read; the system keeps the peak, so that only the last value counts.
	sampleEvery = 20 * time.Millisecond
)

// memory measures peaks while a large file is taken: by the client without a window, by the client with its splash, and
// by the server that sends it, in disk mode.
func (b *bench) memory(ctx context.Context) error {
	display, err := screen.Start(ctx, screenWidth, screenHeight)
	if err != nil {
		return err
	}
	defer display.Close()
	if err := b.huge(ctx, "client without a window", func(l *demo.Layout, link *proxy.Proxy) (process.Options, error) {
		return headless(l, link.Addr(), nil), nil
	}); err != nil {
		return err
	}
	return b.huge(ctx, "client with its splash", func(l *demo.Layout, link *proxy.Proxy) (process.Options, error) {
		return process.Options{Path: l.Host(), Dir: l.Client(), Env: display.Environ()}, l.Point(link.Port(), "en")
	})
}

// starter says how to start a client of a layout whose server is behind a link.
type starter func(l *demo.Layout, link *proxy.Proxy) (process.Options, error)

// huge lets one client take a large file, and measures it and its server.
func (b *bench) huge(ctx context.Context, who string, start starter) error {
	l, err := b.install(ctx, "memory")
	if err != nil {
		return err
	}
	defer os.RemoveAll(l.Root)
	file := filepath.Join(l.Server(), "Resources", "Huge.zip")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		return err
	}
	if err := os.Truncate(file, b.Size<<20); err != nil { // a hole: no disk decides how fast it is read
		return err
	}
	server, address, err := demo.StartServer(ctx, l, 0)
	if err != nil {
		return err
	}
	defer server.Stop(stopGrace)
	serverIdle, err := memoryOf(server.PID(), "VmRSS")
	if err != nil {
		return err
	}
	idle, peak, took, err := b.take(ctx, l, address, start)
	if err != nil {
		return fmt.Errorf("%s: %w", who, err)
	}
	serverPeak, err := memoryOf(server.PID(), "VmHWM")
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "a file of %d MB in %.1f s: %s %.1f MB idle, %.1f MB peak; server in disk mode %.1f MB idle, %.1f MB peak\n",
		b.Size, took.Seconds(), who, idle, peak, serverIdle, serverPeak)
	b.verdict(who+", peak above idle", peak-idle, memoryBound, " MB")
	b.verdict("its server, peak above idle", serverPeak-serverIdle, memoryBound, " MB")
	return nil
}

// take lets a client wait in front of a stalled link, reads its memory, opens the link and follows the peak.
func (b *bench) take(ctx context.Context, l *demo.Layout, address string, start starter) (idle, peak float64, took time.Duration, err error) {
	link, err := proxy.Start(proxy.Options{Target: address, Link: proxy.Link{Stalled: true}})
	if err != nil {
		return 0, 0, 0, err
	}
	defer link.Close()
	options, err := start(l, link)
	if err != nil {
		return 0, 0, 0, err
	}
	client, err := process.Start(options)
	if err != nil {
		return 0, 0, 0, err
	}
	defer client.Stop(stopGrace)
	select {
	case <-time.After(idleAfter):
	case <-ctx.Done():
		return 0, 0, 0, ctx.Err()
	}
	if idle, err = memoryOf(client.PID(), "VmRSS"); err != nil {
		return 0, 0, 0, err
	}
	link.SetLink(proxy.Link{})
	began := time.Now()
	peak, err = followPeak(ctx, l, client)
	took = time.Since(began)
	if _, down := link.Bytes(); err == nil && down < b.Size<<20 {
		err = fmt.Errorf("only %d bytes came through the link", down)
	}
	return idle, peak, took, err
}

// followPeak reads the peak until the client has ended well, or says in its log that the game is up.
func followPeak(ctx context.Context, l *demo.Layout, p *process.Process) (peak float64, err error) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		if now, err := memoryOf(p.PID(), "VmHWM"); err == nil { // it fails in the moment of the end
			peak = max(peak, now)
		}
		if log, err := os.ReadFile(l.Log()); err != nil || bytes.Contains(log, []byte(`"start ended"`)) {
			return peak, err
		}
		select {
		case <-tick.C:
		case <-p.Done():
			return peak, p.Wait()
		case <-ctx.Done():
			return peak, ctx.Err()
		}
	}
}
