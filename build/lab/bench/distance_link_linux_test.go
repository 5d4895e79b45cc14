package main

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestLink sends a file over a link of its own, through losses and its delay, with the congestion control that was asked for.
func TestLink(t *testing.T) {
	const delay = 3 * time.Millisecond
	line, err := startLink(linkOptions{delay: delay, rate: 50e6, queue: 100 * time.Millisecond, loss: 0.01, seed: 7})
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no link here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer line.close()
	folder := t.TempDir()
	from, to := filepath.Join(folder, "from"), filepath.Join(folder, "to")
	if err := writeNoise(from, 300_000); err != nil {
		t.Fatal(err)
	}
	served, err := line.plain(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	defer served.stop()
	took, err := copyPlain(t.Context(), line.dial, served.listener.Addr().String(), to)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := os.ReadFile(from)
	if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came of %d, %v", len(got), len(want), err)
	}
	if took < 4*delay {
		t.Errorf("took %v, two round trips are %v", took, 4*delay)
	}
	if _, err := net.Listen("tcp", served.listener.Addr().String()); err == nil {
		t.Error("the far end is in the network of this machine")
	}
}

// TestLinkLoses counts what becomes of packets: as many are lost as were asked for, and none comes early.
func TestLinkLoses(t *testing.T) {
	line, err := startLink(linkOptions{delay: 2 * time.Millisecond, rate: 100e6, queue: time.Second, loss: 0.2, seed: 7})
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no link here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer line.close()
	var far, near net.PacketConn
	for _, end := range []struct {
		in   *space
		addr string
		conn *net.PacketConn
	}{{line.far, line.farAddr.String(), &far}, {line.near, line.nearAddr.String(), &near}} {
		err := end.in.do(func() (err error) {
			*end.conn, err = net.ListenPacket("udp4", net.JoinHostPort(end.addr, "5000"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		defer (*end.conn).Close()
	}
	const packets = 2000
	came := 0
	for range packets / 50 { // what a socket holds for a receiver that does not look
		for range 50 {
			if _, err := near.WriteTo([]byte("packet"), far.LocalAddr()); err != nil {
				t.Fatal(err)
			}
		}
		came += receive(t, far)
	}
	if came < packets*7/10 || came > packets*9/10 {
		t.Errorf("%d of %d packets came, 80 %% should", came, packets)
	}
}

// receive counts packets until none has come for a while.
func receive(t *testing.T, conn net.PacketConn) (came int) {
	t.Helper()
	for {
		if err := conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		n, _, err := conn.ReadFrom(make([]byte, 100))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return came
		}
		if err != nil || n != len("packet") {
			t.Fatal(n, err)
		}
		came++
	}
}
