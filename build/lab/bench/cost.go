package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"collet/build/qa/process"
	"collet/netproto"
)

const (
	// sinkBuffer is how many bytes a sink takes at a time.
	sinkBuffer = 256 << 10
	// sinkTime bounds one transfer into a sink; a server's question after 10 s would not be answered.
	sinkTime = 9 * time.Second
	// costCongestion is what both servers use: every kernel has it, and it needs no timers.
	costCongestion = "reno"
	// receivers is how many clients take their parts of the file at once.
	receivers = 8
	// maxHead bounds what nginx writes before a file, in bytes.
	maxHead = 4 << 10
	// frameHead is the size of signature, length and id of a frame; the length counts it.
	frameHead = 9
)

// sink throws away what a server sends, as fast as it comes and in the same way for every server: what a byte costs a
// server depends on its receiver too. The same nginx was seen to need 2.5 times as much for a sink as for curl.
type sink struct {
	net.Conn
	in *bufio.Reader
}

func openSink(address string) (*sink, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &sink{conn, bufio.NewReaderSize(conn, sinkBuffer)}, conn.SetDeadline(time.Now().Add(sinkTime))
}

// share is the part of a file that one receiver takes, in bytes.
type share struct{ offset, size int64 }

// shares cuts a file of size bytes into n equal parts; the last takes the rest.
func shares(size int64, n int) []share {
	all := make([]share, n)
	each := size / int64(n)
	for i := range all {
		all[i] = share{int64(i) * each, each}
	}
	all[n-1].size = size - all[n-1].offset
	return all
}

// sinkHTTP takes its share of the file and what stands before it.
func sinkHTTP(s *sink, take share) error {
	if _, err := fmt.Fprintf(s, "GET /%s HTTP/1.0\r\nRange: bytes=%d-%d\r\n\r\n", benchFile, take.offset, take.offset+take.size-1); err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, s.in)
	if err == nil && (n < take.size || n > take.size+maxHead) {
		err = fmt.Errorf("%d bytes came, %d were asked for", n, take.size)
	}
	return err
}

