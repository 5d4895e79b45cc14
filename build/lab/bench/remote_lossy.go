package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"collet/build/lab/dentest"
	"collet/netproto/launcher/wire"
)

// The bad link of the remote launcher's promise.
const (
	badOneWay    = 25 * time.Millisecond // 50 ms there and back
	badLoss      = 0.01
	badReorder   = 0.02
	badDuplicate = 0.01
	badLate      = 3 * time.Millisecond // how much later a packet comes that others overtake
	badSize      = 16 << 20             // bytes
	leastOfTCP   = 0.5
)

// remoteLossy pushes one file over a link that loses, reorders and doubles packets, in turn with a plain stream of TCP over
// the same link. It needs the privileges of root, for networks of its own; without them it says so.
func (b *bench) remoteLossy(ctx context.Context) error {
	line, err := startLink(linkOptions{delay: badOneWay, rate: lossyRate, queue: lossyQueue, loss: badLoss, reorder: badReorder, duplicate: badDuplicate, late: badLate, seed: 1})
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) || errors.Is(err, errors.ErrUnsupported) {
		fmt.Fprintf(b.out, "own device on a bad link: not measured: %v\n", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer line.close()
	root := filepath.Join(b.dir, "bad")
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	file := filepath.Join(root, "file.pak")
	if err := writeNoise(file, badSize); err != nil {
		return err
	}
	plain, err := line.plain(ctx, file)
	if err != nil {
		return err
	}
	defer plain.stop()
	var ours, theirs []time.Duration
	for range b.Pairs {
		took, err := b.badPush(ctx, line, root)
		if err != nil {
			return err
		}
		s, err := b.taken(badSize, os.Getpid(), func(to string) (time.Duration, error) {
			return copyPlain(ctx, line.dial, plain.listener.Addr().String(), to)
		})
		if err != nil {
			return err
		}
		ours, theirs = append(ours, took), append(theirs, s.wall)
	}
	own, copied := median(ours), median(theirs)
	fmt.Fprintf(b.out, "own device, %d MB, 50 ms, 1 %% loss, 2 %% reordering, 1 %% duplication, medians of %d: push %.2f MB/s, one TCP stream (%s) %.2f MB/s\n",
		badSize>>20, b.Pairs, speed(badSize, own), usualCongestion, speed(badSize, copied))
	b.atLeast("push on a bad link, ratio to one TCP stream", copied.Seconds()/own.Seconds(), leastOfTCP)
	return nil
}

// badPush pushes a folder from the far end of the link to the near one.
func (b *bench) badPush(ctx context.Context, line *link, root string) (took time.Duration, err error) {
	s, err := startStation(root, net.JoinHostPort(line.farAddr.String(), "0"), line.far.do)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	folder, err := os.MkdirTemp(b.dir, "bad-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	end, err := follow(folder, s.address, line.near.do)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	_, took, err = s.push(ctx)
	return took, errors.Join(err, dentest.SameTrees(root, folder, wire.StateFolder))
}
