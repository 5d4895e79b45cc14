package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"collet/build/lab/dentest"
	"collet/netproto/den"
	"collet/netproto/launcher/desk"
	"collet/netproto/launcher/device"
	"collet/netproto/launcher/wire"
)

const (
	remoteName = "device"
	// Bounds of pushes to a device that behaves like the released one: the tree of the recorded run, 50 files of 24.6 MB,
	// which the released pair takes 15 s and 40 s for.
	referenceLoopback = 1.0  // seconds
	referenceFar      = 10.0 // seconds, at a round trip of 20 ms
	remoteOneWay      = 10 * time.Millisecond
	// Many small files between our own peers at that round trip: a released pair needs three round trips for each.
	smallFiles, smallSize = 3000, 200
	smallBound            = 3.0 // seconds
	// remoteLimit is how long one push may take before it counts as broken.
	remoteLimit = 10 * time.Minute
	connectTime = 20 * time.Second
)

// remote measures pushes of the remote launcher: to a device that behaves like the released one, between our own peers
// against rsync, and over a bad link against a stream of TCP.
func (b *bench) remote(ctx context.Context) error {
	for _, part := range []func(context.Context) error{b.remoteReference, b.remoteSmall, b.remoteTree, b.remoteByte, b.remoteLossy} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// where is the network in which a socket is made: here, or in a network of its own.
type where func(func() error) error

func here(job func() error) error { return job() }

// station is a desk that serves a folder.
type station struct {
	desk    *desk.Desk
	address netip.AddrPort
	stop    func() error
}

func startStation(root, address string, at where) (*station, error) {
	d, err := desk.New(desk.Options{Root: root})
	if err != nil {
		return nil, err
	}
	var listener *den.Listener
	err = at(func() (err error) {
		listener, err = den.Listen(address, desk.Transport(den.Options{}))
		return err
	})
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- d.Serve(ctx, listener) }() // stop waits for it
	return &station{d, listener.Addr(), func() error {
		cancel()
		return errors.Join(<-served, listener.Close(), d.Close())
	}}, nil
}

// push waits for the device, pushes, and returns how long the push alone took.
func (s *station) push(ctx context.Context) (desk.DeviceResult, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, remoteLimit)
	defer cancel()
	if err := s.connected(ctx); err != nil {
		return desk.DeviceResult{}, 0, err
	}
	began := time.Now()
	result, err := s.desk.Push(ctx, desk.PushOptions{})
	took := time.Since(began)
	if err != nil || len(result.Devices) != 1 {
		return desk.DeviceResult{}, took, errors.Join(err, fmt.Errorf("the push reached %d devices", len(result.Devices)))
	}
	return result.Devices[0], took, result.Devices[0].Err
}

func (s *station) connected(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	for range s.desk.Changes(ctx) {
		for _, d := range s.desk.Devices() {
			if d.Connected {
				return nil
			}
		}
	}
	return fmt.Errorf("no device connected within %v", connectTime)
}

// follow runs a device on a folder until stop is called.
func follow(folder string, address netip.AddrPort, at where) (stop func() error, err error) {
	d, err := device.New(device.Options{Root: folder, Name: remoteName})
	if err != nil {
		return nil, err
	}
	dial := device.DialDesk(address.String(), den.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		_ = d.Run(ctx, func(ctx context.Context) (conn device.Conn, err error) {
			return conn, errors.Join(at(func() error {
				conn, err = dial(ctx)
				return nil
			}), err)
		}) // ends with ctx
	})
	return func() error {
		cancel()
		work.Wait()
		return d.Close()
	}, nil
}

// remoteReference pushes the recorded tree to a reference-like device that spends the processor time of the released one.
func (b *bench) remoteReference(ctx context.Context) error {
	root := filepath.Join(b.dir, "recorded")
	if err := dentest.WriteTree(root, dentest.RecordedTree()); err != nil {
		return err
	}
	defer os.RemoveAll(root)
	half := dentest.Impairment{Delay: remoteOneWay}
	for _, row := range []struct {
		name  string
		bound float64
		net   dentest.Impairment
	}{{"loopback", referenceLoopback, dentest.Impairment{}}, {"20 ms", referenceFar, half}} {
		var times []time.Duration
		for range b.Pairs {
			took, err := b.referencePush(ctx, root, row.net)
			if err != nil {
				return err
			}
			times = append(times, took)
		}
		b.verdict("released device, 50 files, 24.6 MB, "+row.name, median(times).Seconds(), row.bound, " s")
	}
	return nil
}

func (b *bench) referencePush(ctx context.Context, root string, net dentest.Impairment) (took time.Duration, err error) {
	s, err := startStation(root, "127.0.0.1:0", here)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	at, stop, err := delayed(s.address, net)
	if err != nil {
		return 0, err
	}
	defer stop()
	folder, err := os.MkdirTemp(b.dir, "reference-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	c := dentest.NewDevice(dentest.DeviceOptions{Root: folder, Name: remoteName, Slow: true})
	defer c.Close()
	if err := c.Connect(ctx, at.String()); err != nil {
		return 0, err
	}
	_, took, err = s.push(ctx)
	for _, v := range c.Violations() {
		err = errors.Join(err, fmt.Errorf("the device saw: %s", v))
	}
	return took, errors.Join(err, dentest.SameTrees(root, folder))
}

// delayed is an address behind a proxy with this impairment both ways, or the address itself when there is none.
func delayed(to netip.AddrPort, net dentest.Impairment) (at netip.AddrPort, stop func(), err error) {
	if net == (dentest.Impairment{}) {
		return to, func() {}, nil
	}
	p, err := dentest.NewProxy(to, dentest.ProxyOptions{ToServer: net, ToClient: net, Quiet: true})
	if err != nil {
		return to, nil, err
	}
	return p.Addr(), p.Close, nil
}

// remoteSmall pushes many small files between our own peers at a round trip of 20 ms.
func (b *bench) remoteSmall(ctx context.Context) error {
	root := filepath.Join(b.dir, "small")
	if err := dentest.WriteTree(root, dentest.SmallTree(smallFiles, smallSize)); err != nil {
		return err
	}
	defer os.RemoveAll(root)
	var times []time.Duration
	for range b.Pairs {
		took, err := b.ownPush(ctx, root, dentest.Impairment{Delay: remoteOneWay})
		if err != nil {
			return err
		}
		times = append(times, took)
	}
	b.verdict(fmt.Sprintf("own device, %d files of %d bytes, 20 ms", smallFiles, smallSize), median(times).Seconds(), smallBound, " s")
	return nil
}

// ownPush pushes a folder into a new one, with a desk and a device that know nothing yet.
func (b *bench) ownPush(ctx context.Context, root string, net dentest.Impairment) (took time.Duration, err error) {
	s, err := startStation(root, "127.0.0.1:0", here)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	at, stop, err := delayed(s.address, net)
	if err != nil {
		return 0, err
	}
	defer stop()
	folder, err := os.MkdirTemp(b.dir, "own-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	end, err := follow(folder, at, here)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	_, took, err = s.push(ctx)
	return took, errors.Join(err, dentest.SameTrees(root, folder, wire.StateFolder))
}
