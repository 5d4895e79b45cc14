package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"collet/build/qa/proxy"
	"collet/netproto/session"
)

const (
	// oneWay is half of a round trip of 100 ms.
	oneWay = 50 * time.Millisecond
	// farShare is the part of the file's size that is asked for one portion at a time, which takes a round trip for each.
	farShare = 8
)

// distance takes a file over a link of 100 ms round trip, in pairs with a plain stream of the same file over the same
// link. One request at a time, on a smaller file, is printed for scale.
func (b *bench) distance(ctx context.Context) error {
	o, err := b.offer(ctx, "distance")
	if err != nil {
		return err
	}
	defer o.stop()
	file := filepath.Join(o.folder, "Resources", benchFile)
	plain, err := startPlain(file)
	if err != nil {
		return err
	}
	defer plain.stop()
	var ours, theirs []spent
	for range b.Pairs {
		for _, run := range []struct {
			into   *[]spent
			target string
			take   func(context.Context, string, string) (time.Duration, error)
		}{{&ours, o.address, fetchFar}, {&theirs, plain.listener.Addr().String(), copyFar}} {
			s, err := b.far(ctx, o, run.target, run.take)
			if err != nil {
				return err
			}
			*run.into = append(*run.into, s)
		}
	}
	single, err := b.single(ctx, o)
	if err != nil {
		return err
	}
	own, copied := median(walls(ours)), median(walls(theirs))
	fmt.Fprintf(b.out, "round trip of 100 ms, %d MB from disk into a file, %d pairs: C1 %.0f MB/s, one TCP stream %.0f MB/s; one portion at a time %.0f MB/s (%.2f of the stream)\n",
		o.size>>20, b.Pairs, speed(o.size, own), speed(o.size, copied), single, single/speed(o.size, copied))
	b.atLeast("speed at 100 ms, ratio to one TCP stream", middle(ratios(theirs, ours)), leastOfCopy)
	return nil
}

// far runs one transfer over a link of its own.
func (b *bench) far(ctx context.Context, o *origin, target string, take func(context.Context, string, string) (time.Duration, error)) (spent, error) {
	link, err := proxy.Start(proxy.Options{Target: target, Link: proxy.Link{Delay: oneWay}})
	if err != nil {
		return spent{}, err
	}
	defer link.Close()
	return b.taken(o.size, o.process.PID(), func(to string) (time.Duration, error) { return take(ctx, link.Addr(), to) })
}

func copyFar(ctx context.Context, address, to string) (time.Duration, error) {
	return copyPlain(ctx, new(net.Dialer).DialContext, address, to)
}

func fetchFar(ctx context.Context, address, to string) (time.Duration, error) {
	return fetch(ctx, address, to, asItIs)
}

// single is the speed, in MB/s, of one request of 1 MB at a time over the first part of the file.
func (b *bench) single(ctx context.Context, o *origin) (float64, error) {
	link, err := proxy.Start(proxy.Options{Target: o.address, Link: proxy.Link{Delay: oneWay}})
	if err != nil {
		return 0, err
	}
	defer link.Close()
	client, err := session.Dial(ctx, session.Options{Addr: link.Addr(), Compatibility: benchCompatibility, Target: "Linux-x64", Window: 1})
	if err != nil {
		return 0, err
	}
	defer client.Close()
	began := time.Now()
	part := session.FetchRange{Size: o.size, End: o.size / farShare}
	err = client.Fetch(ctx, []session.FetchRange{part}, func(int, []byte) error { return nil })
	return speed(part.End, time.Since(began)), err
}

// plain sends a file to each connection.
type plain struct {
	listener net.Listener
	work     sync.WaitGroup
}

func startPlain(file string) (*plain, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return newPlain(listener, file), nil
}

// newPlain owns the listener.
func newPlain(listener net.Listener, file string) *plain {
	p := &plain{listener: listener}
	p.work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.work.Go(func() { send(conn, file) })
		}
	})
	return p
}

func (p *plain) stop() {
	p.listener.Close()
	p.work.Wait()
}

// send copies the file; a client that gets too little notices by the size.
func send(conn net.Conn, file string) {
	defer conn.Close()
	in, err := os.Open(file)
	if err != nil {
		return
	}
	defer in.Close()
	io.Copy(conn, in)
}
