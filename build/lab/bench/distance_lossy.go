package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"collet/build/qa/process"
	"collet/netproto/session"
)

// The line of the measurement under loss: that of a player at home with a bad wireless network.
const (
	lossyOneWay = 10 * time.Millisecond
	lossyShare  = 0.01 // each way
	lossyRate   = 100e6 / 8
	lossyQueue  = 100 * time.Millisecond
	// lossySize is the size of the file in bytes: many round trips of a connection that carries 1 MB/s.
	lossySize = 16 << 20
	// usualCongestion is what a server has whose system was not told otherwise.
	usualCongestion = "cubic"
	// listenTime is how long a server may take until it listens.
	listenTime = 30 * time.Second
	firstPort  = 4000
)

// contender is one way to get the file over the line that loses packets.
type contender struct {
	name       string
	congestion string

	process *process.Process
	address string
	took    []spent
}

// lossy takes a file over a line of 20 ms round trip that loses one packet of a hundred: with BBR, and with what systems
// have by default. Each round takes it once by each, and once as a plain stream of TCP with the system's default. It needs the privileges of root, for networks of its own; without them it says so.
func (b *bench) lossy(ctx context.Context) error {
	line, err := startLink(linkOptions{delay: lossyOneWay, rate: lossyRate, queue: lossyQueue, loss: lossyShare, seed: 1})
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) || errors.Is(err, errors.ErrUnsupported) {
		fmt.Fprintf(b.out, "1 %% loss at 20 ms: not measured: %v\n", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer line.close()
	folder := filepath.Join(b.dir, "lossy")
	packs := filepath.Join(folder, "Resources")
	if err := os.MkdirAll(packs, 0o755); err != nil {
		return err
	}
	file := filepath.Join(packs, benchFile)
	if err := writeNoise(file, lossySize); err != nil {
		return err
	}
	plain, err := line.plain(ctx, file)
	if err != nil {
		return err
	}
	defer plain.stop()
	all := []*contender{
		{name: "bbr", congestion: "bbr"},
		{name: usualCongestion, congestion: usualCongestion},
	}
	for i, c := range all {
		if err := c.start(ctx, b, line, folder, i); err != nil {
			return err
		}
		defer c.process.Stop(stopGrace)
	}
	return b.race(ctx, line, plain, all)
}

// race takes the file by all ways in turn and prints what came of it.
func (b *bench) race(ctx context.Context, line *link, plain *plain, all []*contender) error {
	var copied []spent
	for range b.Pairs {
		s, err := b.taken(lossySize, os.Getpid(), func(to string) (time.Duration, error) {
			return copyPlain(ctx, line.dial, plain.listener.Addr().String(), to)
		})
		if err != nil {
			return err
		}
		copied = append(copied, s)
		for _, c := range all {
			if err := c.take(ctx, b, line); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	fmt.Fprintf(b.out, "round trip of 20 ms, 1 %% loss each way, 100 Mbit/s, %d MB from disk into a file, %d rounds: one TCP stream (%s) %.2f MB/s\n",
		lossySize>>20, b.Pairs, usualCongestion, speed(lossySize, median(walls(copied))))
	for _, c := range all {
		all := ratios(copied, c.took)
		fmt.Fprintf(b.out, "  %-24s %6.2f MB/s, ratio to that stream %5.2f (%.2f to %.2f)\n",
			c.name, speed(lossySize, median(walls(c.took))), middle(all), slices.Min(all), slices.Max(all))
	}
	return nil
}

// dial connects from the near end of the line.
func (l *link) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = l.near.do(func() error {
		var err error
		conn, err = new(net.Dialer).DialContext(ctx, network, address) // to a number: on this thread
		return err
	})
	return conn, err
}

// plain sends the file from the far end.
func (l *link) plain(ctx context.Context, file string) (p *plain, err error) {
	err = l.far.do(func() error {
		config := net.ListenConfig{Control: withCongestion(usualCongestion)}
		listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(l.farAddr.String(), fmt.Sprint(firstPort)))
		if err == nil {
			p = newPlain(listener, file)
		}
		return err
	})
	return p, err
}

// start runs the server of a contender at the far end.
func (c *contender) start(ctx context.Context, b *bench, line *link, folder string, i int) error {
	settings := filepath.Join(folder, fmt.Sprintf("server%d.toml", i))
	text := fmt.Sprintf("CompatibilityVersion = %q\n[Network]\nCongestionControl = %q\n[Baking]\nClientResources = \"Resources\"\n",
		benchCompatibility, c.congestion)
	if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
		return err
	}
	c.address = net.JoinHostPort(line.farAddr.String(), fmt.Sprint(firstPort+1+i))
	printed := process.NewTail()
	err := line.far.do(func() (err error) {
		c.process, err = process.Start(process.Options{Path: b.program("collet-server"), Dir: folder, Output: printed,
			Args: []string{"--config", settings, "--listen", c.address}})
		return err
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, listenTime)
	defer cancel()
	for !strings.Contains(printed.String(), "Listening") {
		select {
		case <-time.After(lookEvery):
		case <-c.process.Done():
			return fmt.Errorf("the server ended; it printed:\n%s", printed)
		case <-ctx.Done():
			c.process.Stop(stopGrace)
			return fmt.Errorf("the server does not listen: %w; it printed:\n%s", ctx.Err(), printed)
		}
	}
	return nil
}

// take gets the file once.
func (c *contender) take(ctx context.Context, b *bench, line *link) error {
	s, err := b.taken(lossySize, c.process.PID(), func(to string) (time.Duration, error) {
		return fetch(ctx, c.address, to, func(o *session.Options) {
			o.Dial = line.dial
		})
	})
	c.took = append(c.took, s)
	return err
}

// dialer makes connections.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// copyPlain takes what is sent into a new file.
func copyPlain(ctx context.Context, dial dialer, address, to string) (took time.Duration, err error) {
	began := time.Now()
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	out, err := os.Create(to)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(out, conn)
	return time.Since(began), errors.Join(err, out.Close())
}
