package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"collet/netproto"
)

const (
	// sinkBuffer is how many bytes a sink takes at a time.
	sinkBuffer = 256 << 10
	// sinkTime bounds one transfer into a sink; a server's question after 10 s would not be answered.
	sinkTime = 9 * time.Second
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

// sinkHTTP takes size bytes of a file and what stands before them.
func sinkHTTP(address string, size int64) error {
	s, err := openSink(address)
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := fmt.Fprintf(s, "GET /%s HTTP/1.0\r\n\r\n", benchFile); err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, s.in)
	if err == nil && n < size {
		err = fmt.Errorf("%d bytes of %d", n, size)
	}
	return err
}

// sinkOwn asks for size bytes of the only file by C1, with a full window of requests.
func sinkOwn(address string, size int64) error {
	s, err := openSink(address)
	if err != nil {
		return err
	}
	defer s.Close()
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
		for ; n > 0 && asked < size; n-- {
			batch = append(batch, &netproto.GetRange{Request: uint32(asked / portion), Offset: uint64(asked), Length: portion})
			asked += portion
		}
		return batch
	}
	if err := c.Write(append([]netproto.Message{hello}, ask(window)...)...); err != nil {
		return err
	}
	for answers := 0; taken < size; {
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

// costs measures the processor time of both servers in pairs of transfers into sinks.
func (b *bench) costs(o *origin, server, peer int, peerAddress string) error {
	var own, theirs time.Duration
	for range b.Pairs {
		for _, run := range []struct {
			into    *time.Duration
			pid     int
			send    func(string, int64) error
			address string
		}{{&own, server, sinkOwn, o.address}, {&theirs, peer, sinkHTTP, peerAddress}} {
			before, err := cpuOf(run.pid)
			if err != nil {
				return err
			}
			if err := run.send(run.address, o.size); err != nil {
				return err
			}
			after, err := cpuOf(run.pid)
			if err != nil {
				return err
			}
			*run.into += after - before
		}
	}
	sent := float64(o.size) * float64(b.Pairs) / 1e9
	fmt.Fprintf(b.out, "processor time for 1 GB sent to the same receiver: collet-server %.3f s, nginx %.3f s\n", own.Seconds()/sent, theirs.Seconds()/sent)
	b.verdict("processor time sent, ratio to nginx", own.Seconds()/theirs.Seconds(), mostOfNginx, "")
	return nil
}
