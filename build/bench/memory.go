package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"collet/build/demo"
	"collet/build/qa"
)

const (
	memoryBound = 64 // MB of 2^20 bytes above idle
	// idleAfter is how long a client waits for its stalled server before its idle memory is read.
	idleAfter = 1500 * time.Millisecond
	// sampleEvery is how often the peak is read; the system keeps the peak, so that only the last value counts.
	sampleEvery = 20 * time.Millisecond
)

// memory measures peaks while a large file is taken.
func (b *bench) memory(ctx context.Context) error {
	l, err := b.install(ctx, "memory")
	if err != nil {
		return err
	}
	huge := filepath.Join(l.Server(), "Resources", "Huge.zip")
	if err := os.WriteFile(huge, nil, 0o644); err != nil {
		return err
	}
	if err := os.Truncate(huge, b.Size<<20); err != nil { // a hole: nobody's disk cache decides the result
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
	idle, peak, took, err := b.takeHuge(ctx, l, address)
	if err != nil {
		return err
	}
	serverPeak, err := memoryOf(server.PID(), "VmHWM")
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "a file of %d MB in %.1f s: client %.1f MB idle, %.1f MB peak; server in disk mode %.1f MB idle, %.1f MB peak\n",
		b.Size, took.Seconds(), idle, peak, serverIdle, serverPeak)
	b.verdict("client's peak above its idle", peak-idle, memoryBound, " MB")
	b.verdict("server's peak above its idle", serverPeak-serverIdle, memoryBound, " MB")
	return nil
}

// takeHuge lets a client wait in front of a stalled link, reads its memory, opens the link and follows the peak.
func (b *bench) takeHuge(ctx context.Context, l *demo.Layout, address string) (idle, peak float64, took time.Duration, err error) {
	link, err := qa.StartProxy(qa.ProxyOptions{Target: address, Link: qa.Link{Stalled: true}})
	if err != nil {
		return 0, 0, 0, err
	}
	defer link.Close()
	client, err := qa.StartProcess(headless(l, link.Addr(), os.Stderr))
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
	link.SetLink(qa.Link{})
	began := time.Now()
	peak, err = followPeak(ctx, client)
	took = time.Since(began)
	if _, down := link.Bytes(); err == nil && down < b.Size<<20 {
		err = fmt.Errorf("only %d bytes came through the link", down)
	}
	return idle, peak, took, err
}

// followPeak reads the peak until the process has ended with code 0.
func followPeak(ctx context.Context, p *qa.Process) (peak float64, err error) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		if now, err := memoryOf(p.PID(), "VmHWM"); err == nil { // it fails in the moment of the end
			peak = max(peak, now)
		}
		select {
		case <-tick.C:
		case <-p.Done():
			if peak == 0 {
				err = errors.New("no memory could be read")
			}
			return peak, errors.Join(err, p.Wait())
		case <-ctx.Done():
			return peak, ctx.Err()
		}
	}
}