// sinkOwn asks for its share of the only file by C1, with a full window of requests.
func sinkOwn(s *sink, take share) error {
	c := netproto.NewConn(s, netproto.ClientSide, netproto.Limits{})
	if err := c.SetGeneration(netproto.C1); err != nil {
		return err
	}
	hello := &netproto.Handshake{
		Version: netproto.C1.Version(), Capabilities: netproto.CapPipeline, Compatibility: benchCompatibility, Target: "Linux-x64",
	}
	const portion, window = 1_000_000, 16 // what every server of ours allows unless told otherwise
	var asked, taken int64
	ask := func(n int) (batch []netproto.Message) {
		for ; n > 0 && asked < take.size; n-- {
			length := min(portion, take.size-asked)
			batch = append(batch, &netproto.GetRange{Request: uint32(asked / portion), Offset: uint64(take.offset + asked), Length: uint32(length)})
			asked += length
		}
		return batch
	}
	if err := c.Write(append([]netproto.Message{hello}, ask(window)...)...); err != nil {
		return err
	}
	for answers := 0; taken < take.size; {
		id, n, err := s.frame()
		if err != nil {
			return err
		}
		if id != netproto.IDRangeData {
			continue
		}
		taken += int64(n) - 16 // request, offset and length
		if answers++; answers%(window/4) == 0 {
			if err := c.Write(ask(window / 4)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// frame passes over one frame and returns the size of its body.
func (s *sink) frame() (netproto.MessageID, int, error) {
	head, err := s.in.Peek(frameHead)
	if err != nil {
		return 0, 0, err
	}
	id, size := netproto.MessageID(head[8]), int(binary.LittleEndian.Uint32(head[4:]))
	_, err = s.in.Discard(size)
	return id, size - frameHead, err
}

// costs measures the processor time of both servers in pairs of transfers, to many receivers at once, which is what a
// server is for, and to one. Both run in a network of their own, under one and the same congestion control: on the loopback
// interface the kernel does much of the sender's work when an acknowledgement comes, and how much of it depends on that. What
// is so done lands on the receivers, who are the same for both and are this program; so the price of a byte is that of the
// server and the receivers together, and that of the server's process alone is printed beside it.
func (b *bench) costs(ctx context.Context, o *origin, nginx string) error {
	house, err := newHouse(costCongestion)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) || errors.Is(err, errors.ErrUnsupported) {
		fmt.Fprintf(b.out, "processor time for a GB: not measured: %v\n", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer house.close()
	own, theirs := &seller{take: sinkOwn}, &seller{take: sinkHTTP}
	err = house.do(func() (err error) {
		own.process, own.address, err = process.StartServer(ctx, b.program("collet-server"), filepath.Join(o.folder, "server.toml"), 0)
		if err != nil {
			return err
		}
		theirs.process, theirs.address, err = b.nginx(ctx, nginx, filepath.Join(o.folder, "Resources"))
		return err
	})
	defer own.stop()
	defer theirs.stop()
	if err != nil {
		return err
	}
	for _, n := range []int{1, receivers} {
		own.spent, theirs.spent = cost{}, cost{}
		for range b.Pairs {
			for _, s := range []*seller{own, theirs} {
				if err := s.sell(house, shares(o.size, n)); err != nil {
					return err
				}
			}
		}
		b.printCosts(n, own.spent, theirs.spent, float64(o.size)*float64(b.Pairs)/1e9)
	}
	return nil
}

func (b *bench) printCosts(n int, own, theirs cost, gigabytes float64) {
	fmt.Fprintf(b.out, "processor time for 1 GB to %d at a time: collet-server %.3f s, nginx %.3f s; with the receivers %.3f s, %.3f s\n",
		n, own.server.Seconds()/gigabytes, theirs.server.Seconds()/gigabytes, own.all().Seconds()/gigabytes, theirs.all().Seconds()/gigabytes)
	fmt.Fprintf(b.out, "%-42s %8.2f   for scale\n", "server's process alone, ratio to nginx", own.server.Seconds()/theirs.server.Seconds())
	b.verdict("processor time for a byte, ratio to nginx", own.all().Seconds()/theirs.all().Seconds(), mostOfNginx, "")
}

// seller is a server whose price is measured.
type seller struct {
	process *process.Process
	address string // HOST:PORT, or a URL
	take    func(*sink, share) error
	spent   cost
}

func (s *seller) stop() {
	if s.process != nil {
		s.process.Stop(stopGrace)
	}
}

// sell lets receivers take all shares at once.
func (s *seller) sell(house *space, all []share) error {
	sinks := make([]*sink, len(all))
	defer func() {
		for _, to := range sinks {
			if to != nil {
				to.Close()
			}
		}
	}()
	address := strings.TrimSuffix(strings.TrimPrefix(s.address, "http://"), "/")
	for i := range sinks {
		err := house.do(func() (err error) { sinks[i], err = openSink(address); return err })
		if err != nil {
			return err
		}
	}
	return s.spent.add(s.process.PID(), func() error { return together(all, func(i int) error { return s.take(sinks[i], all[i]) }) })
}

// cost is processor time: of a server's process, and of this one, which is the receivers.
type cost struct{ server, receivers time.Duration }

func (c cost) all() time.Duration { return c.server + c.receivers }

// add counts what do takes.
func (c *cost) add(pid int, do func() error) error {
	before, err := costAt(pid)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	after, err := costAt(pid)
	c.server += after.server - before.server
	c.receivers += after.receivers - before.receivers
	return err
}

// costAt reads the counters of the processes.
func costAt(pid int) (c cost, err error) {
	if c.server, err = cpuOf(pid); err != nil {
		return c, err
	}
	c.receivers, err = cpuOf(os.Getpid())
	return c, err
}

// together runs do for each share at once and waits for all.
func together(all []share, do func(i int) error) error {
	faults := make([]error, len(all))
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() { faults[i] = do(i) })
	}
	group.Wait()
	return errors.Join(faults...)
}
